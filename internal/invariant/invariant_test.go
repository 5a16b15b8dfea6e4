package invariant

import (
	"errors"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

func TestPanicInsideACriticalSectionEndsTheProcess(t *testing.T) { // A11
	var code int
	defer func(old func(int)) { exit = old }(exit)
	exit = func(c int) { code = c }
	run := func(crit *Crit, inside bool) {
		defer func() { crit.MustBeOutside(recover(), nil) }()
		if inside {
			crit.Enter()
		}
		panic("x")
	}
	run(&Crit{}, false)
	if code != 0 {
		t.Fatal("a panic outside must not end the process")
	}
	run(&Crit{}, true)
	if code != 134 {
		t.Fatal("a panic inside must end the process")
	}
}

func TestFateKeepsItsFirstFault(t *testing.T) {
	var calls int
	f := Fate{OnFatal: func(error) { calls++ }}
	if f.Err() != nil {
		t.Fatal("a new Fate is bad")
	}
	first := errors.New("disk gone")
	f.Fail(first, "sync %s", "x")
	f.Fail(errors.New("another"), "y")
	if !errors.Is(f.Err(), first) || !dberr.Is(f.Err(), dberr.IOError) || calls != 1 {
		t.Fatalf("err %v after %d calls", f.Err(), calls)
	}
}
