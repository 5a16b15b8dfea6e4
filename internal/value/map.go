package value

import (
	"encoding/binary"
	"sort"
)

// MapBuilder makes maps. Keys may come in any order; the last of equal keys wins. Reset keeps its memory.
type MapBuilder struct {
	keys   []string
	vals   []Value
	sorted bool // keys are strictly ascending so far
}

// NewMapBuilder returns an empty builder.
func NewMapBuilder() *MapBuilder { return &MapBuilder{sorted: true} }

// Size is the length of the map so far.
func (b *MapBuilder) Size() int {
	n := 0
	for i, k := range b.keys {
		n += len(k) + size(b.vals[i]) + 8
	}
	return n
}

// Reset empties the builder.
func (b *MapBuilder) Reset() {
	clear(b.keys)
	clear(b.vals)
	b.keys, b.vals, b.sorted = b.keys[:0], b.vals[:0], true
}

// Put adds an entry. Key and value must stay unchanged until the map is made.
func (b *MapBuilder) Put(key string, v Value) {
	if n := len(b.keys); n == 0 {
		b.sorted = true
	} else if b.sorted && !KeyLess(b.keys[n-1], key) {
		b.sorted = false
	}
	b.keys = append(b.keys, key)
	b.vals = append(b.vals, v)
}

// Len is the number of entries put.
func (b *MapBuilder) Len() int { return len(b.keys) }

type byKey struct{ *MapBuilder }

func (s byKey) Less(i, j int) bool { return KeyLess(s.keys[i], s.keys[j]) }
func (s byKey) Swap(i, j int) {
	s.keys[i], s.keys[j] = s.keys[j], s.keys[i]
	s.vals[i], s.vals[j] = s.vals[j], s.vals[i]
}

func (b *MapBuilder) normalise() {
	if b.sorted {
		return
	}
	sort.Stable(byKey{b})
	n := 0
	for i := range b.keys {
		if i+1 < len(b.keys) && b.keys[i] == b.keys[i+1] {
			continue // a later entry of the same key follows
		}
		b.keys[n], b.vals[n] = b.keys[i], b.vals[i]
		n++
	}
	b.keys, b.vals, b.sorted = b.keys[:n], b.vals[:n], true
}

// Append appends the body of the map: what a Map value points to.
func (b *MapBuilder) Append(dst []byte) []byte {
	b.normalise()
	n := len(b.keys)
	if n == 0 {
		return dst
	}
	data := 0
	for i, k := range b.keys {
		data += uvarintLen(uint64(len(k))) + len(k) + size(b.vals[i])
	}
	w := width(n, data)
	dst = appendUint(append(dst, byte(w)), uint64(n), w)
	at := len(dst)
	dst = appendZeros(dst, n*w)
	start := len(dst)
	for i, k := range b.keys {
		dst = append(binary.AppendUvarint(dst, uint64(len(k))), k...)
		dst = AppendValue(dst, b.vals[i])
		putUint(dst[at+i*w:], uint64(len(dst)-start), w)
	}
	return dst
}

// Map returns the map in fresh memory.
func (b *MapBuilder) Map() Value { return FromBytes(Map, 0, b.Append(nil)) }

func uvarintLen(u uint64) int {
	n := 1
	for u >= 0x80 {
		u >>= 7
		n++
	}
	return n
}

// NewMap makes a map of alternating keys and values; it is a convenience for tests and constant tables.
func NewMap(keys []string, vals []Value) Value {
	b := NewMapBuilder()
	for i, k := range keys {
		b.Put(k, vals[i])
	}
	return b.Map()
}
