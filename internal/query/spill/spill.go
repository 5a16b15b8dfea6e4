package spill

import (
	"io"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// File is a temporary file: written once from front to back, then read at any place.
type File interface {
	io.Writer
	io.ReaderAt
	io.Closer // removes it
}

// Temp makes temporary files.
type Temp interface {
	Create() (File, error) // TempLimit when the statement may have no more
}

// Account is charged for memory. Grow returns an error over the limit; n may be negative.
type Account interface {
	Grow(n int64) error
}

// Place is where a statement's operator spills to.
type Place struct {
	Temp  Temp         // nil: everything stays in memory
	Share int64        // bytes of memory that a sorter may use
	Mem   Account      // may be nil
	Check func() error // asked now and then whether to go on; may be nil
}

// Part is the place with a part of the memory.
func (p *Place) Part(n int) *Place {
	q := *p
	q.Share = max(minShare, p.Share/int64(n))
	return &q
}

// minShare is the least memory with which merging several runs makes sense.
const minShare = 16 << 10

func (p *Place) check() error {
	if p.Check == nil {
		return nil
	}
	return p.Check()
}

// charge is what a holder has told the account.
type charge struct{ held int64 }

func (c *charge) set(a Account, n int64) error {
	if a == nil || n == c.held {
		return nil
	}
	if err := a.Grow(n - c.held); err != nil {
		return err
	}
	c.held = n
	return nil
}

// fileError classifies an error of a temporary file.
func fileError(err error) error {
	if dberr.As(err).Code != dberr.Internal {
		return err
	}
	return dberr.Wrap(dberr.IOError, err, "could not use a temporary file")
}
