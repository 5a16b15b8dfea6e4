package vec

import "github.com/hedgerowdb/hedgerow/internal/value"

// NoRow in a gather list stands for a row of null.
const NoRow = 0xFFFF

// Gather makes c the rows idx of src, in that order; NoRow gives null. c shares src's arena: it is valid as long as src is, and nothing
// may be appended to it.
func (c *Column) Gather(src *Column, idx []uint16) {
	c.size(len(idx))
	kinds, words := c.Kinds, c.Words
	c.uniform = mixed
	if k, ok := src.Uniform(); ok {
		c.uniform = k
		for i, r := range idx {
			if r == NoRow {
				kinds[i], words[i] = value.Null, 0
				if k != value.Null {
					c.uniform = mixed
				}
				continue
			}
			kinds[i], words[i] = k, src.Words[r]
		}
	} else {
		for i, r := range idx {
			if r == NoRow {
				kinds[i], words[i] = value.Null, 0
				continue
			}
			kinds[i], words[i] = src.Kinds[r], src.Words[r]
		}
	}
	c.Arena, c.shares = src.Arena[:len(src.Arena):len(src.Arena)], sameArena
}

// size gives c n rows of undefined content.
func (c *Column) size(n int) {
	c.release()
	if cap(c.Kinds) < n || cap(c.Words) < n {
		m := max(n, 2*cap(c.Kinds))
		if m > n && m < 64 {
			m = 64
		}
		c.Kinds, c.Words = make([]value.Kind, m), make([]uint64, m)
	}
	c.Kinds, c.Words = c.Kinds[:n], c.Words[:n]
}

// Alias makes c the rows from … to-1 of src without copying. c is valid as long as src is; nothing may be appended to it.
func (c *Column) Alias(src *Column, from, to int) {
	c.Kinds, c.Words = src.Kinds[from:to:to], src.Words[from:to:to]
	c.Arena, c.shares = src.Arena[:len(src.Arena):len(src.Arena)], sameAll
	c.uniform = src.uniform
}

// Repeat makes c n times row r of src. c shares src's arena, as with Gather.
func (c *Column) Repeat(src *Column, r, n int) {
	c.size(n)
	k, w := src.Kinds[r], src.Words[r]
	for i := range n {
		c.Kinds[i], c.Words[i] = k, w
	}
	c.uniform = k
	c.Arena, c.shares = src.Arena[:len(src.Arena):len(src.Arena)], sameArena
}

// Nulls makes c n rows of null.
func (c *Column) Nulls(n int) {
	c.size(n)
	clear(c.Kinds)
	clear(c.Words)
	c.uniform, c.Arena = value.Null, c.Arena[:0]
}

// Fill makes c n rows of kind k, whose words the caller fills in. k must live in its word.
func (c *Column) Fill(k value.Kind, n int) []uint64 {
	c.size(n)
	if n > 0 {
		c.Kinds[0] = k
		for i := 1; i < n; i *= 2 {
			copy(c.Kinds[i:], c.Kinds[:i])
		}
	}
	c.uniform, c.Arena = k, c.Arena[:0]
	return c.Words
}

// AppendFrom adds row r of src, copying its bytes.
func (c *Column) AppendFrom(src *Column, r int) {
	k := src.Kinds[r]
	if InBytes(k) {
		c.AppendBytes(k, src.Bytes(r))
		return
	}
	c.AppendWord(k, src.Words[r])
}

// AppendRows adds the rows idx of src (nil means all), copying their bytes.
func (c *Column) AppendRows(src *Column, idx []uint16) {
	if idx != nil {
		for _, r := range idx {
			c.AppendFrom(src, int(r))
		}
		return
	}
	n, k, ok := len(c.Kinds), src.uniform, len(src.Kinds) > 0 && src.uniform != mixed
	if ok && !InBytes(k) {
		c.note(k)
		c.Kinds, c.Words = append(c.Kinds, src.Kinds...), append(c.Words, src.Words...)
		if n > 0 && c.uniform != k {
			c.uniform = mixed
		}
		return
	}
	for r := range src.Kinds {
		c.AppendFrom(src, r)
	}
}

// Retype sets rows as decoded by someone who filled Kinds, Words and Arena directly, and notes whether they are uniform.
func (c *Column) Retype() {
	c.uniform = value.Null
	for i, k := range c.Kinds {
		if i == 0 {
			c.uniform = k
		} else if c.uniform != k {
			c.uniform = mixed
			return
		}
	}
}

// Poison overwrites the content of c, to catch readers of a batch that is no longer valid.
func (c *Column) Poison() {
	for i := range c.Kinds {
		c.Kinds[i], c.Words[i] = value.Bool, 0xDEADDEAD
	}
	for i := range c.Arena {
		c.Arena[i] = 0xDD
	}
	c.uniform = mixed
}
