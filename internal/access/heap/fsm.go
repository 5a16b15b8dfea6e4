package heap

import (
	"context"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/page"
)

// The free space map is a tree of pages of three levels, each page a binary tree of maxima over one byte a child: free bytes
// divided by 32. It is not logged: it may lie after a crash, and whoever follows it corrects it (H8).
const (
	fsmFan  = (page.Size - page.HeaderSize + 1) / 2 // children of a page: 4,080
	fsmStep = 32
	// smallTable is how many pages a table has at most to be known in memory alone.
	smallTable = 8
)

func fsmCategory(free int) uint8 { return uint8(min(free/fsmStep, 255)) }

func fsmNeed(n int) uint8 { return uint8(min((n+fsmStep-1)/fsmStep, 255)) }

// fsmPlace returns the pages that know of heap page b, from the root, and the child's number in each.
func fsmPlace(b page.Block) (blocks [3]page.Block, child [3]int) {
	leaf := b / fsmFan
	group := leaf / fsmFan
	blocks = [3]page.Block{0, 1 + group*(fsmFan+1), 1 + group*(fsmFan+1) + 1 + leaf%fsmFan}
	child = [3]int{int(group), int(leaf % fsmFan), int(b % fsmFan)}
	return blocks, child
}

// nodes is the binary tree of a page: node i has children 2i+1 and 2i+2, child c is node fsmFan-1+c.
func nodes(p page.Page) []byte { return p[page.HeaderSize : page.HeaderSize+2*fsmFan-1] }

func fsmSet(p page.Page, child int, v uint8) (root uint8, changed bool) {
	n := nodes(p)
	i := fsmFan - 1 + child
	if n[i] == v {
		return n[0], false
	}
	n[i] = v
	for i > 0 {
		i = (i - 1) / 2
		m := max(n[2*i+1], n[2*i+2])
		if n[i] == m {
			break
		}
		n[i] = m
	}
	return n[0], true
}

// fsmFind returns a child with at least v, spreading different sessions over equal ones.
func fsmFind(p page.Page, v uint8, spread uint32) (int, bool) {
	n := nodes(p)
	if n[0] < v {
		return 0, false
	}
	i := 0
	for i < fsmFan-1 {
		l, r := n[2*i+1] >= v, n[2*i+2] >= v
		switch {
		case l && (!r || spread&1 == 0):
			i = 2*i + 1
		case r:
			i = 2*i + 2
		default:
			return 0, false // torn: a maximum that no child has
		}
		spread >>= 1
	}
	return i - (fsmFan - 1), true
}

// fsmPage pins and latches a page of the map; nil if it cannot be had: the map is only a rumour.
func (t *Table) fsmPage(ctx context.Context, b page.Block, make bool) *buffer.Frame {
	var f *buffer.Frame
	var err error
	if make {
		f, err = t.forkPin(ctx, page.FSM, b)
	} else {
		var n page.Block
		if n, err = t.o.Pool.Size(t.o.File, page.FSM); err == nil && b < n {
			f, err = t.o.Pool.PinOrZero(ctx, page.ID{Rel: t.o.File, Fork: page.FSM, Block: b})
		}
	}
	if err != nil {
		t.counters.FSMBad.Add(1)
		return nil
	}
	if f == nil {
		return nil
	}
	f.Lock()
	if f.Page().IsNew() || f.Page().Type() != page.TypeFSM {
		f.Page().Init(page.TypeFSM, 0)
		f.MarkDirty()
	}
	return f
}

// fsmRecord notes the free bytes of a heap page.
func (t *Table) fsmRecord(ctx context.Context, b page.Block, free int) {
	v := fsmCategory(free)
	if b < smallTable {
		t.small[b].Store(uint32(v) + 1)
	}
	if n, err := t.Blocks(); err != nil || n <= smallTable {
		return
	}
	blocks, child := fsmPlace(b)
	for level := 2; level >= 0; level-- {
		f := t.fsmPage(ctx, blocks[level], true)
		if f == nil {
			return
		}
		before := nodes(f.Page())[0]
		root, changed := fsmSet(f.Page(), child[level], v)
		if changed {
			f.MarkDirty()
		}
		f.Unlock()
		f.Unpin()
		if root == before {
			return
		}
		v = root
	}
}

// fsmSearch returns a page that is said to have need bytes.
func (t *Table) fsmSearch(ctx context.Context, need int, spread uint32) (page.Block, bool) {
	t.counters.FSMSearches.Add(1)
	v := fsmNeed(need)
	size, err := t.Blocks()
	if err != nil {
		return 0, false
	}
	if size <= smallTable {
		for i := range size {
			b := (i + page.Block(spread)) % size
			if c := t.small[b].Load(); c == 0 || uint8(c-1) >= v {
				return b, true
			}
		}
		return 0, false
	}
	for range 8 {
		var at [3]page.Block
		var child [3]int
		level := 0
		for ; level < 3; level++ {
			f := t.fsmPage(ctx, at[level], false)
			if f == nil {
				break
			}
			c, ok := fsmFind(f.Page(), v, spread)
			have := nodes(f.Page())[0]
			f.Unlock()
			f.Unpin()
			if !ok {
				if level == 0 {
					return 0, false
				}
				// The page above promised more: correct it and start again.
				t.fsmFix(ctx, at[level-1], child[level-1], have)
				break
			}
			child[level] = c
			switch level {
			case 0:
				at[1] = 1 + page.Block(c)*(fsmFan+1)
			case 1:
				at[2] = at[1] + 1 + page.Block(c)
			}
		}
		if level == 3 {
			b := (page.Block(child[0])*fsmFan+page.Block(child[1]))*fsmFan + page.Block(child[2])
			if b < size {
				return b, true
			}
			t.fsmFix(ctx, at[2], child[2], 0)
		}
	}
	return 0, false
}

func (t *Table) fsmFix(ctx context.Context, b page.Block, child int, v uint8) {
	if f := t.fsmPage(ctx, b, false); f != nil {
		if _, changed := fsmSet(f.Page(), child, v); changed {
			f.MarkDirty()
		}
		f.Unlock()
		f.Unpin()
	}
}
