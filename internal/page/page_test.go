package page

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func newPage() Page { return make(Page, Size) }

var testID = ID{Rel: 7, Fork: Main, Block: 3}

// TestSlotsAgainstAMap drives the calls that keep numbers (as a heap uses them) and compares with a map.
func TestSlotsAgainstAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newPage()
		special := rapid.SampledFrom([]int{0, 16, 64}).Draw(rt, "special")
		p.Init(TypeHeap, special)
		model := map[int][]byte{}
		states := map[int]State{}
		item := func() []byte {
			n := rapid.IntRange(1, 600).Draw(rt, "len")
			return bytes.Repeat([]byte{rapid.Byte().Draw(rt, "b")}, n)
		}
		for range rapid.IntRange(1, 80).Draw(rt, "n") {
			switch rapid.IntRange(0, 6).Draw(rt, "op") {
			case 0, 1, 2:
				it := item()
				fits := len(it) <= p.FreeSpace()
				off := p.AddItem(it, 255)
				if fits && off == 0 && p.NumItems() < 255 {
					rt.Fatalf("%d bytes do not fit %d", len(it), p.FreeSpace())
				}
				if off != 0 {
					if _, used := model[off]; used || states[off] == Redirect {
						rt.Fatalf("offset %d given twice", off)
					}
					model[off], states[off] = it, Normal
				}
			case 3:
				if n := p.NumItems(); n > 0 {
					off := rapid.IntRange(1, n).Draw(rt, "off")
					p.SetUnused(off)
					delete(model, off)
					delete(states, off)
				}
			case 4:
				usable := p.UsableSpace()
				p.Compact()
				if got := p.ExactFreeSpace(); got < usable {
					rt.Fatalf("compaction gave %d bytes, promised %d", got, usable)
				}
			case 5:
				if n := p.NumItems(); n > 0 {
					off := rapid.IntRange(1, n).Draw(rt, "off")
					if _, used := model[off]; used {
						if it := item(); p.ReplaceItem(off, it) {
							model[off] = it
						}
					}
				}
			case 6:
				if n := p.NumItems(); n > 1 {
					off := rapid.IntRange(1, n).Draw(rt, "off")
					if states[off] == Normal {
						if rapid.Bool().Draw(rt, "dead") {
							p.SetItemID(off, p.ItemID(off).Dead()) // keeps its storage
							states[off] = Dead
						} else {
							p.SetItemID(off, MakeRedirect(1+off%n))
							states[off] = Redirect
							delete(model, off)
						}
					}
				}
			}
			for off, want := range model {
				if got := p.Item(off); !bytes.Equal(got, want) || p.ItemID(off).State() != states[off] {
					rt.Fatalf("item %d is %x in state %v, want %x in %v", off, got, p.ItemID(off).State(), want, states[off])
				}
			}
			p.SetChecksum(testID)
			// A redirect's target may have been cut off by a compaction: that is its owner's affair.
			if _, ok := p.Verify(testID).(*Fault); ok && !hasDanglingRedirect(p) {
				rt.Fatal(p.Verify(testID))
			}
			if err := p.CheckOverlap(testID); err != nil {
				rt.Fatal(err)
			}
			if len(p.Special()) != special || !bytes.Equal(p.Special(), make([]byte, special)) {
				rt.Fatal("the special area changed")
			}
		}
	})
}

func hasDanglingRedirect(p Page) bool {
	for off := 1; off <= p.NumItems(); off++ {
		if i := p.ItemID(off); i.State() == Redirect && i.Target() > p.NumItems() {
			return true
		}
	}
	return false
}

// TestOrderedItemsAgainstASlice drives the calls that shift numbers (as a B-tree uses them).
func TestOrderedItemsAgainstASlice(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newPage()
		p.Init(TypeBTree, 16)
		var model [][]byte
		for range rapid.IntRange(1, 120).Draw(rt, "n") {
			switch rapid.IntRange(0, 4).Draw(rt, "op") {
			case 0, 1, 2:
				it := bytes.Repeat([]byte{rapid.Byte().Draw(rt, "b")}, rapid.IntRange(1, 300).Draw(rt, "len"))
				at := rapid.IntRange(0, len(model)).Draw(rt, "at")
				fits := len(it) <= p.FreeSpace()
				if ok := p.InsertItemAt(at+1, it); ok != fits {
					rt.Fatalf("insert of %d bytes into %d: %v", len(it), p.FreeSpace(), ok)
				} else if ok {
					model = append(model[:at:at], append([][]byte{it}, model[at:]...)...)
				}
			default:
				var offs []int
				var rest [][]byte
				for i := range model {
					if rapid.IntRange(0, 3).Draw(rt, "rm") == 0 {
						offs = append(offs, i+1)
					} else {
						rest = append(rest, model[i])
					}
				}
				p.RemoveItems(offs...)
				model = rest
			}
			if p.NumItems() != len(model) {
				rt.Fatalf("%d items, want %d", p.NumItems(), len(model))
			}
			for i, want := range model {
				if !bytes.Equal(p.Item(i+1), want) {
					rt.Fatalf("item %d differs", i+1)
				}
			}
			p.SetChecksum(testID)
			if err := p.Verify(testID); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

func TestAddItemAtLeavesGaps(t *testing.T) {
	p := newPage()
	p.Init(TypeHeap, 0)
	if !p.AddItemAt(5, []byte("x")) || p.NumItems() != 5 || p.ItemID(4).State() != Unused {
		t.Fatal("offset 5 of an empty page")
	}
	if p.AddItemAt(5, []byte("y")) {
		t.Fatal("an item was replaced")
	}
	if off := p.AddItem([]byte("z"), 255); off != 1 {
		t.Fatalf("the first free offset is 1, not %d", off)
	}
	if off := p.AddItem([]byte("z"), 3); off != 2 {
		t.Fatal("offset 2 is free")
	}
}

func TestChecksumKnowsItsPlace(t *testing.T) { // P2
	p := newPage()
	p.Init(TypeHeap, 0)
	p.AddItem([]byte("hello"), 255)
	p.SetChecksum(testID)
	for _, other := range []ID{{8, Main, 3}, {7, VM, 3}, {7, Main, 4}} {
		if p.Verify(other) == nil {
			t.Errorf("a page of %v passed as %v", testID, other)
		}
	}
	if err := newPage().Verify(testID); err != nil {
		t.Errorf("a new page: %v", err)
	}
}

// TestEveryBitCounts flips each bit of the header and many of the rest.
func TestEveryBitCounts(t *testing.T) {
	p := newPage()
	p.Init(TypeHeap, 16)
	p.AddItem([]byte("hello"), 255)
	p.SetChecksum(testID)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range HeaderSize*8 + 2000 {
		bit := i
		if i >= HeaderSize*8 {
			bit = rng.IntN(Size * 8)
		}
		p[bit/8] ^= 1 << (bit % 8)
		if p.Verify(testID) == nil {
			t.Fatalf("bit %d may fall over unseen", bit)
		}
		p[bit/8] ^= 1 << (bit % 8)
	}
}

func TestHeaderFieldsAreApart(t *testing.T) {
	p := newPage()
	p.Init(TypeHeap, 0)
	p.SetLSN(1<<60 + 5)
	p.SetFlags(0xbeef)
	p.SetPruneHint(0x1234)
	p.SetPruneXID(1<<48 - 2)
	if p.LSN() != 1<<60+5 || p.Flags() != 0xbeef || p.PruneHint() != 0x1234 || p.PruneXID() != 1<<48-2 ||
		p.Type() != TypeHeap || p.Layout() != Layout || p.Lower() != HeaderSize || p.Upper() != Size {
		t.Fatal("header fields overlap")
	}
}

func TestTIDs(t *testing.T) {
	tid := MakeTID(1<<32-2, 255)
	if tid.Block() != 1<<32-2 || tid.Offset() != 255 || !tid.Valid() || NoTID.Valid() || MakeTID(9, 0).Valid() {
		t.Fatal(tid)
	}
}

// FuzzVerify: whatever Verify lets pass can be read by every method without a panic.
func FuzzVerify(f *testing.F) {
	p := newPage()
	p.Init(TypeHeap, 0)
	p.AddItem([]byte("hello"), 255)
	f.Add([]byte(p[:64]), []byte(p[Size-64:]), true)
	p.Init(TypeBTree, 24)
	p.InsertItemAt(1, []byte("a"))
	p.SetItemID(1, MakeRedirect(1))
	f.Add([]byte(p[:64]), []byte(p[Size-64:]), false)
	f.Fuzz(func(t *testing.T, head, tail []byte, sum bool) {
		p := newPage()
		copy(p, head)
		copy(p[max(0, Size-len(tail)):], tail)
		if sum {
			p.SetChecksum(testID)
		}
		if p.Verify(testID) != nil || p.IsNew() {
			return
		}
		_ = p.Special()
		if p.Type() != TypeHeap && p.Type() != TypeBTree {
			return // no slots
		}
		for off := 1; off <= p.NumItems(); off++ {
			_ = p.Item(off)
			if i := p.ItemID(off); i.State() == Redirect {
				_ = p.Item(i.Target())
			}
		}
		_, _ = p.FreeSpace(), p.UsableSpace()
		_, _ = p.Hole()
		if p.CheckOverlap(testID) == nil {
			p.Compact()
		}
		p.AddItem([]byte("more"), 10000)
	})
}

func BenchmarkChecksum(b *testing.B) {
	p := newPage()
	p.Init(TypeHeap, 0)
	b.SetBytes(Size)
	for b.Loop() {
		p.SetChecksum(testID)
	}
}

func TestSumDoesNotAllocate(t *testing.T) {
	p := make(Page, Size)
	for i := range p {
		p[i] = byte(i * 7)
	}
	id := ID{Rel: 3, Block: 4}
	if n := testing.AllocsPerRun(1000, func() { p.SetChecksum(id) }); n >= 0.1 {
		t.Errorf("%.2f allocations a sum", n)
	}
	if a, b := p.Sum(id), p.Sum(ID{Rel: 3, Block: 5}); a == b || a != p.Checksum() {
		t.Error("the sum does not tell the place of the page, or counts itself")
	}
}
