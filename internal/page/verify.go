package page

import (
	"fmt"
	"hash/crc32"
	"sync"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum computes the checksum of the page as it belongs to id (P2), whatever its checksum field holds.
func (p Page) Sum(id ID) uint32 {
	h := sumHeads.Get().(*sumHead)
	defer sumHeads.Put(h)
	le.PutUint64(h[0:], uint64(id.Rel))
	le.PutUint32(h[8:], uint32(id.Block))
	le.PutUint32(h[12:], uint32(id.Fork))
	copy(h[16:], p)
	le.PutUint32(h[16+offChecksum:], 0)
	return crc32.Update(crc32.Update(0, castagnoli, h[:]), castagnoli, p[HeaderSize:Size])
}

// sumHead is what a page's sum begins with: where the page stands, and its header without the sum.
type sumHead [16 + HeaderSize]byte

// sumHeads: crc32 lets its argument escape, and a checkpoint sums thousands of pages.
var sumHeads = sync.Pool{New: func() any { return new(sumHead) }}

// Checksum returns the stored checksum.
func (p Page) Checksum() uint32 { return le.Uint32(p[offChecksum:]) }

// SetChecksum stores the sum for id. It is called on a private copy, just before that is written.
func (p Page) SetChecksum(id ID) { le.PutUint32(p[offChecksum:], p.Sum(id)) }

// IsZero reports whether every byte is zero.
func (p Page) IsZero() bool {
	for i := 0; i+8 <= Size; i += 8 {
		if le.Uint64(p[i:]) != 0 {
			return false
		}
	}
	return true
}

// Fault says what is wrong with a page. Package buffer turns it into an error that names file and page.
type Fault struct {
	ID     ID
	Reason string
}

func (f *Fault) Error() string { return fmt.Sprintf("page %v: %s", f.ID, f.Reason) }

// Verify checks bytes that came from a disk: checksum first, then the header, then, where the type has slots, that every line
// pointer stays within the page. What it accepts can be used by the methods of Page without a panic.
func (p Page) Verify(id ID) error {
	if len(p) != Size {
		return &Fault{id, fmt.Sprintf("has %d bytes", len(p))}
	}
	if p.IsNew() && p.IsZero() {
		return nil
	}
	if want, have := p.Sum(id), p.Checksum(); want != have {
		return &Fault{id, fmt.Sprintf("checksum is %08x, should be %08x", have, want)}
	}
	return p.VerifyHeader(id)
}

// VerifyHeader is Verify without the checksum: what a page in memory must satisfy (P1).
func (p Page) VerifyHeader(id ID) error {
	if p.IsNew() && p.IsZero() {
		return nil
	}
	if l := p.Layout(); l != Layout {
		return &Fault{id, fmt.Sprintf("layout version %d is not known", l)}
	}
	if t := p.Type(); t == TypeNone || t >= NumType {
		return &Fault{id, fmt.Sprintf("has an unknown type %d", t)}
	}
	lower, upper, special := p.lower(), p.upper(), p.SpecialStart()
	if lower < HeaderSize || lower > upper || upper > special || special > Size || (lower-HeaderSize)%ItemIDSize != 0 {
		return &Fault{id, fmt.Sprintf("lower %d, upper %d, special %d contradict each other", lower, upper, special)}
	}
	switch p.Type() {
	case TypeHeap, TypeBTree:
		for off, n := 1, p.NumItems(); off <= n; off++ {
			i := p.ItemID(off)
			switch {
			case i.State() == Redirect:
				if t := i.Target(); t < 1 || t > n {
					return &Fault{id, fmt.Sprintf("line pointer %d redirects to %d of %d", off, t, n)}
				}
			case i.HasStorage():
				if i.Offset() < upper || i.Offset()+align(i.Len()) > special || i.Offset()%4 != 0 {
					return &Fault{id, fmt.Sprintf("line pointer %d (%d bytes at %d) leaves the items", off, i.Len(), i.Offset())}
				}
			}
		}
	}
	return nil
}

// CheckOverlap reports items that share bytes; `check` uses it, reading does not.
func (p Page) CheckOverlap(id ID) error {
	var owner [Size / 4]uint16
	for off, n := 1, p.NumItems(); off <= n; off++ {
		i := p.ItemID(off)
		if !i.HasStorage() {
			continue
		}
		for w := i.Offset() / 4; w < (i.Offset()+align(i.Len()))/4; w++ {
			if owner[w] != 0 {
				return &Fault{id, fmt.Sprintf("items %d and %d overlap", owner[w], off)}
			}
			owner[w] = uint16(off)
		}
	}
	return nil
}
