package local

import (
	"bytes"
	"encoding/binary"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// The rows of docs/format/rows.md.
const (
	vertexHead = 13
	edgeHead   = 25

	flagMapOut = 1 // the whole property record lies out of line

	inlineValue = 2048 // a longer value goes out of line
	inlineRow   = 2000 // a longer row puts its whole record out of line
)

func headOf(e schema.Entity) int {
	if e == schema.Vertex {
		return vertexHead
	}
	return edgeHead
}

func rowID(b []byte) uint64             { return binary.LittleEndian.Uint64(b) }
func rowSet(b []byte) schema.LabelSetID { return schema.LabelSetID(binary.LittleEndian.Uint32(b[8:])) }
func rowEnds(b []byte) (start, end uint64) {
	return binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
}

// checkRow makes the accessors above safe to use on bytes from a page.
func checkRow(e schema.Entity, b []byte) error {
	if len(b) < headOf(e) {
		return dberr.New(dberr.DataCorrupted, "a row of %d bytes is too short", len(b))
	}
	return nil
}

func appendVertexHead(b []byte, id uint64, set schema.LabelSetID) []byte {
	b = binary.LittleEndian.AppendUint64(b, id)
	b = binary.LittleEndian.AppendUint32(b, uint32(set))
	return append(b, 0)
}

func appendEdgeHead(b []byte, id, start, end uint64) []byte {
	b = binary.LittleEndian.AppendUint64(b, id)
	b = binary.LittleEndian.AppendUint64(b, start)
	b = binary.LittleEndian.AppendUint64(b, end)
	return append(b, 0)
}

// inlineProps returns the property record of a row, or the pointer that stands for it if it lies out of line.
func inlineProps(e schema.Entity, b []byte) (p value.Props, out []byte) {
	n := headOf(e)
	if b[n-1]&flagMapOut == 0 {
		return value.Props(b[n:]), nil
	}
	return nil, b[n:]
}

// merged is the property record that a change makes of an old one. Its slices are reused from row to row.
type merged struct {
	keys []uint32
	vals []value.Value
	last map[schema.KeyID]int // only for long changes
	set  int64                // properties set or removed, as Cypher counts them
}

// longChange is where a linear search for the last entry of a key gives way to a map.
const longChange = 48

func (m *merged) lastOf(p *store.PropRow, k schema.KeyID) int {
	if len(p.Keys) > longChange {
		if i, ok := m.last[k]; ok {
			return i
		}
		return -1
	}
	for i := len(p.Keys) - 1; i >= 0; i-- {
		if p.Keys[i] == k {
			return i
		}
	}
	return -1
}

// apply merges a change into old, keys ascending. Values are views into old and into the change.
func (m *merged) apply(old value.Props, p *store.PropRow) error {
	m.keys, m.vals = m.keys[:0], m.vals[:0]
	if len(p.Keys) > longChange {
		if m.last == nil {
			m.last = make(map[schema.KeyID]int, len(p.Keys))
		}
		clear(m.last)
		for i, k := range p.Keys {
			m.last[k] = i
		}
	}
	for i, n := 0, old.Len(); i < n; i++ {
		k, v := old.At(i)
		if m.lastOf(p, schema.KeyID(k)) >= 0 {
			continue
		}
		if p.Replace {
			m.set++ // removed
			continue
		}
		m.keys, m.vals = append(m.keys, k), append(m.vals, v)
	}
	for i, k := range p.Keys {
		if m.lastOf(p, k) != i {
			continue
		}
		v := p.Vals[i]
		if v.IsNull() {
			if _, had := old.Get(uint32(k)); had {
				m.set++
			}
			continue
		}
		if err := storable(v); err != nil {
			return err
		}
		m.set++
		m.insert(uint32(k), v)
	}
	return nil
}

// insert puts a key that is not there into its place. Changes come in the order of their keys more often than not.
func (m *merged) insert(k uint32, v value.Value) {
	i := len(m.keys)
	m.keys, m.vals = append(m.keys, k), append(m.vals, v)
	for ; i > 0 && m.keys[i-1] > k; i-- {
		m.keys[i], m.vals[i] = m.keys[i-1], m.vals[i-1]
	}
	m.keys[i], m.vals[i] = k, v
}

// get returns the value of a key, null if it is absent.
func (m *merged) get(k schema.KeyID) value.Value {
	lo, hi := 0, len(m.keys)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if m.keys[mid] < uint32(k) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(m.keys) && m.keys[lo] == uint32(k) {
		return m.vals[lo]
	}
	return value.Value{}
}

// storable refuses what no property can be. What the dialects forbid beyond this they have refused above.
func storable(v value.Value) error {
	switch v.Kind() {
	case value.Node, value.Rel, value.Path:
		return dberr.New(dberr.TypeError, "a node, relationship or path cannot be a property value").WithToken("InvalidPropertyType")
	}
	return nil
}

// same reports whether two stored values are the same bytes: what HOT asks of an indexed key.
func same(a, b value.Value) bool {
	return a.Kind() == b.Kind() && a.Word() == b.Word() && bytes.Equal(a.Raw(), b.Raw())
}
