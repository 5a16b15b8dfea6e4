package exec

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/query/spill"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// sortEntry is a row to be sorted: the first bytes of its normalised key decide most comparisons.
type sortEntry struct {
	prefix uint64
	off    uint64 // of the key in the arena
	len    uint32
	row    uint32
	part   uint32
}

// sorter is Sort and TopN.
type sorter struct {
	core
	child operator
	keys  []plan.SortKey
	skip  *expr.Program // TopN
	limit *expr.Program
	topN  bool
	ties  bool // TopN: to counts distinct keys
	paths bool // TopN: limit is the number behind a path selector
	part  parts
	last  []byte // ties: key of the row before

	rows  rowStore
	arena []byte
	ents  []sortEntry
	from  int64
	to    int64        // rows of a part that pass: from ≤ n < to
	runs  spill.Sorter // what did not fit
	key   []byte
	worst []byte // TopN: a row that is not below it is dropped

	spare      rowStore
	spareArena []byte
	view       expr.Batch

	sorted  bool
	pos     int
	curPart uint32
	inPart  int64
	compare int
	buf     []byte
	cols    []*vec.Column
}

func (o *sorter) open() error {
	o.sorted, o.pos, o.inPart = false, 0, 0
	o.rows.reset()
	o.arena, o.ents, o.worst = o.arena[:0], o.ents[:0], nil
	o.part.reset()
	o.runs.Close()
	o.runs.Init(o.place(o.x.opt.WorkMem))
	return o.child.open()
}

func (o *sorter) close() {
	o.runs.Close()
	o.core.close()
}

func (o *sorter) bytes() int64 {
	return o.rows.size() + o.spare.size() + int64(cap(o.arena)+cap(o.spareArena)) + int64(cap(o.buf)) + int64(cap(o.ents))*32 + o.out.bytes()
}

// normal appends the normalised key of a row: bytes whose order is the order wanted.
func (o *sorter) normal(dst []byte, b *expr.Batch, i int) []byte {
	for _, k := range o.keys {
		at := len(dst)
		if c := b.Cols[k.Slot]; c != nil {
			dst = value.AppendKey(dst, c.Value(i))
		} else {
			dst = value.AppendKey(dst, value.Value{})
		}
		if k.Desc {
			for j := at; j < len(dst); j++ {
				dst[j] = ^dst[j]
			}
		}
	}
	return dst
}

// longKeys is how many bytes of keys are made between two looks at the cancel flag, as a batch may have long lists.
const longKeys = 1 << 18

func prefixOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

func (o *sorter) keyOf(e *sortEntry) []byte { return o.arena[e.off : e.off+uint64(e.len)] }

// canceled stops a sort from inside its comparison.
type canceled struct{ err error }

func (o *sorter) sort() (err error) {
	defer func() {
		if p := recover(); p != nil {
			c, ok := p.(canceled)
			if !ok {
				panic(p)
			}
			err = c.err
		}
	}()
	slices.SortFunc(o.ents, func(a, b sortEntry) int {
		if o.compare++; o.compare&4095 == 0 {
			if err := o.x.check(); err != nil {
				panic(canceled{err})
			}
		}
		switch {
		case a.part != b.part:
			return int(a.part) - int(b.part)
		case a.prefix != b.prefix:
			if a.prefix < b.prefix {
				return -1
			}
			return 1
		}
		if c := bytes.Compare(o.keyOf(&a), o.keyOf(&b)); c != 0 {
			return c
		}
		return int(a.row) - int(b.row)
	})
	return nil
}

func (o *sorter) load() error {
	o.from, o.to = 0, 1<<62
	if o.topN {
		var err error
		if o.skip != nil {
			if o.from, err = o.counter(o.skip, "SKIP"); err != nil {
				return err
			}
		}
		if o.limit != nil {
			if o.to, err = o.counter(o.limit, "LIMIT"); err != nil {
				return err
			}
			if o.paths && o.to < 1 {
				return noPaths()
			}
			if o.to += o.from; o.to < 0 {
				o.to = 1 << 62
			}
		}
	}
	// The rows kept at most: only then is it worth to drop as we go.
	keep := int64(-1)
	if o.topN && !o.ties && len(o.part.slots) == 0 && o.to < 1<<20 {
		keep = o.to
	}
	for {
		b, err := o.child.next()
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		if err := o.x.check(); err != nil {
			return err
		}
		o.rows.choose(b, o.keep)
		n, made := b.Live(), 0
		for k := range n {
			i := k
			if b.Sel != nil {
				i = int(b.Sel[k])
			}
			o.key = o.normal(o.key[:0], b, i)
			if made += len(o.key); made >= longKeys {
				made = 0
				if err := o.x.check(); err != nil {
					return err
				}
			}
			if keep == 0 || o.worst != nil && bytes.Compare(o.key, o.worst) >= 0 {
				continue
			}
			row := o.rows.addRow(b, i)
			o.ents = append(o.ents, sortEntry{
				prefix: prefixOf(o.key), off: uint64(len(o.arena)), len: uint32(len(o.key)), row: uint32(row), part: uint32(o.part.of(b, i)),
			})
			o.arena = append(o.arena, o.key...)
		}
		if keep > 0 && int64(len(o.ents)) > 2*keep+blockRows {
			if err := o.cut(int(keep)); err != nil {
				return err
			}
		}
		size := o.bytes()
		if size > o.x.opt.WorkMem && o.x.opt.Temp != nil {
			if err := o.spill(); err != nil {
				return err
			}
			size = o.bytes()
		}
		if err := o.mem.set(&o.acct, size); err != nil {
			return err
		}
	}
	if err := o.sort(); err != nil {
		return err
	}
	if !o.runs.Spilled() {
		return nil
	}
	if err := o.spill(); err != nil {
		return err
	}
	// Merging needs the memory.
	slots := o.rows.slots
	o.rows, o.spare = rowStore{slots: slots, known: true}, rowStore{}
	o.arena, o.spareArena, o.ents = nil, nil, nil
	if err := o.mem.set(&o.acct, o.bytes()); err != nil {
		return err
	}
	return o.runs.Sort()
}

// cut keeps the n least rows.
func (o *sorter) cut(n int) error {
	if err := o.sort(); err != nil {
		return err
	}
	// The survivors move to the other of two stores, so that cutting again and again allocates nothing.
	rs, arena := o.spare, o.spareArena[:0]
	rs.reset()
	rs.slots, rs.known = append(rs.slots[:0], o.rows.slots...), true
	if o.view.Cols == nil {
		o.view.Cols = make([]*vec.Column, o.out.width)
	}
	b := o.view
	for k := range o.ents[:n] {
		e := &o.ents[k]
		blk, i := o.rows.at(int(e.row))
		for c, s := range rs.slots {
			b.Cols[s] = &blk.cols[c]
		}
		key := o.keyOf(e)
		e.row, e.off = uint32(rs.addRow(&b, i)), uint64(len(arena))
		arena = append(arena, key...)
	}
	o.spare, o.spareArena = o.rows, o.arena
	o.ents, o.arena, o.rows = o.ents[:n], arena, rs
	o.worst = append(o.worst[:0], o.keyOf(&o.ents[n-1])...)
	return nil
}

// spill sorts what is in memory and writes it as a run.
func (o *sorter) spill() error {
	if len(o.ents) == 0 {
		return nil
	}
	if err := o.sort(); err != nil {
		return err
	}
	if err := o.runs.BeginRun(); err != nil {
		return err
	}
	cols := make([]*vec.Column, len(o.rows.slots))
	for k := range o.ents {
		e := &o.ents[k]
		blk, i := o.rows.at(int(e.row))
		for c := range cols {
			cols[c] = &blk.cols[c]
		}
		o.key = append(binary.BigEndian.AppendUint32(o.key[:0], e.part), o.keyOf(e)...)
		o.buf = appendRow(o.buf[:0], cols, i)
		if err := o.runs.Put(o.key, o.buf); err != nil {
			return err
		}
	}
	if err := o.runs.EndRun(); err != nil {
		return err
	}
	slots := o.rows.slots
	o.rows.reset()
	o.rows.slots, o.rows.known = slots, true
	o.arena, o.ents = o.arena[:0], o.ents[:0]
	return nil
}

func (o *sorter) next() (*expr.Batch, error) {
	if !o.sorted {
		if err := o.load(); err != nil {
			return nil, err
		}
		o.sorted = true
	}
	if err := o.x.check(); err != nil {
		return nil, err
	}
	o.out.start()
	o.cols = o.cols[:0]
	for _, s := range o.rows.slots {
		o.cols = append(o.cols, o.out.col(s))
	}
	n := 0
	for n < o.x.opt.BatchSize {
		ok, err := o.emit(&n)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
	}
	if n == 0 {
		return nil, nil
	}
	o.out.b.N = n
	return &o.out.b, o.mem.set(&o.acct, o.bytes())
}

// passes counts a row of a part and reports whether it is shown.
func (o *sorter) passes(part uint32, key []byte) bool {
	if part != o.curPart {
		o.curPart, o.inPart = part, 0
	}
	if o.ties && o.inPart > 0 && bytes.Equal(key, o.last) {
		return o.inPart > o.from && o.inPart <= o.to
	}
	if o.ties {
		o.last = append(o.last[:0], key...)
	}
	o.inPart++
	return o.inPart > o.from && o.inPart <= o.to
}

// emit appends the next row; false at the end.
func (o *sorter) emit(n *int) (bool, error) {
	if !o.runs.Spilled() {
		if o.pos >= len(o.ents) {
			return false, nil
		}
		e := &o.ents[o.pos]
		o.pos++
		if o.passes(e.part, o.keyOf(e)) {
			blk, i := o.rows.at(int(e.row))
			for c, s := range o.rows.slots {
				o.out.b.Cols[s].AppendFrom(&blk.cols[c], i)
			}
			*n++
		} else if len(o.part.slots) == 0 && o.inPart > o.to {
			return false, nil
		}
		return true, nil
	}
	key, row, ok, err := o.runs.Next()
	if !ok || err != nil {
		return false, err
	}
	if o.passes(binary.BigEndian.Uint32(key), key[4:]) {
		if _, err := decodeRow(row, o.cols); err != nil {
			return false, err
		}
		*n++
	}
	return true, nil
}

// noPaths is the error of a path selector whose number is no positive one.
func noPaths() error {
	return dberr.New(dberr.Syntax, "the number of paths or groups behind a selector must be greater than 0").WithToken("NegativeIntegerArgument")
}
