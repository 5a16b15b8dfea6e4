// Package sched lets a test force an interleaving: the code names its interesting moments with [Point], and a test that has
// installed a [Controller] holds goroutines there until it lets them go.
//
// S1: without a controller a Point is one load of a nil pointer. S2: a Point is never placed where a mutex of package wal or
// buffer is held that the test needs to go on; its name is "package.what.moment".
package sched

import (
	"sync"
	"sync/atomic"
	"time"
)

var hook atomic.Pointer[func(string)]

// Point names a moment. It returns at once unless a test holds goroutines here.
func Point(name string) {
	if h := hook.Load(); h != nil {
		(*h)(name)
	}
}

// TB is what a controller wants of a test; package testing stays out of release builds.
type TB interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Controller holds goroutines at points. One may be installed at a time in a process.
type Controller struct {
	t  TB
	mu sync.Mutex // guards the fields below
	// gates holds those not yet passed, by name, in order of their making.
	gates map[string][]*Gate
	hits  map[string]int
	calls map[string]func()
}

// Gate stops the first goroutine that comes to its point after it was made.
type Gate struct {
	name    string
	t       TB
	reached chan struct{}
	release chan struct{}
	once    sync.Once
}

// Install makes a controller and installs it until the test ends; all gates open then.
func Install(t TB) *Controller {
	t.Helper()
	c := &Controller{t: t, gates: map[string][]*Gate{}, hits: map[string]int{}, calls: map[string]func(){}}
	f := c.at
	if !hook.CompareAndSwap(nil, &f) {
		t.Fatal("sched: a controller is installed already")
	}
	t.Cleanup(func() {
		hook.Store(nil)
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, gs := range c.gates {
			for _, g := range gs {
				g.Release()
			}
		}
	})
	return c
}

func (c *Controller) at(name string) {
	c.mu.Lock()
	c.hits[name]++
	call := c.calls[name]
	var g *Gate
	if gs := c.gates[name]; len(gs) > 0 {
		g, c.gates[name] = gs[0], gs[1:]
	}
	c.mu.Unlock()
	if call != nil {
		call()
	}
	if g != nil {
		close(g.reached)
		<-g.release
	}
}

// Stop makes a gate at the point.
func (c *Controller) Stop(name string) *Gate {
	g := &Gate{name: name, t: c.t, reached: make(chan struct{}), release: make(chan struct{})}
	c.mu.Lock()
	c.gates[name] = append(c.gates[name], g)
	c.mu.Unlock()
	return g
}

// Call runs f on the goroutine that comes to the point, each time, until it is replaced (nil: no more).
func (c *Controller) Call(name string, f func()) {
	c.mu.Lock()
	c.calls[name] = f
	c.mu.Unlock()
}

// Hits returns how often the point was passed or reached.
func (c *Controller) Hits(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hits[name]
}

// Wait returns when a goroutine stands at the gate; after ten seconds the test fails.
func (g *Gate) Wait() {
	g.t.Helper()
	select {
	case <-g.reached:
	case <-time.After(10 * time.Second):
		g.t.Fatalf("sched: nobody came to %s", g.name)
	}
}

// Reached reports whether a goroutine has come to the gate.
func (g *Gate) Reached() bool {
	select {
	case <-g.reached:
		return true
	default:
		return false
	}
}

// Release lets the goroutine go on; a gate that nobody has reached yet lets the next one through.
func (g *Gate) Release() { g.once.Do(func() { close(g.release) }) }
