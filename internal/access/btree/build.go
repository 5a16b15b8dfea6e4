package btree

import (
	"context"
	"encoding/binary"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// Builder makes a tree from entries that come in ascending order, each page written once, as full as a split at the right end
// leaves it, and logged as an image. It holds no page between calls. Nobody else sees the relfile before Finish; the relfile of a
// build that ends early is to be dropped.
type Builder struct {
	t    *Tree
	crit *invariant.Crit
	// levels holds, from the leaves up, the page being filled: the last of its level so far.
	levels []*buildLevel
	item   []byte
	count  uint64
	long   bool
	err    error
}

type buildLevel struct {
	n    node // a scratch page; copied into its frame when it is full
	blk  uint32
	prev uint32
	low  sepKey // what stands in the parent for the page
	buf  []byte // bytes of low.key
	last []byte // the last item added; leaves only
}

// NewBuilder begins a tree in rel, an empty relfile.
func NewBuilder(ctx context.Context, crit *invariant.Crit, pool *buffer.Pool, log *wal.Log, rel page.RelFile) (*Builder, error) {
	b := &Builder{t: Open(pool, log, rel), crit: crit}
	blk, err := b.reserve(ctx)
	if err != nil {
		return nil, err
	}
	if blk != metaBlock {
		return nil, b.t.corrupt(blk, "a new tree found its file in use")
	}
	return b, b.addLevel(ctx)
}

// reserve adds a page to the file.
func (b *Builder) reserve(ctx context.Context) (uint32, error) {
	f, err := b.t.extend(ctx)
	if err != nil {
		return 0, err
	}
	defer release(f)
	return uint32(f.ID().Block), nil
}

func (b *Builder) addLevel(ctx context.Context) error {
	blk, err := b.reserve(ctx)
	if err != nil {
		return err
	}
	l := &buildLevel{n: make(node, page.Size), blk: blk}
	l.n.format(len(b.levels))
	b.levels = append(b.levels, l)
	return nil
}

// SetHasLong records that some key was cut (B13).
func (b *Builder) SetHasLong() { b.long = true }

// Add adds an entry above all before it.
func (b *Builder) Add(ctx context.Context, key []byte, ptr uint64) error {
	if b.err != nil {
		return b.err
	}
	if err := checkKey(key); err != nil {
		return err
	}
	l := b.levels[0]
	if len(l.last) > 0 && compare(key, ptr, itemKey(l.last), itemPtr(l.last)) <= 0 {
		return dberr.New(dberr.Internal, "index build: entry %d is not above the one before", b.count)
	}
	s := scratch{item: b.item}
	b.item = s.leafItem(key, ptr)
	var sep sepKey
	if b.full(l, len(b.item), fillLeaf) {
		if n := commonPrefix(itemKey(l.last), key); n < len(key) {
			sep = sepKey{key: key[:n+1]}
		} else {
			sep = sepKey{key: key, ptr: ptr, hasPtr: true}
		}
	}
	if err := b.put(ctx, 0, b.item, sep, fillLeaf); err != nil {
		b.err = err
		return err
	}
	l.last = append(l.last[:0], b.item...)
	b.count++
	return nil
}

// full reports whether the page should be closed before an item of the size: it is as full as wanted, or the item and the
// high key would not both fit.
func (b *Builder) full(l *buildLevel, size, fill int) bool {
	used := capacity - l.n.free()
	return l.n.count() > 1 && (used+room(size) > capacity*fill/100 || l.n.free() < room(size)+room(MaxKey+innerOverhead+8))
}

// put adds an item to the page being filled at the level; if that is full, sep begins the next one.
func (b *Builder) put(ctx context.Context, level int, it []byte, sep sepKey, fill int) error {
	l := b.levels[level]
	if b.full(l, len(it), fill) {
		if err := b.next(ctx, level, sep); err != nil {
			return err
		}
		if level > 0 { // the first item of an inner page carries no key
			it = appendSep(nil, binary.LittleEndian.Uint32(it)&^hasPtrBit, sepKey{})
		}
	}
	l.n.insertAt(l.n.count(), it)
	return nil
}

// next closes the page of the level with sep as its high key, tells the parent of it and begins another page to its right.
func (b *Builder) next(ctx context.Context, level int, sep sepKey) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l := b.levels[level]
	right, err := b.reserve(ctx)
	if err != nil {
		return err
	}
	l.n.insertAt(0, appendSep(nil, 0, sep))
	l.n.setNext(right)
	l.n.setPrev(l.prev)
	if err := b.write(ctx, l); err != nil {
		return err
	}
	if err := b.downlink(ctx, level+1, l.blk, l.low); err != nil {
		return err
	}
	l.prev, l.blk = l.blk, right
	l.buf = append(l.buf[:0], sep.key...)
	l.low = sepKey{key: l.buf, ptr: sep.ptr, hasPtr: sep.hasPtr}
	l.n.format(level)
	return nil
}

// downlink puts (blk, low) into the level above.
func (b *Builder) downlink(ctx context.Context, level int, blk uint32, low sepKey) error {
	if level == len(b.levels) {
		if err := b.addLevel(ctx); err != nil {
			return err
		}
	}
	return b.put(ctx, level, appendSep(nil, blk, low), low, fillInner)
}

// write copies the page of a level into its place and logs it.
func (b *Builder) write(ctx context.Context, l *buildLevel) error {
	if invariant.Enabled {
		if err := l.n.verify(); err != nil {
			invariant.Failf("index build, page %d: %v", l.blk, err)
		}
	}
	return b.image(ctx, l.blk, func(p page.Page) { copyPage(p, l.n) })
}

// image changes a page and logs it whole.
func (b *Builder) image(ctx context.Context, blk uint32, change func(p page.Page)) error {
	f, err := b.t.pin(ctx, blk)
	if err != nil {
		return err
	}
	f.Lock()
	defer release(f)
	r := beginRecord(opImage)
	defer builders.Put(r)
	b.crit.Enter()
	change(f.Page())
	f.MarkDirty()
	r.Block(f, wal.ForceImage|wal.Standard)
	_, err = b.t.log.Insert(r)
	b.crit.Exit()
	return err
}

// Finish writes what is left and returns the tree.
func (b *Builder) Finish(ctx context.Context) (*Tree, error) {
	if b.err != nil {
		return nil, b.err
	}
	for level := 0; level < len(b.levels); level++ {
		l := b.levels[level]
		l.n.setPrev(l.prev)
		if err := b.write(ctx, l); err != nil {
			return nil, err
		}
		if level < len(b.levels)-1 {
			if err := b.downlink(ctx, level+1, l.blk, l.low); err != nil {
				return nil, err
			}
		}
	}
	top := len(b.levels) - 1
	root := b.levels[top].blk
	err := b.image(ctx, metaBlock, func(p page.Page) {
		formatMeta(p, root, top)
		if b.long {
			setMetaLong(p)
		}
	})
	if err != nil {
		return nil, err
	}
	b.t.root.Store(uint64(top)<<32 | uint64(root))
	b.t.Counters.Inserts.Add(b.count)
	return b.t, nil
}
