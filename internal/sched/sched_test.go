package sched_test

import (
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/sched"
)

func TestGateHoldsOneGoroutine(t *testing.T) {
	sched.Point("a") // nobody listens
	ctl := sched.Install(t)
	g := ctl.Stop("a")
	done := make(chan bool)
	go func() { sched.Point("a"); close(done) }()
	g.Wait()
	sched.Point("a") // the gate is taken: the next goes through
	if !g.Reached() || ctl.Hits("a") != 2 {
		t.Fatal("hits", ctl.Hits("a"))
	}
	select {
	case <-done:
		t.Fatal("went on by itself")
	default:
	}
	g.Release()
	<-done
	called := 0
	ctl.Call("b", func() { called++ })
	sched.Point("b")
	ctl.Call("b", nil)
	sched.Point("b")
	if called != 1 {
		t.Fatal("called", called)
	}
}

func BenchmarkPoint(b *testing.B) {
	for b.Loop() {
		sched.Point("nobody.listens")
	}
}
