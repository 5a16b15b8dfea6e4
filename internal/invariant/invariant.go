// Package invariant holds the checks that only debug builds pay for, the depth of critical sections, and the switch that
// poisons a database after a fault that leaves disk and memory apart.
//
// I1: [Enabled] is a constant, so that a check guarded by it costs nothing in a release build (tag `invariant` turns it on).
//
// I2: a panic inside a critical section ends the process: the pages that it left half changed must never reach the disk (A11).
// Whoever recovers from panics calls [Crit.MustBeOutside] first.
//
// I3: a [Fate] turns bad once and stays so. Whoever shares it refuses to write, to acknowledge and to answer from then on.
package invariant

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// Failf panics with a broken invariant. Bad logic panics; bad bytes are errors.
func Failf(format string, args ...any) {
	panic("invariant: " + fmt.Sprintf(format, args...))
}

// Crit counts the critical sections that one session, or one background task, is inside. It belongs to one goroutine at a
// time. A nil *Crit counts nothing: right for goroutines in which nobody recovers, since a panic ends the process there.
//
// It also counts the bytes of the log records that its owner wrote inside, which is where log records are written.
type Crit struct {
	depth  int32
	logged int64
}

// Logged notes a log record of n bytes.
func (c *Crit) Logged(n int) {
	if c != nil {
		c.logged += int64(n)
	}
}

// LogBytes returns the bytes that Logged noted.
func (c *Crit) LogBytes() int64 {
	if c == nil {
		return 0
	}
	return c.logged
}

// Enter begins a critical section: from here to Exit nothing may fail, wait for a lock or allocate without bound.
func (c *Crit) Enter() {
	if c != nil {
		c.depth++
	}
}

// Exit ends the innermost critical section.
func (c *Crit) Exit() {
	if c == nil {
		return
	}
	if c.depth--; c.depth < 0 {
		Failf("I2: critical section left more often than entered")
	}
}

// Depth returns how many critical sections are open.
func (c *Crit) Depth() int {
	if c == nil {
		return 0
	}
	return int(c.depth)
}

// exit is what ends the process; a test replaces it.
var exit = func(code int) { os.Exit(code) }

// MustBeOutside is called with what recover returned, before anything else is done with it. Inside a critical section it
// prints the panic and ends the process (A11).
func (c *Crit) MustBeOutside(recovered any, stack []byte) {
	if recovered == nil || c.Depth() == 0 {
		return
	}
	fmt.Fprintf(os.Stderr, "hedgerow: panic in a critical section: %v\n%s\n", recovered, stack)
	exit(134)
}

// Fate is shared by all parts of one open database that touch its files. The zero value is a healthy one.
type Fate struct {
	// OnFatal is called once, with the first fault, on the goroutine that met it; it may end the process. It is set before
	// the Fate is shared.
	OnFatal func(error)

	once sync.Once
	err  atomic.Pointer[dberr.Error]
}

// Fail poisons the database and returns the error that every later call gets: 58030, with the first cause (A11).
func (f *Fate) Fail(cause error, format string, args ...any) error {
	f.once.Do(func() {
		f.err.Store(dberr.Wrap(dberr.IOError, cause, "the database stopped after a fault: %s", fmt.Sprintf(format, args...)).
			WithHint("Restart it: recovery brings back everything that was acknowledged."))
		if f.OnFatal != nil {
			f.OnFatal(f.err.Load())
		}
	})
	return f.Err()
}

// Err returns nil while all is well, else the error of Fail.
func (f *Fate) Err() error {
	if e := f.err.Load(); e != nil {
		return e
	}
	return nil
}
