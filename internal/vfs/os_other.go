//go:build !unix

package vfs

import (
	"os"
	"sync"
)

// Directories cannot be synced here; names are as durable as the system makes them.
func syncDir(string) error { return nil }

var held sync.Map // by name: this process alone is kept out

func tryLock(f *os.File) (bool, error) {
	_, taken := held.LoadOrStore(f.Name(), true)
	return !taken, nil
}
