package vfs_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"pgregory.net/rapid"
)

func eachFS(t *testing.T, f func(t *testing.T, fs vfs.FS, dir string)) {
	t.Run("os", func(t *testing.T) { f(t, vfs.OS, filepath.ToSlash(t.TempDir())) })
	t.Run("mem", func(t *testing.T) { f(t, vfs.NewMem(), "/d") })
	t.Run("crashable", func(t *testing.T) { f(t, vfs.NewCrashable(), "/d") })
}

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestFilesBehaveAlike(t *testing.T) {
	eachFS(t, func(t *testing.T, fs vfs.FS, dir string) {
		if err := fs.MkdirAll(dir + "/a/b"); err != nil {
			t.Fatal(err)
		}
		if _, err := fs.Open(dir + "/a/x"); !errors.Is(err, vfs.ErrNotExist) {
			t.Fatalf("open of nothing: %v", err)
		}
		f := must(fs.Create(dir + "/a/x"))(t)
		if _, err := f.WriteAt([]byte("hello"), 10000); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 8)
		if n, err := f.ReadAt(buf, 9998); n != 7 || err != io.EOF || !bytes.Equal(buf[:7], []byte("\x00\x00hello")) {
			t.Fatalf("read %d %q %v", n, buf, err)
		}
		if err := f.Truncate(10002); err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(10005); err != nil {
			t.Fatal(err)
		}
		if n, err := f.ReadAt(buf[:5], 10000); n != 5 || err != nil || string(buf[:5]) != "he\x00\x00\x00" {
			t.Fatalf("what was cut off came back: %d %q %v", n, buf[:5], err)
		}
		if err := f.Preallocate(0, 20000, false); err != nil {
			t.Fatal(err)
		}
		if n := must(f.Size())(t); n != 10005 {
			t.Fatalf("size %d", n)
		}
		if err := f.Preallocate(0, 20000, true); err != nil {
			t.Fatal(err)
		}
		if n := must(fs.Stat(dir + "/a/x"))(t).Size; n != 20000 {
			t.Fatalf("size %d", n)
		}
		if err := errors.Join(f.Sync(), fs.SyncDir(dir), f.Close(), fs.Rename(dir+"/a/x", dir+"/a/y")); err != nil {
			t.Fatal(err)
		}
		if l := must(fs.List(dir + "/a"))(t); len(l) != 2 || l[0].Name != "b" || !l[0].Dir || l[1].Name != "y" {
			t.Fatalf("list %v", l)
		}
		if err := errors.Join(fs.Remove(dir+"/a/y"), fs.RemoveAll(dir+"/a"), fs.RemoveAll(dir+"/a")); err != nil {
			t.Fatal(err)
		}
		l := must(fs.Lock(dir+"/LOCK", []byte("pid 7")))(t)
		var held *vfs.LockedError
		if _, err := fs.Lock(dir+"/LOCK", nil); !errors.As(err, &held) || string(held.Holder) != "pid 7" {
			t.Fatalf("second lock: %v", err)
		}
		l.Close()
		must(fs.Lock(dir+"/LOCK", nil))(t).Close()
	})
}

// TestCrashCloneKeepsWhatWasSynced is V2: with p = 0 nothing unsynced survives, with p = 1 all of it, and what was synced
// survives always.
func TestCrashCloneKeepsWhatWasSynced(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := vfs.NewCrashable()
		f, _ := m.Create("f")
		m.SyncDir("/")
		now, synced := []byte{}, []byte{}
		for range rapid.IntRange(1, 20).Draw(rt, "n") {
			switch rapid.IntRange(0, 3).Draw(rt, "op") {
			case 0, 1:
				off := rapid.IntRange(0, 20000).Draw(rt, "off")
				b := bytes.Repeat([]byte{byte(rapid.IntRange(1, 255).Draw(rt, "b"))}, rapid.IntRange(1, 9000).Draw(rt, "len"))
				f.WriteAt(b, int64(off))
				if need := off + len(b); need > len(now) {
					now = append(now, make([]byte, need-len(now))...)
				}
				copy(now[off:], b)
			case 2:
				n := rapid.IntRange(0, 20000).Draw(rt, "size")
				f.Truncate(int64(n))
				if n <= len(now) {
					now = now[:n:n]
				} else {
					now = append(now, make([]byte, n-len(now))...)
				}
			case 3:
				f.Sync()
				synced = bytes.Clone(now)
			}
		}
		rng := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(rt, "seed")))
		for _, c := range []struct {
			p    float64
			want []byte
		}{{0, synced}, {1, now}} {
			clone := m.CrashClone(rng, c.p)
			g, err := clone.Open("f")
			if err != nil {
				rt.Fatal(err)
			}
			n, _ := g.Size()
			got := make([]byte, n)
			g.ReadAt(got, 0)
			if !bytes.Equal(got, c.want) {
				rt.Fatalf("p=%v: %d bytes, want %d; or they differ", c.p, len(got), len(c.want))
			}
			g.WriteAt([]byte("clone"), 0) // must not reach the original
		}
		got := make([]byte, len(now))
		f.ReadAt(got, 0)
		if !bytes.Equal(got, now) {
			rt.Fatal("a clone's write reached the original")
		}
	})
}

func TestCrashCloneOfDirectories(t *testing.T) {
	m := vfs.NewCrashable()
	m.MkdirAll("d")
	m.SyncDir("/")
	f, _ := m.Create("d/a")
	f.Sync() // without SyncDir the name may be gone
	rng := rand.New(rand.NewPCG(1, 2))
	if _, err := m.CrashClone(rng, 0).Open("d/a"); !errors.Is(err, vfs.ErrNotExist) {
		t.Fatal("an unsynced name survived p = 0")
	}
	m.SyncDir("d")
	m.Rename("d/a", "d/b")
	c := m.CrashClone(rng, 0)
	if _, err := c.Open("d/a"); err != nil {
		t.Fatal("the old name is gone although the rename was not synced")
	}
	m.Remove("d/b")
	m.SyncDir("d")
	if l, _ := m.CrashClone(rng, 0).List("d"); len(l) != 0 {
		t.Fatalf("a synced removal came back: %v", l)
	}
}

func TestFailNth(t *testing.T) {
	fs := vfs.WithHook(vfs.NewMem(), vfs.FailNth(vfs.OpSync, 2, syscall.EIO, false))
	f, _ := fs.Create("f")
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("second sync: %v", err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	fs = vfs.WithHook(vfs.NewMem(), vfs.FailNth(vfs.OpWrite, 1, vfs.ErrShort, false))
	f, _ = fs.Create("f")
	if n, err := f.WriteAt([]byte("abcd"), 0); n != 2 || !errors.Is(err, vfs.ErrShort) {
		t.Fatalf("short write: %d %v", n, err)
	}
}

func TestCrashPoints(t *testing.T) {
	m := vfs.NewCrashable()
	var points []int
	fs := vfs.WithHook(m, vfs.CrashPoints(m, 2, 1, []float64{0, 1}, func(p int, c *vfs.Mem) {
		l, _ := c.List("/")
		points = append(points, len(l))
	}))
	for _, n := range []string{"a", "b", "c", "d"} {
		fs.Create(n)
	}
	if len(points) != 2 || points[0] != 0 || points[1] != 3 {
		t.Fatalf("points %v", points)
	}
}
