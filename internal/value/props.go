package value

import (
	"bytes"
	"math/bits"
	"sort"
)

// Props is the stored record of an entity's properties: interned keys ascending, each with one value, offsets first, so that
// one key is read without touching the others. The empty record has no bytes. A value kept in chunks reads as OutOfLine.
//
//	flags u8 (log2 of the widths of: count bits 0-1, keys bits 2-3, offsets bits 4-5) | count | keys | end offsets | data
type Props []byte

type propTable struct {
	n, kw, ow int
	keys      []byte
	ends      []byte
	data      []byte
}

func (p Props) table() (t propTable) {
	if len(p) == 0 {
		return
	}
	f := p[0]
	cw, kw, ow := 1<<(f&3), 1<<(f>>2&3), 1<<(f>>4&3)
	if f>>6 != 0 || cw > 4 || kw > 4 || ow > 4 || len(p) < 1+cw {
		return
	}
	n := getUint(p[1:], cw)
	if n > uint64(len(p)-1-cw)/uint64(kw+ow) {
		return
	}
	keys := 1 + cw
	ends := keys + int(n)*kw
	data := ends + int(n)*ow
	return propTable{n: int(n), kw: kw, ow: ow, keys: p[keys:ends], ends: p[ends:data], data: p[data:]}
}

func (t *propTable) key(i int) uint32 { return uint32(getUint(t.keys[i*t.kw:], t.kw)) }

func (t *propTable) value(i int) Value {
	start := uint64(0)
	if i > 0 {
		start = getUint(t.ends[(i-1)*t.ow:], t.ow)
	}
	end := getUint(t.ends[i*t.ow:], t.ow)
	if start > end || end > uint64(len(t.data)) {
		return Value{}
	}
	return decodeAll(t.data[start:end])
}

// Len is the number of properties.
func (p Props) Len() int { t := p.table(); return t.n }

// Get returns the value of a key as a view.
func (p Props) Get(key uint32) (Value, bool) {
	t := p.table()
	if t.kw == 1 { // the common record: at most 255 interned keys in the graph
		if key > 255 {
			return Value{}, false
		}
		if i := bytes.IndexByte(t.keys, byte(key)); i >= 0 {
			return t.value(i), true
		}
		return Value{}, false
	}
	lo, hi := 0, t.n
	for hi-lo > 8 {
		mid := int(uint(lo+hi) >> 1)
		if t.key(mid) <= key {
			lo = mid
		} else {
			hi = mid
		}
	}
	for ; lo < hi; lo++ {
		if t.key(lo) == key {
			return t.value(lo), true
		}
	}
	return Value{}, false
}

// At returns property i, keys ascending.
func (p Props) At(i int) (uint32, Value) {
	t := p.table()
	if uint(i) >= uint(t.n) {
		return 0, Value{}
	}
	return t.key(i), t.value(i)
}

// Validate checks the record in depth.
func (p Props) Validate() error {
	if len(p) == 0 {
		return nil
	}
	t := p.table()
	if t.n == 0 {
		return errBytes
	}
	start := uint64(0)
	for i := range t.n {
		if i > 0 && t.key(i-1) >= t.key(i) {
			return errBytes
		}
		end := getUint(t.ends[i*t.ow:], t.ow)
		if start > end || end > uint64(len(t.data)) {
			return errBytes
		}
		v, rest, err := DecodeValue(t.data[start:end])
		if err != nil || len(rest) != 0 || v.IsNull() {
			return errBytes
		}
		if err := Validate(v); err != nil {
			return err
		}
		start = end
	}
	if start != uint64(len(t.data)) {
		return errBytes
	}
	return nil
}

type propSort struct {
	keys []uint32
	vals []Value
}

func (s propSort) Len() int           { return len(s.keys) }
func (s propSort) Less(i, j int) bool { return s.keys[i] < s.keys[j] }
func (s propSort) Swap(i, j int) {
	s.keys[i], s.keys[j] = s.keys[j], s.keys[i]
	s.vals[i], s.vals[j] = s.vals[j], s.vals[i]
}

// AppendProps appends a record. Keys may come in any order; the last of equal keys wins and nulls are dropped. The arguments
// are not changed. Node, relationship and path values have no place in a record; the caller has refused them.
func AppendProps(dst []byte, keys []uint32, vals []Value) []byte {
	ordered := true
	for i := range keys {
		if vals[i].IsNull() || i > 0 && keys[i-1] >= keys[i] {
			ordered = false
			break
		}
	}
	if !ordered {
		s := propSort{append([]uint32(nil), keys...), append([]Value(nil), vals...)}
		sort.Stable(s)
		n := 0
		for i := range s.keys {
			if i+1 < len(s.keys) && s.keys[i] == s.keys[i+1] || s.vals[i].IsNull() {
				continue
			}
			s.keys[n], s.vals[n] = s.keys[i], s.vals[i]
			n++
		}
		keys, vals = s.keys[:n], s.vals[:n]
	}
	n := len(keys)
	if n == 0 {
		return dst
	}
	data := 0
	for _, v := range vals {
		data += size(v)
	}
	cw, kw, ow := width(n, 0), width(int(keys[n-1]), 0), width(data, 0)
	log := func(w int) byte { return byte(bits.TrailingZeros8(uint8(w))) }
	dst = appendUint(append(dst, log(cw)|log(kw)<<2|log(ow)<<4), uint64(n), cw)
	for _, k := range keys {
		dst = appendUint(dst, uint64(k), kw)
	}
	at := len(dst)
	dst = appendZeros(dst, n*ow)
	start := len(dst)
	for i, v := range vals {
		dst = AppendValue(dst, v)
		putUint(dst[at+i*ow:], uint64(len(dst)-start), ow)
	}
	return dst
}
