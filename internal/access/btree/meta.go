package btree

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// The meta page keeps its fields in the special area, so that all between is a hole in images.
const (
	metaSize    = 32
	metaAt      = page.Size - metaSize
	metaMagic   = 0x42676448 // "HdgB"
	metaVersion = 1

	meMagic   = 0  // u32
	meVersion = 4  // u32
	meRoot    = 8  // u32
	meLevel   = 12 // u16
	meFlags   = 14 // u16

	metaHasLong = 1 << 0 // some key was cut (B13)
)

const (
	longNo  = 1
	longYes = 2
)

type meta struct {
	root  uint32
	level int
	flags int
}

func formatMeta(p page.Page, root uint32, level int) {
	p.Init(page.TypeBMeta, metaSize)
	binary.LittleEndian.PutUint32(p[metaAt+meMagic:], metaMagic)
	binary.LittleEndian.PutUint32(p[metaAt+meVersion:], metaVersion)
	setMetaRoot(p, root, level)
}

func setMetaRoot(p page.Page, root uint32, level int) {
	binary.LittleEndian.PutUint32(p[metaAt+meRoot:], root)
	binary.LittleEndian.PutUint16(p[metaAt+meLevel:], uint16(level))
}

func setMetaLong(p page.Page) {
	f := binary.LittleEndian.Uint16(p[metaAt+meFlags:])
	binary.LittleEndian.PutUint16(p[metaAt+meFlags:], f|metaHasLong)
}

// decodeMeta reads a meta page; it never panics on 8,192 bytes.
func decodeMeta(p page.Page) (meta, error) {
	if p.Type() != page.TypeBMeta || p.SpecialStart() != metaAt {
		return meta{}, fmt.Errorf("not a meta page (type %d)", p.Type())
	}
	if m := binary.LittleEndian.Uint32(p[metaAt+meMagic:]); m != metaMagic {
		return meta{}, fmt.Errorf("meta page begins with %#x", m)
	}
	if v := binary.LittleEndian.Uint32(p[metaAt+meVersion:]); v != metaVersion {
		return meta{}, fmt.Errorf("tree version %d is not known", v)
	}
	m := meta{
		root:  binary.LittleEndian.Uint32(p[metaAt+meRoot:]),
		level: int(binary.LittleEndian.Uint16(p[metaAt+meLevel:])),
		flags: int(binary.LittleEndian.Uint16(p[metaAt+meFlags:])),
	}
	if m.root == metaBlock || m.level >= maxLevel {
		return meta{}, fmt.Errorf("root is page %d at level %d", m.root, m.level)
	}
	return m, nil
}

// latchMeta pins and latches the meta page.
func (t *Tree) latchMeta(ctx context.Context, excl bool) (*buffer.Frame, meta, error) {
	f, err := t.pin(ctx, metaBlock)
	if err != nil {
		return nil, meta{}, err
	}
	if excl {
		f.Lock()
	} else {
		f.RLock()
	}
	t.Counters.PagesRead.Add(1)
	m, err := decodeMeta(f.Page())
	if err != nil {
		unlatch(f, excl)
		return nil, meta{}, t.corrupt(metaBlock, "%v", err)
	}
	return f, m, nil
}

func (t *Tree) readMeta(ctx context.Context) (meta, error) {
	f, m, err := t.latchMeta(ctx, false)
	if err != nil {
		return meta{}, err
	}
	unlatch(f, false)
	if m.flags&metaHasLong != 0 {
		t.long.Store(longYes)
	} else {
		t.long.CompareAndSwap(0, longNo)
	}
	return m, nil
}

// HasLong reports whether a key was ever cut (B13): then equality must be checked against the row, and order within equal
// prefixes too.
func (t *Tree) HasLong(ctx context.Context) (bool, error) {
	if l := t.long.Load(); l != 0 {
		return l == longYes, nil
	}
	_, err := t.readMeta(ctx)
	return t.long.Load() == longYes, err
}

// SetHasLong records, durably in the log's order, that a cut key is about to be inserted. It comes before that insert.
func (t *Tree) SetHasLong(ctx context.Context, crit *invariant.Crit) error {
	if t.long.Load() == longYes {
		return nil
	}
	f, m, err := t.latchMeta(ctx, true)
	if err != nil {
		return err
	}
	defer release(f)
	if m.flags&metaHasLong == 0 {
		b := beginRecord(opSetLong)
		defer builders.Put(b)
		crit.Enter()
		setMetaLong(f.Page())
		f.MarkDirty()
		b.Block(f, wal.Standard)
		_, err := t.log.Insert(b)
		crit.Logged(b.Len())
		crit.Exit()
		if err != nil {
			return err
		}
	}
	t.long.Store(longYes)
	return nil
}
