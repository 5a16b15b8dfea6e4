package vec

import (
	"encoding/binary"

	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Kinds of rows that hold a whole entity: its graphid in 8 bytes, then its materialised form. They exist inside columns only; Value gives
// the Node or Rel that they stand for.
const (
	nodeFull value.Kind = 0xF1
	relFull  value.Kind = 0xF2
)

// AppendWhole is Append that keeps what a materialised entity carries. SQL's columns are filled so: they outlive the graph that they came from.
func (c *Column) AppendWhole(v value.Value) {
	if !v.Materialised() {
		c.Append(v)
		return
	}
	k := nodeFull
	if v.Kind() == value.Rel {
		k = relFull
	}
	c.note(k)
	raw := v.Raw()
	c.Kinds = append(c.Kinds, k)
	c.Words = append(c.Words, uint64(len(c.Arena))<<32|uint64(8+len(raw)))
	c.Arena = binary.LittleEndian.AppendUint64(c.Arena, v.ID())
	c.Arena = append(c.Arena, raw...)
}

// whole returns the entity that a row of kind nodeFull or relFull stands for.
func whole(k value.Kind, b []byte) value.Value {
	kind := value.Node
	if k == relFull {
		kind = value.Rel
	}
	return value.FromBytes(kind, binary.LittleEndian.Uint64(b), b[8:])
}
