package local

import (
	"bytes"
	"cmp"
	"testing"
)

// FuzzSorted: entries of a build come in the order of the tree, and come back as they were.
func FuzzSorted(f *testing.F) {
	f.Add([]byte("a"), []byte("a\x00"), uint64(2), uint64(1))
	f.Add([]byte("a\x00\xff"), []byte("a\x00\x00"), uint64(1), uint64(1))
	f.Add([]byte(""), []byte("\x00"), uint64(9), uint64(0))
	f.Add([]byte("same"), []byte("same"), uint64(1<<63), uint64(255))
	f.Fuzz(func(t *testing.T, a, b []byte, p, q uint64) {
		x, y := appendSorted(nil, a, p), appendSorted(nil, b, q)
		want := bytes.Compare(a, b)
		if want == 0 {
			want = cmp.Compare(p, q)
		}
		if got := bytes.Compare(x, y); got != want {
			t.Errorf("%x %d and %x %d: %d, want %d", a, p, b, q, got, want)
		}
		if k, ptr := splitSorted(nil, x); !bytes.Equal(k, a) || ptr != p {
			t.Errorf("%x %d came back as %x %d", a, p, k, ptr)
		}
	})
}
