//go:build !unix || heapframes

package buffer

import (
	"unsafe"

	"github.com/hedgerowdb/hedgerow/internal/page"
)

func newArena(frames int) (*arena, error) {
	b := make([]byte, frames*page.Size)
	return &arena{base: unsafe.Pointer(&b[0]), bytes: b}, nil
}

func (a *arena) close() error {
	a.bytes = nil // base stays: a late reader then sees old bytes rather than a fault
	return nil
}
