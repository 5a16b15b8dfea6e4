package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/spill"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// Budget is memory shared by statements. The tracker of a statement leases from it in pieces of 64 KiB.
type Budget interface {
	Lease(n int64) error // OutOfMemory when there is none
	Return(n int64)
}

const (
	// leaseSize is what a tracker takes from its budget at a time.
	leaseSize = 64 << 10
	// leaseSlack is what a tracker keeps at most beyond what is used, so that a batch more or less asks for no lease.
	leaseSlack = 16 * leaseSize
)

// tracker accounts the memory of one statement.
type tracker struct {
	used, peak, limit int64
	leased            int64
	budget            Budget
}

// Grow charges n bytes; a negative n gives them back.
func (t *tracker) Grow(n int64) error {
	t.used += n
	if n <= 0 {
		if spare := t.leased - t.used; t.budget != nil && spare > leaseSlack {
			spare = (spare - leaseSlack/2) / leaseSize * leaseSize
			t.budget.Return(spare)
			t.leased -= spare
		}
		return nil
	}
	if t.used > t.limit {
		t.used -= n
		return dberr.New(dberr.OutOfMemory, "the statement needs more than its limit of %d bytes of memory", t.limit).
			WithHint("Narrow the statement, or raise hedgerow.mem_limit.")
	}
	if t.budget != nil && t.used > t.leased {
		want := (t.used - t.leased + leaseSize - 1) / leaseSize * leaseSize
		if err := t.budget.Lease(want); err != nil {
			t.used -= n
			return err
		}
		t.leased += want
	}
	t.peak = max(t.peak, t.used)
	return nil
}

// close gives the leases back. What is still used is left to be seen: there must be nothing (E6).
func (t *tracker) close() {
	if t.budget != nil && t.leased > 0 {
		t.budget.Return(t.leased)
	}
	t.leased = 0
}

// account is what one operator holds of its statement's memory, and what it wrote to temporary files. It implements expr.Account.
type account struct {
	t          *tracker
	held, peak int64
	spilled    int64 // bytes written to temporary files
	files      int64 // temporary files made
}

// Grow charges n bytes; a negative n gives them back.
func (a *account) Grow(n int64) error {
	if err := a.t.Grow(n); err != nil {
		return err
	}
	a.held += n
	a.peak = max(a.peak, a.held)
	return nil
}

// release gives everything back.
func (a *account) release() {
	if a.held != 0 {
		_ = a.t.Grow(-a.held)
		a.held = 0
	}
}

// charge is a part of an account: what one holder of an operator holds.
type charge struct{ held int64 }

// set makes the holder hold n bytes.
func (c *charge) set(a *account, n int64) error {
	d := n - c.held
	if d == 0 {
		return nil
	}
	if err := a.Grow(d); err != nil {
		return err
	}
	c.held = n
	return nil
}

// countedTemp makes temporary files whose bytes are counted.
type countedTemp struct {
	Temp
	a *account
}

// Create makes a file.
func (t *countedTemp) Create() (File, error) {
	f, err := t.Temp.Create()
	if err != nil {
		return nil, err
	}
	t.a.files++
	return &countedFile{File: f, a: t.a}, nil
}

type countedFile struct {
	File
	a *account
}

// Write appends to the file. What fails is the file system's fault unless the file says otherwise.
func (f *countedFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	f.a.spilled += int64(n)
	if err != nil {
		err = tempError(err)
	}
	return n, err
}

// place is where the operator spills to, with a share of work_mem.
func (c *core) place(share int64) *spill.Place {
	p := &spill.Place{Share: share, Mem: &c.acct, Check: c.x.check}
	if c.x.opt.Temp != nil {
		p.Temp = &countedTemp{c.x.opt.Temp, &c.acct}
	}
	return p
}

// full reports whether an operator that holds n bytes is to move them to files.
func (c *core) full(n int64) bool { return n > c.x.opt.WorkMem && c.x.opt.Temp != nil }

// appendRow encodes a row of columns; a missing column gives null.
func appendRow(dst []byte, cols []*vec.Column, row int) []byte {
	for _, c := range cols {
		if c == nil {
			dst = value.AppendValue(dst, value.Value{})
			continue
		}
		dst = value.AppendValue(dst, c.Value(row))
	}
	return dst
}

// decodeRow appends an encoded row to columns.
func decodeRow(src []byte, cols []*vec.Column) (rest []byte, err error) {
	for _, c := range cols {
		v, tail, err := value.DecodeValue(src)
		if err != nil {
			return nil, dberr.Wrap(dberr.IOError, err, "a temporary file is damaged")
		}
		c.AppendWhole(v)
		src = tail
	}
	return src, nil
}

// sameRows compares the first n values of two encoded rows under equivalence.
func sameRows(a, b []byte, n int) (bool, error) {
	for range n {
		v, ra, err := value.DecodeValue(a)
		if err == nil {
			var w value.Value
			if w, b, err = value.DecodeValue(b); err == nil && !value.Equivalent(v, w) {
				return false, nil
			}
		}
		if err != nil {
			return false, dberr.Wrap(dberr.IOError, err, "a temporary file is damaged")
		}
		a = ra
	}
	return true, nil
}
