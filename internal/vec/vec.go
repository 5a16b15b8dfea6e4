// Package vec holds columns: pointer-free vectors of values that flow through the executor in batches.
//
// A batch is at most [MaxRows] rows. A [Column] keeps a kind and a word per row and one byte arena for what does not fit a
// word, so the garbage collector never looks inside. Kernels test [Column.Uniform] once and then loop over Words.
//
// C1: the producer owns a batch; it is valid until the producer's next call. Who keeps rows copies them.
// C2: Words[i] of a kind that lives in bytes is offset<<32 | length into Arena; entity columns hold graphids.
package vec

import (
	"slices"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// MaxRows bounds a batch (rules: at most 1,024 rows).
const MaxRows = 1024

// Column is one column of a batch. Kinds and Words have one element per row.
type Column struct {
	Kinds []value.Kind
	Words []uint64
	Arena []byte

	// uniform is the kind shared by every row, or mixed. Appends keep it exact.
	uniform value.Kind
	shares  sharing
}

// sharing says what of a column is another's memory, which must not be written or kept for later use.
type sharing uint8

const (
	ownAll    sharing = iota
	sameArena         // Arena is another column's
	sameAll           // Kinds and Words too
)

// release gives up what is another column's, before c is filled again.
func (c *Column) release() {
	switch c.shares {
	case sameAll:
		c.Kinds, c.Words, c.Arena = nil, nil, nil
	case sameArena:
		c.Arena = nil
	}
	c.shares = ownAll
}

const mixed value.Kind = 0xFF

// Len returns the number of rows.
func (c *Column) Len() int { return len(c.Kinds) }

// Reset empties the column and keeps its memory.
func (c *Column) Reset() {
	c.release()
	c.Kinds, c.Words, c.Arena, c.uniform = c.Kinds[:0], c.Words[:0], c.Arena[:0], value.Null
}

// Uniform returns the kind of every row, and false if kinds differ or the column is empty. All null is uniform Null.
func (c *Column) Uniform() (value.Kind, bool) {
	return c.uniform, len(c.Kinds) > 0 && c.uniform != mixed
}

func (c *Column) note(k value.Kind) {
	if len(c.Kinds) == 0 {
		c.uniform = k
	} else if c.uniform != k {
		c.uniform = mixed
	}
}

// AppendNull adds a null row.
func (c *Column) AppendNull() { c.AppendWord(value.Null, 0) }

// AppendWord adds a value that lives in its word (see [value.FromWord]).
func (c *Column) AppendWord(k value.Kind, w uint64) {
	c.note(k)
	c.Kinds = append(c.Kinds, k)
	c.Words = append(c.Words, w)
}

// AppendBytes adds a value that lives in bytes and copies them into the arena.
func (c *Column) AppendBytes(k value.Kind, b []byte) {
	if uint64(len(c.Arena))+uint64(len(b)) >= 1<<32 {
		panic(dberr.New(dberr.OutOfMemory, "the values of a batch exceed 4 GiB")) // C2 has 32 bits; a statement's limit is far below
	}
	c.note(k)
	c.Kinds = append(c.Kinds, k)
	c.Words = append(c.Words, uint64(len(c.Arena))<<32|uint64(len(b)))
	c.Arena = append(c.Arena, b...)
}

// AppendMade adds a value that lives in bytes, which fill appends to the arena: n of them, for which there is room.
func (c *Column) AppendMade(k value.Kind, n int, fill func(dst []byte) []byte) {
	at := len(c.Arena)
	if uint64(at)+uint64(n) >= 1<<32 {
		panic(dberr.New(dberr.OutOfMemory, "the values of a batch exceed 4 GiB"))
	}
	c.Arena = fill(slices.Grow(c.Arena, n))
	c.note(k)
	c.Kinds = append(c.Kinds, k)
	c.Words = append(c.Words, uint64(at)<<32|uint64(len(c.Arena)-at))
}

// Append adds any value. A materialised entity is kept as its bare reference.
func (c *Column) Append(v value.Value) {
	if InBytes(v.Kind()) {
		c.AppendBytes(v.Kind(), v.Raw())
		return
	}
	c.AppendWord(v.Kind(), v.Word())
}

// Value returns row i as a view into the column.
func (c *Column) Value(i int) value.Value {
	k := c.Kinds[i]
	if !InBytes(k) {
		return value.FromWord(k, c.Words[i])
	}
	off, n := c.Words[i]>>32, c.Words[i]&0xFFFFFFFF
	b := c.Arena[off : off+n : off+n]
	if k >= nodeFull {
		return whole(k, b)
	}
	return value.FromBytes(k, 0, b)
}

// Bytes returns the bytes of row i, whose kind must live in bytes.
func (c *Column) Bytes(i int) []byte {
	off, n := c.Words[i]>>32, c.Words[i]&0xFFFFFFFF
	return c.Arena[off : off+n : off+n]
}

// IsNull reports whether row i is null.
func (c *Column) IsNull(i int) bool { return c.Kinds[i] == value.Null }

// Size returns the bytes that the column holds, for accounting.
func (c *Column) Size() int { return cap(c.Kinds) + 8*cap(c.Words) + cap(c.Arena) }

// InBytes reports whether values of the kind live in the arena.
func InBytes(k value.Kind) bool {
	switch k {
	case value.Null, value.Bool, value.Int, value.Float, value.Date, value.LocalTime, value.Node, value.Rel:
		return false
	}
	return true
}

// Held is Size without what is another column's.
func (c *Column) Held() int {
	switch c.shares {
	case sameAll:
		return 0
	case sameArena:
		return cap(c.Kinds) + 8*cap(c.Words)
	}
	return c.Size()
}
