package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// watcher looks at the memory of a process and its descendants until it is stopped. It counts private memory that is not of files, so that what servers
// share among their processes is not counted for each.
type watcher struct {
	pid  int
	stop chan struct{}
	done sync.WaitGroup

	first, peak int64
}

// watch begins to watch; a pid of 0 watches nothing. Where the system has no /proc, all is 0.
func watch(pid int) *watcher {
	w := &watcher{pid: pid, stop: make(chan struct{})}
	if pid == 0 {
		return w
	}
	w.first = private(pid)
	w.peak = w.first
	w.done.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-w.stop:
				return
			case <-tick.C:
				w.peak = max(w.peak, private(pid))
			}
		}
	})
	return w
}

// end stops watching and returns the peak and by how much it was above the beginning, in bytes.
func (w *watcher) end() (peak, growth int64) {
	close(w.stop)
	w.done.Wait()
	if w.pid == 0 {
		return 0, 0
	}
	w.peak = max(w.peak, private(w.pid))
	return w.peak, w.peak - w.first
}

// private sums up RssAnon of a process and its descendants.
func private(pid int) int64 {
	sum := status(pid, "RssAnon:")
	tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, t := range tasks {
		b, err := os.ReadFile(t)
		if err != nil {
			continue
		}
		for _, f := range bytes.Fields(b) {
			if child, err := strconv.Atoi(string(f)); err == nil {
				sum += private(child)
			}
		}
	}
	return sum
}

// status reads a line of /proc/PID/status, which is in kB.
func status(pid int, key string) int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(b, []byte(key))
	if !ok {
		return 0
	}
	f := bytes.Fields(rest)
	if len(f) == 0 {
		return 0
	}
	kb, _ := strconv.ParseInt(string(f[0]), 10, 64)
	return kb << 10
}
