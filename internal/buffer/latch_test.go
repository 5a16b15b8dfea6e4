package buffer

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestLatchModes(t *testing.T) { // A10
	compatible := [3][3]bool{modeShared: {true, true, false}, modeSX: {true, false, false}, modeX: {false, false, false}}
	for have := range latchMode(3) {
		for want := range latchMode(3) {
			var l latch
			l.lock(have)
			if got := l.try(want); got != compatible[have][want] {
				t.Errorf("%d beside %d: %v", want, have, got)
			}
		}
	}
}

func TestLatchUpgrade(t *testing.T) {
	var l latch
	l.lock(modeShared)
	l.lock(modeShared)
	if !l.tryUpgrade() || l.tryUpgrade() {
		t.Fatal("exactly one of two shared holders may become share-exclusive")
	}
	l.downgrade(modeSX)
	l.unlock(modeShared)
	l.unlock(modeShared)
	if l.state.Load() != 0 {
		t.Fatalf("state %x", l.state.Load())
	}
}

// TestLatchIsFair: a writer that waits is not overtaken by readers that come later.
func TestLatchIsFair(t *testing.T) {
	var l latch
	l.lock(modeShared)
	got := make(chan string, 2)
	go func() { l.lock(modeX); got <- "writer"; l.unlock(modeX) }()
	for l.state.Load()&latchWaiters == 0 {
		time.Sleep(time.Millisecond)
	}
	if l.try(modeShared) {
		t.Fatal("a reader overtook the writer")
	}
	go func() { l.lock(modeShared); got <- "reader"; l.unlock(modeShared) }()
	time.Sleep(5 * time.Millisecond)
	l.unlock(modeShared)
	if first := <-got; first != "writer" {
		t.Fatalf("first was the %s", first)
	}
	<-got
}

func TestLatchUnderLoad(t *testing.T) {
	latches := make([]latch, 3)
	counters := make([]int, 3)
	var sx [3]atomic.Int32
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 4000 {
				k := (i + w) % 3
				l := &latches[k]
				switch (i*7 + w) % 5 {
				case 0:
					l.lock(modeX)
					counters[k]++
					l.unlock(modeX)
				case 1:
					l.lock(modeSX)
					if sx[k].Add(1) != 1 {
						t.Error("two share-exclusive holders")
					}
					sx[k].Add(-1)
					l.unlock(modeSX)
				default:
					l.lock(modeShared)
					_ = counters[k]
					l.unlock(modeShared)
				}
			}
		})
	}
	wg.Wait()
	want := 0
	for w := range 8 {
		for i := range 4000 {
			if (i*7+w)%5 == 0 {
				want++
			}
		}
	}
	if got := counters[0] + counters[1] + counters[2]; got != want {
		t.Fatalf("%d, want %d", got, want)
	}
	for i := range latches {
		if s := latches[i].state.Load(); s != 0 {
			t.Errorf("latch %d left in state %x", i, s)
		}
	}
}
