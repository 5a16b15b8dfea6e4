//go:build unix && !heapframes

package buffer

import (
	"unsafe"

	"github.com/hedgerowdb/hedgerow/internal/page"
	"golang.org/x/sys/unix"
)

func newArena(frames int) (*arena, error) {
	b, err := unix.Mmap(-1, 0, frames*page.Size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	advise(b)
	return &arena{base: unsafe.Pointer(&b[0]), bytes: b}, nil
}

func (a *arena) close() error {
	b := a.bytes
	a.base, a.bytes = nil, nil
	if b == nil {
		return nil
	}
	return unix.Munmap(b)
}
