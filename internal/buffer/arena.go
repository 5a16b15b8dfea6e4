package buffer

import (
	"unsafe"

	"github.com/hedgerowdb/hedgerow/internal/page"
)

// arena holds the bytes of all frames, frame i at i × 8192. It lies outside the Go heap, where the collector does not look;
// with the build tag heapframes it lies inside, where the race detector does.
type arena struct {
	base  unsafe.Pointer
	bytes []byte
}

func (a *arena) frame(i uint32) page.Page {
	return unsafe.Slice((*byte)(unsafe.Add(a.base, uintptr(i)*page.Size)), page.Size)
}
