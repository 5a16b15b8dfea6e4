//go:build linux && !heapframes

package buffer

import "golang.org/x/sys/unix"

// advise asks for huge pages. Small arenas do without: rounding up would cost them more than it gives.
func advise(b []byte) {
	if len(b) >= 64<<20 {
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // a wish, not a need
	}
}
