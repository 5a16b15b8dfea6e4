package spill

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// meter is an account that knows the most it held.
type meter struct{ now, most int64 }

func (m *meter) Grow(n int64) error {
	m.now += n
	m.most = max(m.most, m.now)
	return nil
}

// dir makes temporary files and counts those that are open.
type dir struct {
	path  string
	open  int
	made  int
	bytes int64
}

type file struct {
	*os.File
	d *dir
}

func (d *dir) Create() (File, error) {
	f, err := os.CreateTemp(d.path, "spill-*")
	if err != nil {
		return nil, err
	}
	d.open++
	d.made++
	return &file{f, d}, nil
}

func (f *file) Write(b []byte) (int, error) {
	f.d.bytes += int64(len(b))
	return f.File.Write(b)
}

func (f *file) Close() error {
	f.d.open--
	return errors.Join(f.File.Close(), os.Remove(f.Name()))
}

type rec struct {
	key, body string
}

// A sorter agrees with a stable sort, whatever its memory is, and gives everything back.
func TestSorter(t *testing.T) {
	for _, share := range []int64{0, 16 << 10, 64 << 10, 1 << 30} {
		for _, keys := range []int{1, 7, 1000, 1 << 40} {
			t.Run(fmt.Sprintf("%d bytes, %d keys", share, keys), func(t *testing.T) {
				m, d := &meter{}, &dir{path: t.TempDir()}
				p := &Place{Temp: d, Share: share, Mem: m}
				if share == 0 {
					p.Temp = nil
				}
				var s Sorter
				s.Init(p)
				rnd := rand.New(rand.NewPCG(uint64(share), uint64(keys)))
				var want []rec
				for i := range 20_000 {
					r := rec{fmt.Sprintf("%x", rnd.IntN(keys)), fmt.Sprint(i)}
					if i%5000 == 17 {
						r.body += string(bytes.Repeat([]byte("long"), 10_000))
					}
					want = append(want, r)
					if err := s.Add([]byte(r.key), []byte(r.body)); err != nil {
						t.Fatal(err)
					}
				}
				slices.SortStableFunc(want, func(a, b rec) int { return cmp.Compare(a.key, b.key) })
				if err := s.Sort(); err != nil {
					t.Fatal(err)
				}
				for i, w := range want {
					k, b, ok, err := s.Next()
					if err != nil || !ok || string(k) != w.key || string(b) != w.body {
						t.Fatalf("record %d is %q %.20q (%v, %v), want %q %.20q", i, k, b, ok, err, w.key, w.body)
					}
				}
				if _, _, ok, err := s.Next(); ok || err != nil {
					t.Fatal("more than was added", err)
				}
				if most := 3*share + 200<<10; p.Temp != nil && m.most > most {
					t.Errorf("%d bytes at most, want ≤ %d", m.most, most)
				}
				if s.Spilled() != (share > 0 && share < 1<<20) {
					t.Error("spilled:", s.Spilled())
				}
				s.Close()
				s.Close()
				if m.now != 0 || d.open != 0 {
					t.Errorf("%d bytes and %d files are left", m.now, d.open)
				}
			})
		}
	}
}

// Memory does not grow with the number of records, however many passes it takes.
func TestSorterIsBounded(t *testing.T) {
	var most [2]int64
	for i, n := range []int{20_000, 400_000} {
		m, d := &meter{}, &dir{path: t.TempDir()}
		var s Sorter
		s.Init(&Place{Temp: d, Share: 32 << 10, Mem: m})
		var key [8]byte
		for k := range n {
			binary.LittleEndian.PutUint64(key[:], uint64(k)*0x9E3779B97F4A7C15)
			if err := s.Add(key[:], key[:4]); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Sort(); err != nil {
			t.Fatal(err)
		}
		got := 0
		for {
			_, _, ok, err := s.Next()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			got++
		}
		if got != n {
			t.Fatalf("%d of %d records", got, n)
		}
		if i == 1 && d.bytes > int64(n)*20*8 {
			t.Errorf("%d bytes were written for %d records", d.bytes, n)
		}
		s.Close()
		most[i] = m.most
	}
	if most[1] > most[0]*3/2 {
		t.Errorf("%d bytes for 20 times the records of %d bytes", most[1], most[0])
	}
}

func TestDedup(t *testing.T) {
	for _, share := range []int64{0, 32 << 10} {
		m, d := &meter{}, &dir{path: t.TempDir()}
		var u Dedup
		p := &Place{Temp: d, Share: share, Mem: m}
		if share == 0 {
			p.Temp = nil
		}
		u.Init(p)
		seen := map[int]bool{}
		var want []string
		rnd := rand.New(rand.NewPCG(1, 2))
		for i := range 30_000 {
			k := rnd.IntN(5000)
			body := fmt.Sprintf("%d/%d", k, i)
			if !seen[k] {
				seen[k] = true
				want = append(want, body)
			}
			if err := u.Add(uint64(k%997), []byte(body)); err != nil { // hashes collide
				t.Fatal(err)
			}
		}
		if err := u.Finish(func(a, b []byte) (bool, error) {
			return bytes.Equal(a[:bytes.IndexByte(a, '/')], b[:bytes.IndexByte(b, '/')]), nil
		}); err != nil {
			t.Fatal(err)
		}
		for i, w := range want {
			got, ok, err := u.Next()
			if err != nil || !ok || string(got) != w {
				t.Fatalf("record %d is %q (%v, %v), want %q", i, got, ok, err, w)
			}
		}
		if _, ok, _ := u.Next(); ok {
			t.Error("more than the first ones")
		}
		u.Close()
		if m.now != 0 || d.open != 0 {
			t.Errorf("%d bytes and %d files are left", m.now, d.open)
		}
	}
}

func TestLog(t *testing.T) {
	for _, n := range []int{0, 3, 10_000} {
		m, d := &meter{}, &dir{path: t.TempDir()}
		var l Log
		l.Init(&Place{Temp: d, Share: 32 << 10, Mem: m})
		for i := range n {
			if err := l.Add(fmt.Append(nil, i)); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			if err := l.Rewind(); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				b, ok, err := l.Next()
				if err != nil || !ok || string(b) != fmt.Sprint(i) {
					t.Fatalf("record %d is %q (%v, %v)", i, b, ok, err)
				}
			}
			if _, ok, err := l.Next(); ok || err != nil {
				t.Fatal("more than was added", err)
			}
		}
		l.Close()
		if m.now != 0 || d.open != 0 {
			t.Errorf("%d bytes and %d files are left", m.now, d.open)
		}
	}
}

// An error from outside, such as a cancellation or a full disk, comes out wherever it happens.
func TestErrors(t *testing.T) {
	stop := errors.New("stop")
	for at := range 40 {
		m, d := &meter{}, &dir{path: t.TempDir()}
		n := 0
		var s Sorter
		s.Init(&Place{Temp: d, Share: 16 << 10, Mem: m, Check: func() error {
			if n++; n > at*7 {
				return stop
			}
			return nil
		}})
		var err error
		for i := 0; i < 20_000 && err == nil; i++ {
			err = s.Add(fmt.Append(nil, i*7919%20011), nil)
		}
		if err == nil {
			err = s.Sort()
		}
		for ok := true; ok && err == nil; {
			_, _, ok, err = s.Next()
		}
		if err != nil && !errors.Is(err, stop) {
			t.Fatal(err)
		}
		s.Close()
		if m.now != 0 || d.open != 0 {
			t.Errorf("%d bytes and %d files are left", m.now, d.open)
		}
	}
}
