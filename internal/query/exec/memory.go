package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
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

// temp makes a temporary file whose bytes are counted.
func (a *account) temp(t Temp) (File, error) {
	f, err := t.Create()
	if err != nil {
		return nil, err
	}
	a.files++
	return &countedFile{File: f, a: a}, nil
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
