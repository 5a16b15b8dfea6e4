package catalog

import (
	"encoding/binary"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Catalog rows are little-endian and begin with the row's number; strings carry a u32 length. Keys of catalog trees are
// big-endian so that bytes order as numbers do, with strings last in the key.

type encoder struct{ b []byte }

func (e *encoder) u8(v uint8)   { e.b = append(e.b, v) }
func (e *encoder) u16(v uint16) { e.b = binary.LittleEndian.AppendUint16(e.b, v) }
func (e *encoder) u32(v uint32) { e.b = binary.LittleEndian.AppendUint32(e.b, v) }
func (e *encoder) u64(v uint64) { e.b = binary.LittleEndian.AppendUint64(e.b, v) }
func (e *encoder) str(s string) {
	e.u32(uint32(len(s)))
	e.b = append(e.b, s...)
}

type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.b) {
		d.bad = true
		return nil
	}
	p := d.b[:n]
	d.b = d.b[n:]
	return p
}

func (d *decoder) u8() uint8 {
	if p := d.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (d *decoder) u16() uint16 {
	if p := d.take(2); p != nil {
		return binary.LittleEndian.Uint16(p)
	}
	return 0
}

func (d *decoder) u32() uint32 {
	if p := d.take(4); p != nil {
		return binary.LittleEndian.Uint32(p)
	}
	return 0
}

func (d *decoder) u64() uint64 {
	if p := d.take(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

func (d *decoder) str() string { return string(d.take(int(d.u32()))) }

func (d *decoder) done(what string) error {
	if d.bad || len(d.b) != 0 {
		return dberr.New(dberr.DataCorrupted, "catalog row of %s is malformed", what)
	}
	return nil
}

type graphRow struct {
	row                      uint64
	id                       schema.GraphID
	labelSeq, keySeq, setSeq SeqID
	chunks                   uint64 // relation file of values out of line
	name                     string
}

func (r *graphRow) encode() []byte {
	var e encoder
	e.u64(r.row)
	e.u32(uint32(r.id))
	e.u32(uint32(r.labelSeq))
	e.u32(uint32(r.keySeq))
	e.u32(uint32(r.setSeq))
	e.u64(r.chunks)
	e.str(r.name)
	return e.b
}

func (r *graphRow) decode(b []byte) error {
	d := decoder{b: b}
	r.row, r.id = d.u64(), schema.GraphID(d.u32())
	r.labelSeq, r.keySeq, r.setSeq = SeqID(d.u32()), SeqID(d.u32()), SeqID(d.u32())
	r.chunks = d.u64()
	r.name = d.str()
	return d.done("a graph")
}

func (r *graphRow) key() []byte { return append([]byte(nil), r.name...) }

type labelRow struct {
	row       uint64
	graph     schema.GraphID
	id        schema.LabelID
	entity    schema.Entity
	seq       SeqID
	heap, idx uint64 // relation files: heap and id index
	out, in   uint64 // covering indexes of an edge label
	name      string
}

func (r *labelRow) encode() []byte {
	var e encoder
	e.u64(r.row)
	e.u32(uint32(r.graph))
	e.u16(uint16(r.id))
	e.u8(uint8(r.entity))
	e.u8(0)
	e.u32(uint32(r.seq))
	e.u64(r.heap)
	e.u64(r.idx)
	e.u64(r.out)
	e.u64(r.in)
	e.str(r.name)
	return e.b
}

func (r *labelRow) decode(b []byte) error {
	d := decoder{b: b}
	r.row, r.graph, r.id, r.entity = d.u64(), schema.GraphID(d.u32()), schema.LabelID(d.u16()), schema.Entity(d.u8())
	d.u8()
	r.seq = SeqID(d.u32())
	r.heap, r.idx, r.out, r.in = d.u64(), d.u64(), d.u64(), d.u64()
	r.name = d.str()
	return d.done("a label")
}

// A name may come back after DROP under a new id, so the id is part of the key.
func (r *labelRow) key() []byte {
	k := binary.BigEndian.AppendUint32(nil, uint32(r.graph))
	return binary.BigEndian.AppendUint16(k, uint16(r.id))
}

type keyRow struct {
	row   uint64
	graph schema.GraphID
	id    schema.KeyID
	name  string
}

func (r *keyRow) encode() []byte {
	var e encoder
	e.u64(r.row)
	e.u32(uint32(r.graph))
	e.u32(uint32(r.id))
	e.str(r.name)
	return e.b
}

func (r *keyRow) decode(b []byte) error {
	d := decoder{b: b}
	r.row, r.graph, r.id, r.name = d.u64(), schema.GraphID(d.u32()), schema.KeyID(d.u32()), d.str()
	return d.done("a property key")
}

func (r *keyRow) key() []byte {
	k := binary.BigEndian.AppendUint32(nil, uint32(r.graph))
	return binary.BigEndian.AppendUint32(k, uint32(r.id))
}

type setRow struct {
	row    uint64
	graph  schema.GraphID
	id     schema.LabelSetID
	labels []schema.LabelID
}

func (r *setRow) encode() []byte {
	var e encoder
	e.u64(r.row)
	e.u32(uint32(r.graph))
	e.u32(uint32(r.id))
	e.u16(uint16(len(r.labels)))
	for _, l := range r.labels {
		e.u16(uint16(l))
	}
	return e.b
}

func (r *setRow) decode(b []byte) error {
	d := decoder{b: b}
	r.row, r.graph, r.id = d.u64(), schema.GraphID(d.u32()), schema.LabelSetID(d.u32())
	r.labels = nil
	for n := d.u16(); n > 0 && !d.bad; n-- {
		r.labels = append(r.labels, schema.LabelID(d.u16()))
	}
	return d.done("a label set")
}

func (r *setRow) key() []byte {
	k := binary.BigEndian.AppendUint32(nil, uint32(r.graph))
	return binary.BigEndian.AppendUint32(k, uint32(r.id))
}

// heapLabelRow is the fact that the heap of one label may hold rows that carry another.
type heapLabelRow struct {
	row         uint64
	graph       schema.GraphID
	heap, label schema.LabelID
}

func (r *heapLabelRow) encode() []byte {
	var e encoder
	e.u64(r.row)
	e.u32(uint32(r.graph))
	e.u16(uint16(r.heap))
	e.u16(uint16(r.label))
	return e.b
}

func (r *heapLabelRow) decode(b []byte) error {
	d := decoder{b: b}
	r.row, r.graph, r.heap, r.label = d.u64(), schema.GraphID(d.u32()), schema.LabelID(d.u16()), schema.LabelID(d.u16())
	return d.done("a heap's label")
}

func (r *heapLabelRow) key() []byte {
	k := binary.BigEndian.AppendUint32(nil, uint32(r.graph))
	k = binary.BigEndian.AppendUint16(k, uint16(r.label))
	return binary.BigEndian.AppendUint16(k, uint16(r.heap))
}

// shownRow says that the transaction that wrote it used or declared the label; MVCC does the rest (rules B7).
type shownRow struct {
	row   uint64
	graph schema.GraphID
	label schema.LabelID
}

func (r *shownRow) encode() []byte {
	var e encoder
	e.u64(r.row)
	e.u32(uint32(r.graph))
	e.u16(uint16(r.label))
	return e.b
}

func (r *shownRow) decode(b []byte) error {
	d := decoder{b: b}
	r.row, r.graph, r.label = d.u64(), schema.GraphID(d.u32()), schema.LabelID(d.u16())
	return d.done("a shown label")
}

func (r *shownRow) key() []byte {
	k := binary.BigEndian.AppendUint32(nil, uint32(r.graph))
	k = binary.BigEndian.AppendUint16(k, uint16(r.label))
	return binary.BigEndian.AppendUint64(k, r.row)
}

const indexUnique = 1 << 0

type indexRow struct {
	row     uint64
	id      schema.IndexID
	graph   schema.GraphID
	entity  schema.Entity
	flags   uint8
	label   schema.LabelID
	relfile uint64
	keys    []schema.KeyID
	name    string
}

func (r *indexRow) encode() []byte {
	var e encoder
	e.u64(r.row)
	e.u32(uint32(r.id))
	e.u32(uint32(r.graph))
	e.u8(uint8(r.entity))
	e.u8(r.flags)
	e.u16(uint16(r.label))
	e.u64(r.relfile)
	e.u16(uint16(len(r.keys)))
	for _, k := range r.keys {
		e.u32(uint32(k))
	}
	e.str(r.name)
	return e.b
}

func (r *indexRow) decode(b []byte) error {
	d := decoder{b: b}
	r.row, r.id, r.graph = d.u64(), schema.IndexID(d.u32()), schema.GraphID(d.u32())
	r.entity, r.flags, r.label, r.relfile = schema.Entity(d.u8()), d.u8(), schema.LabelID(d.u16()), d.u64()
	r.keys = nil
	for n := d.u16(); n > 0 && !d.bad; n-- {
		r.keys = append(r.keys, schema.KeyID(d.u32()))
	}
	r.name = d.str()
	return d.done("an index")
}

// Names of indexes are unique in a graph.
func (r *indexRow) key() []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(r.graph)), r.name...)
}

// indexHeapRow gives an index's ordinal to a heap (rules B4).
type indexHeapRow struct {
	row     uint64
	index   schema.IndexID
	ordinal uint16
	label   schema.LabelID // whose heap it is
	relfile uint64
}

func (r *indexHeapRow) encode() []byte {
	var e encoder
	e.u64(r.row)
	e.u32(uint32(r.index))
	e.u16(r.ordinal)
	e.u16(uint16(r.label))
	e.u64(r.relfile)
	return e.b
}

func (r *indexHeapRow) decode(b []byte) error {
	d := decoder{b: b}
	r.row, r.index, r.ordinal, r.label, r.relfile = d.u64(), schema.IndexID(d.u32()), d.u16(), schema.LabelID(d.u16()), d.u64()
	return d.done("an index's heap")
}

func (r *indexHeapRow) key() []byte {
	k := binary.BigEndian.AppendUint32(nil, uint32(r.index))
	return binary.BigEndian.AppendUint16(k, r.ordinal)
}

type constraintRow struct {
	row    uint64
	graph  schema.GraphID
	entity schema.Entity
	kind   schema.ConstraintKind
	label  schema.LabelID
	index  schema.IndexID // 0 for none
	keys   []schema.KeyID
	name   string
	typ    value.TypeSpec // of a PropertyType constraint
}

func (r *constraintRow) encode() []byte {
	var e encoder
	e.u64(r.row)
	e.u32(uint32(r.graph))
	e.u8(uint8(r.entity))
	e.u8(uint8(r.kind))
	e.u16(uint16(r.label))
	e.u32(uint32(r.index))
	e.u16(uint16(len(r.keys)))
	for _, k := range r.keys {
		e.u32(uint32(k))
	}
	e.str(r.name)
	if r.kind == schema.PropertyType {
		e.b = value.AppendType(e.b, r.typ)
	}
	return e.b
}

func (r *constraintRow) decode(b []byte) error {
	d := decoder{b: b}
	r.row, r.graph, r.entity, r.kind = d.u64(), schema.GraphID(d.u32()), schema.Entity(d.u8()), schema.ConstraintKind(d.u8())
	r.label, r.index = schema.LabelID(d.u16()), schema.IndexID(d.u32())
	r.keys = nil
	for n := d.u16(); n > 0 && !d.bad; n-- {
		r.keys = append(r.keys, schema.KeyID(d.u32()))
	}
	r.name, r.typ = d.str(), value.TypeSpec{}
	if r.kind == schema.PropertyType {
		typ, rest, ok := value.DecodeType(d.b)
		r.typ, d.b, d.bad = typ, rest, d.bad || !ok
	}
	return d.done("a constraint")
}

func (r *constraintRow) key() []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(r.graph)), r.name...)
}

// hiddenBit in the entity byte marks a dropped vertex label whose heap still holds rows of other labels (rules D1).
const hiddenBit schema.Entity = 0x80

func (r *labelRow) hidden() bool { return r.entity&hiddenBit != 0 }
