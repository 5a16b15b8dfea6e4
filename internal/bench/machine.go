package bench

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/vfs"
)

// Machine is where the client ran, with two yardsticks that figures of different runs can be put in relation to.
type Machine struct {
	System     string `json:"system"`
	Processors int    `json:"processors"`
	Go         string `json:"go"`
	// Loop is what a fixed computation takes; Sync is one fdatasync of a small write in the network's directory, 0 where it cannot be written to.
	Loop time.Duration `json:"loop"`
	Sync time.Duration `json:"fdatasync"`
}

// thisMachine measures the machine; dir is where a commit that waits would write.
func thisMachine(dir string) Machine {
	return Machine{runtime.GOOS + "/" + runtime.GOARCH, runtime.NumCPU(), runtime.Version(), loop(), syncs(dir)}
}

// sink keeps the compiler from leaving the loop out.
var sink uint64

// loop is the median of the times of a computation that needs neither memory nor the system.
func loop() time.Duration {
	var times []time.Duration
	for range 5 {
		began, x := time.Now(), uint64(88172645463325252)
		for range 1_000_000 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		sink += x
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// syncs is the median time of appending to a file until it is on disk.
func syncs(dir string) time.Duration {
	name := path.Join(filepath.ToSlash(dir), fmt.Sprintf("sync-%d.tmp", os.Getpid()))
	f, err := vfs.OS.Create(name)
	if err != nil {
		return 0
	}
	defer vfs.OS.Remove(name)
	defer f.Close()
	var h histogram
	line := make([]byte, 256)
	for until := time.Now().Add(300 * time.Millisecond); h.n < 50 && time.Now().Before(until); {
		began := time.Now()
		if _, err := f.WriteAt(line, h.n*int64(len(line))); err != nil {
			return 0
		}
		if err := f.Sync(); err != nil {
			return 0
		}
		h.add(time.Since(began))
	}
	return h.quantile(0.5)
}
