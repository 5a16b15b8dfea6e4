package btree

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hedgerowdb/hedgerow/internal/page"
)

type entry struct {
	key []byte
	ptr uint64
}

func cmpEntry(a, b entry) int { return compare(a.key, a.ptr, b.key, b.ptr) }

func newNode(level int) node {
	n := make(node, page.Size)
	n.format(level)
	return n
}

func leafItemOf(e entry) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, e.ptr), e.key...)
}

func genKey(max int) *rapid.Generator[[]byte] {
	return rapid.OneOf(
		rapid.SliceOfN(rapid.ByteRange(0, 2), 0, 6),
		rapid.SliceOfN(rapid.Byte(), 0, 40),
		rapid.Custom(func(t *rapid.T) []byte {
			n := rapid.IntRange(0, max).Draw(t, "len")
			return bytes.Repeat([]byte{byte(rapid.IntRange(0, 3).Draw(t, "fill"))}, n)
		}),
	)
}

func TestLeafAgreesWithSortedSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := newNode(0)
		var model []entry
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if len(model) > 0 && rapid.IntRange(0, 4).Draw(t, "op") == 0 {
				var idx []uint16
				var kept []entry
				for i, e := range model {
					if rapid.IntRange(0, 3).Draw(t, "drop") == 0 {
						idx = append(idx, uint16(i))
					} else {
						kept = append(kept, e)
					}
				}
				n.remove(idx)
				model = kept
			} else {
				e := entry{genKey(MaxKey).Draw(t, "key"), rapid.Uint64Range(1, 4).Draw(t, "ptr")}
				at, found := slices.BinarySearchFunc(model, e, cmpEntry)
				if got := n.search(target{key: e.key, ptr: e.ptr}); got != at {
					t.Fatalf("search: %d, want %d", got, at)
				}
				if found || n.free() < room(leafSize(e.key)) {
					continue
				}
				n.insertAt(at, leafItemOf(e))
				model = slices.Insert(model, at, e)
			}
			if err := n.verify(); err != nil {
				t.Fatal(err)
			}
			if n.count() != len(model) {
				t.Fatalf("%d items, want %d", n.count(), len(model))
			}
			for i, e := range model {
				if it := n.item(i); !bytes.Equal(itemKey(it), e.key) || itemPtr(it) != e.ptr {
					t.Fatalf("item %d differs", i)
				}
			}
		}
	})
}

// TestTargetsOnLeaf holds the two kinds of search target against their definition.
func TestTargetsOnLeaf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := newNode(0)
		for range rapid.IntRange(0, 60).Draw(t, "n") {
			e := entry{genKey(8).Draw(t, "key"), rapid.Uint64Range(1, 3).Draw(t, "ptr")}
			at := n.search(target{key: e.key, ptr: e.ptr})
			if at < n.count() && itemPtr(n.item(at)) == e.ptr && bytes.Equal(itemKey(n.item(at)), e.key) {
				continue
			}
			n.insertAt(at, leafItemOf(e))
		}
		k := genKey(8).Draw(t, "bound")
		past := n.search(target{key: k, past: true})
		for i := range n.count() {
			key := itemKey(n.item(i))
			isPast := bytes.Compare(key, k) > 0 && !bytes.HasPrefix(key, k)
			if isPast != (i >= past) {
				t.Fatalf("item %d %x against past %x: search says %d", i, key, k, past)
			}
			if got := (target{key: k, past: true}).compareTo(key, itemPtr(n.item(i))) < 0; got != isPast {
				t.Fatalf("compareTo disagrees at %x", key)
			}
		}
	})
}

// TestSplitAlwaysFindsAPlace fills pages with items of any legal size: both halves fit, stay ordered, and the separator lies
// between them.
func TestSplitAlwaysFindsAPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		level := rapid.IntRange(0, 1).Draw(t, "level")
		n := newNode(level)
		limit := rapid.SampledFrom([]int{4, 30, 600, MaxKey}).Draw(t, "limit")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		withHigh := rapid.Bool().Draw(t, "high")
		if withHigh {
			n.setNext(9)
			n.insertAt(0, appendSep(nil, 0, sepKey{key: bytes.Repeat([]byte{0xff}, rapid.IntRange(1, MaxKey).Draw(t, "hk")), ptr: 7, hasPtr: true}))
		}
		var extra []byte
		at := 0
		if level == 1 {
			n.insertAt(n.first(), appendSep(nil, 5, sepKey{}))
		}
		for i := uint64(1); ; i++ {
			key := bytes.Repeat([]byte{byte(rng.IntN(4))}, rng.IntN(limit+1))
			if rng.IntN(3) == 0 {
				for j := range key {
					key[j] = byte(rng.IntN(128)) // below the high key
				}
			}
			var it []byte
			tg := target{key: key, ptr: i}
			if level == 0 {
				at = n.search(tg)
				it = leafItemOf(entry{key, i})
			} else {
				at = n.searchInner(tg) + 1
				it = appendSep(nil, uint32(i), sepKey{key: key, ptr: i, hasPtr: true})
			}
			if n.free() < room(len(it)) {
				extra = it
				break
			}
			n.insertAt(at, it)
		}
		if err := n.verify(); err != nil {
			t.Fatalf("before: %v", err)
		}
		s := splitters.Get().(*splitter)
		s.gather(n, at, extra)
		if err := s.choose(n); err != nil {
			t.Fatal(err)
		}
		s.build(n, 3, 4)
		l, r := node(s.left[:]), node(s.right[:])
		if err := l.verify(); err != nil {
			t.Fatalf("left: %v", err)
		}
		if err := r.verify(); err != nil {
			t.Fatalf("right: %v", err)
		}
		if got := l.count() - 1 + r.count() - r.first(); got != s.n {
			t.Fatalf("%d items after the split, want %d", got, s.n)
		}
		if !l.incomplete() || r.incomplete() || l.next() != 4 || r.prev() != 3 || r.next() != n.next() {
			t.Fatal("links or flags are wrong")
		}
		if level == 0 && r.count() > r.first() {
			hk, it := l.sep(0), r.item(r.first())
			if compare(hk.key, hk.ptr, itemKey(it), itemPtr(it)) > 0 {
				t.Fatal("separator is above the right page")
			}
		}

		// Redo builds the left page from the old one and the record.
		items := make([][]byte, 0, s.first)
		items = append(items, s.items[:s.first]...)
		again := make(node, page.Size)
		buildLeft(again, n, items, s.high, 4)
		if !bytes.Equal(again, l) {
			t.Fatal("left page differs when it is built again")
		}
		if got := newNode(level); true {
			got.setPrev(3)
			got.setNext(n.next())
			if err := loadItems(got, appendItems(nil, r)); err != nil || !bytes.Equal(got, r) {
				t.Fatalf("right page differs when it is loaded: %v", err)
			}
		}
		splitters.Put(s)
	})
}

func TestSeparatorIsTruncated(t *testing.T) {
	for _, c := range []struct{ left, right, want string }{
		{"abc", "abd", "abd"},
		{"abc", "b000000", "b"},
		{"ab", "abzzzz", "abz"},
		{"", "x", "x"},
		{"longest common prefix A", "longest common prefix B and more", "longest common prefix B"},
	} {
		var s splitter
		s.items[0], s.items[1] = leafItemOf(entry{[]byte(c.left), 8}), leafItemOf(entry{[]byte(c.right), 3})
		s.n = 2
		if sep := s.separator(true, 1); string(sep.key) != c.want || sep.hasPtr {
			t.Errorf("%q | %q: separator %q %v", c.left, c.right, sep.key, sep.hasPtr)
		}
	}
	var s splitter
	s.items[0], s.items[1] = leafItemOf(entry{[]byte("k"), 3}), leafItemOf(entry{[]byte("k"), 8})
	if sep := s.separator(true, 1); string(sep.key) != "k" || sep.ptr != 8 || !sep.hasPtr {
		t.Errorf("equal keys: %v", sep)
	}
}

// TestSplitAtTheRightEndLeavesTheLeftPageFull: ascending loads fill pages to 90 percent.
func TestSplitAtTheRightEndLeavesTheLeftPageFull(t *testing.T) {
	n := newNode(0)
	var it []byte
	i := uint64(0)
	for ; ; i++ {
		it = leafItemOf(entry{binary.BigEndian.AppendUint64(nil, i), i + 1})
		if n.free() < room(len(it)) {
			break
		}
		n.insertAt(n.count(), it)
	}
	s := new(splitter)
	s.gather(n, n.count(), it)
	if err := s.choose(n); err != nil {
		t.Fatal(err)
	}
	if fill := s.first * 100 / s.n; fill < 85 || fill > 92 {
		t.Errorf("left page is %d%% full", fill)
	}
}

// FuzzPageVerify writes bytes into good pages, three of the input each: place and value. What verify accepts afterwards, every
// reader can use.
func FuzzPageVerify(f *testing.F) {
	leaf := newNode(0)
	for i := range 20 {
		leaf.insertAt(i, leafItemOf(entry{fmt.Appendf(nil, "k%02d", i), uint64(i + 1)}))
	}
	in := newNode(1)
	in.setNext(2)
	in.insertAt(0, appendSep(nil, 0, sepKey{key: []byte("zz")}))
	in.insertAt(1, appendSep(nil, 3, sepKey{}))
	in.insertAt(2, appendSep(nil, 4, sepKey{key: []byte("b"), ptr: 4, hasPtr: true}))
	meta := make(page.Page, page.Size)
	formatMeta(meta, 1, 0)
	bases := [][]byte{leaf, in, meta}
	f.Add(uint8(0), []byte{14, 0, 3})
	f.Add(uint8(1), []byte{16, 0, 40, 20, 0, 9})
	f.Add(uint8(2), []byte{0xe0, 0x1f, 7})
	f.Fuzz(func(t *testing.T, base uint8, edits []byte) {
		p := page.Page(slices.Clone(bases[int(base)%len(bases)]))
		for ; len(edits) >= 3; edits = edits[3:] {
			p[int(binary.LittleEndian.Uint16(edits))%page.Size] = edits[2]
		}
		if VerifyPage(p) != nil || p.Type() != page.TypeBTree {
			return
		}
		n := node(p)
		for i := range n.count() {
			_ = n.item(i)
		}
		if n.level() == 0 {
			n.search(target{key: []byte("b")})
			n.remove(n.deadItems(nil))
		} else {
			n.child(n.searchInner(target{key: []byte("b"), past: true}))
		}
		n.beyond(highest)
	})
}

// TestEveryHeaderFieldIsWatched flips each byte of the parts that a page is made of: verify names the fault or the page still
// works; it never panics.
func TestEveryHeaderFieldIsWatched(t *testing.T) {
	n := newNode(0)
	n.setNext(3)
	n.insertAt(0, appendSep(nil, 0, sepKey{key: []byte("m")}))
	for i := range 20 {
		n.insertAt(i+1, leafItemOf(entry{fmt.Appendf(nil, "k%02d", i), uint64(i + 1)}))
	}
	must := map[int]bool{14: true, 16: true, 18: true, 20: true, specialAt + spFlags + 1: true}
	for at := range page.Size {
		if at >= headerSize+21*lpSize && at < n.u16(upperAt) {
			continue
		}
		p := slices.Clone(n)
		p[at] ^= 0xff
		if err := VerifyPage(page.Page(p)); err == nil && must[at] {
			t.Errorf("byte %d may be anything", at)
		}
	}
}
