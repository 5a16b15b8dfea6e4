package value

import (
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"math/bits"
	"slices"
)

// The binary form. A value is a tag byte (kind in the low five bits, a code in the high three) and a payload, so it is
// self-delimiting; lists, maps, paths and property records carry a table of end offsets before their data, so one element is
// reached without decoding the others. Everything is little-endian. docs/format/value.md draws it.

const (
	kindMask   = 0x1F
	codeShift  = 5
	tagOut     = 31 // OutOfLine
	floatWide  = 0  // code of a Float in 8 bytes
	floatShort = 1  // code of a Float that a float32 holds exactly
	entityBare = 0
	entityFull = 1
)

var errBytes = errors.New("value: malformed binary form")

// zigzag maps small numbers of either sign to small unsigned ones.
func zigzag(i int64) uint64   { return uint64(i)<<1 ^ uint64(i>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// intCode is the number of payload bytes of a zigzagged integer as a code: 0 to 6 are themselves, 7 is eight bytes.
func intCode(u uint64) byte {
	n := (bits.Len64(u) + 7) / 8
	if n > 6 {
		return 7
	}
	return byte(n)
}

func codeLen(code byte) int {
	if code == 7 {
		return 8
	}
	return int(code)
}

func getUint(b []byte, n int) (u uint64) {
	switch n {
	case 0:
		return 0
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	case 8:
		return binary.LittleEndian.Uint64(b)
	}
	for i := n - 1; i >= 0; i-- {
		u = u<<8 | uint64(b[i])
	}
	return u
}

func appendUint(dst []byte, u uint64, n int) []byte {
	switch n {
	case 0:
		return dst
	case 1:
		return append(dst, byte(u))
	case 2:
		return append(dst, byte(u), byte(u>>8))
	case 3:
		return append(dst, byte(u), byte(u>>8), byte(u>>16))
	case 4:
		return binary.LittleEndian.AppendUint32(dst, uint32(u))
	}
	for range n {
		dst = append(dst, byte(u))
		u >>= 8
	}
	return dst
}

func putUint(b []byte, u uint64, n int) {
	for i := range n {
		b[i] = byte(u)
		u >>= 8
	}
}

// lenCode is the width of a length as a code: none for empty, then 1, 2 or 4 bytes.
func lenCode(n int) (code byte, width int) {
	switch {
	case n == 0:
		return 0, 0
	case n < 1<<8:
		return 1, 1
	case n < 1<<16:
		return 2, 2
	}
	return 3, 4
}

var lenWidth = [8]int{0, 1, 2, 4, -1, -1, -1, -1}

// size is the length of v's binary form.
func size(v Value) int {
	switch v.kind {
	case Null, Bool:
		return 1
	case Int, Date, LocalTime:
		return 1 + codeLen(intCode(zigzag(int64(v.word))))
	case Float:
		if f := v.Float(); float64(float32(f)) == f {
			return 5
		}
		return 9
	case Node, Rel:
		if v.ptr == nil {
			return 9
		}
		return 13 + int(v.n)
	case OutOfLine:
		return 1 + PointerSize
	}
	_, w := lenCode(int(v.n))
	return 1 + w + int(v.n)
}

// AppendValue appends the binary form of v, tag first.
func AppendValue(dst []byte, v Value) []byte {
	switch v.kind {
	case Null:
		return append(dst, byte(Null))
	case Bool:
		return append(dst, byte(Bool)|byte(v.word)<<codeShift)
	case Int, Date, LocalTime:
		u := zigzag(int64(v.word))
		c := intCode(u)
		return appendUint(append(dst, byte(v.kind)|c<<codeShift), u, codeLen(c))
	case Float:
		if f := v.Float(); float64(float32(f)) == f {
			return binary.LittleEndian.AppendUint32(append(dst, byte(Float)|floatShort<<codeShift), math.Float32bits(float32(f)))
		}
		return binary.LittleEndian.AppendUint64(append(dst, byte(Float)), v.word)
	case Node, Rel:
		if v.ptr == nil {
			return binary.LittleEndian.AppendUint64(append(dst, byte(v.kind)), v.word)
		}
		dst = binary.LittleEndian.AppendUint64(append(dst, byte(v.kind)|entityFull<<codeShift), v.word)
		dst = binary.LittleEndian.AppendUint32(dst, v.n)
		return append(dst, v.Raw()...)
	case OutOfLine:
		dst = append(dst, tagOut)
		if v.n != PointerSize {
			return append(dst, make([]byte, PointerSize)...)
		}
		return append(dst, v.Raw()...)
	}
	c, w := lenCode(int(v.n))
	dst = appendUint(append(dst, byte(v.kind)|c<<codeShift), uint64(v.n), w)
	return append(dst, v.Raw()...)
}

// DecodeValue reads one value from the front of b and returns what follows. The value is a view into b: containers are checked
// when they are read, element by element, and a malformed element reads as null (V3); [Validate] checks in depth.
func DecodeValue(b []byte) (v Value, rest []byte, err error) {
	if len(b) == 0 {
		return Value{}, nil, errBytes
	}
	k, code := Kind(b[0]&kindMask), b[0]>>codeShift
	b = b[1:]
	switch k {
	case Null:
		if code != 0 {
			return Value{}, nil, errBytes
		}
		return Value{}, b, nil
	case Bool:
		if code > 1 {
			return Value{}, nil, errBytes
		}
		return Value{kind: Bool, word: uint64(code)}, b, nil
	case Int, Date, LocalTime:
		n := codeLen(code)
		if len(b) < n {
			return Value{}, nil, errBytes
		}
		return Value{kind: k, word: uint64(unzigzag(getUint(b, n)))}, b[n:], nil
	case Float:
		switch {
		case code == floatWide && len(b) >= 8:
			return Value{kind: Float, word: binary.LittleEndian.Uint64(b)}, b[8:], nil
		case code == floatShort && len(b) >= 4:
			return NewFloat(float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))), b[4:], nil
		}
		return Value{}, nil, errBytes
	case Node, Rel:
		if code == entityBare && len(b) >= 8 {
			return Value{kind: k, word: binary.LittleEndian.Uint64(b)}, b[8:], nil
		}
		if code == entityFull && len(b) >= 12 {
			n := uint64(binary.LittleEndian.Uint32(b[8:]))
			if n > 0 && uint64(len(b)-12) >= n {
				return FromBytes(k, binary.LittleEndian.Uint64(b), b[12:12+n:12+n]), b[12+n:], nil
			}
		}
		return Value{}, nil, errBytes
	case tagOut:
		if code != 0 || len(b) < PointerSize {
			return Value{}, nil, errBytes
		}
		return FromBytes(OutOfLine, 0, b[:PointerSize:PointerSize]), b[PointerSize:], nil
	}
	w := lenWidth[code]
	if k >= numKinds || w < 0 || len(b) < w {
		return Value{}, nil, errBytes
	}
	n := getUint(b, w)
	if uint64(len(b)-w) < n {
		return Value{}, nil, errBytes
	}
	end := w + int(n)
	if n == 0 {
		return Value{kind: k}, b[end:], nil
	}
	v = FromBytes(k, 0, b[w:end:end])
	if !fixedLenOK(k, int(n)) {
		return Value{}, nil, errBytes
	}
	return v, b[end:], nil
}

// fixedLenOK checks kinds whose payload has a fixed least length. Readers of these payloads check again, since FromBytes does not.
func fixedLenOK(k Kind, n int) bool {
	switch k {
	case Point:
		return n == 20 || n == 28
	case DateTime:
		return n >= 16
	case LocalDateTime, Time:
		return n == 12
	case Duration:
		return n == 28
	case Numeric:
		return n >= 5
	}
	return true
}

// table is the offset table in front of a list's or map's data: a width byte, the count and an end offset for each element.
type table struct {
	n, w int
	ends []byte
	data []byte
}

func readTable(b []byte) (t table, ok bool) {
	if len(b) == 0 {
		return table{}, true
	}
	w := int(b[0])
	if w != 1 && w != 2 && w != 4 || len(b) < 1+w {
		return table{}, false
	}
	n := getUint(b[1:], w)
	if n > uint64(len(b)-1-w)/uint64(w) {
		return table{}, false
	}
	at := 1 + w + int(n)*w
	return table{n: int(n), w: w, ends: b[1+w : at], data: b[at:]}, true
}

// at returns the bytes of element i, nil if the table lies.
func (t *table) at(i int) []byte {
	if uint(i) >= uint(t.n) {
		return nil
	}
	start := uint64(0)
	if i > 0 {
		start = getUint(t.ends[(i-1)*t.w:], t.w)
	}
	end := getUint(t.ends[i*t.w:], t.w)
	if start > end || end > uint64(len(t.data)) {
		return nil
	}
	return t.data[start:end]
}

// width is the least width that holds both count and data length.
func width(n, data int) int {
	m := max(n, data)
	switch {
	case m < 1<<8:
		return 1
	case m < 1<<16:
		return 2
	}
	return 4
}

func decodeAll(b []byte) Value {
	v, _, err := DecodeValue(b)
	if err != nil {
		return Value{}
	}
	return v
}

// AppendList appends the body of a list: what a List value points to.
func AppendList(dst []byte, elems ...Value) []byte {
	if len(elems) == 0 {
		return dst
	}
	data := 0
	for _, e := range elems {
		data += size(e)
	}
	w := width(len(elems), data)
	dst = appendUint(append(dst, byte(w)), uint64(len(elems)), w)
	at := len(dst)
	dst = appendZeros(dst, len(elems)*w)
	start := len(dst)
	for i, e := range elems {
		dst = AppendValue(dst, e)
		putUint(dst[at+i*w:], uint64(len(dst)-start), w)
	}
	return dst
}

func appendZeros(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, 0)
	}
	return dst
}

// NewList makes a list in fresh memory.
func NewList(elems ...Value) Value { return FromBytes(List, 0, AppendList(nil, elems...)) }

// ListBuilder makes a list of elements that come one by one. The zero ListBuilder is ready; Reset keeps its memory.
type ListBuilder struct {
	data []byte
	ends []uint32
}

// Add appends an element, copying its bytes.
func (b *ListBuilder) Add(v Value) {
	b.data = AppendValue(b.data, v)
	b.ends = append(b.ends, uint32(len(b.data)))
}

// Len is the number of elements so far.
func (b *ListBuilder) Len() int { return len(b.ends) }

// Size is the memory held, for accounting.
func (b *ListBuilder) Size() int { return cap(b.data) + 4*cap(b.ends) }

// Reset empties the builder.
func (b *ListBuilder) Reset() { b.data, b.ends = b.data[:0], b.ends[:0] }

// At returns element i as a view that the next Add may invalidate.
func (b *ListBuilder) At(i int) Value {
	start := uint32(0)
	if i > 0 {
		start = b.ends[i-1]
	}
	return decodeAll(b.data[start:b.ends[i]])
}

// Append appends the body of the list to dst.
func (b *ListBuilder) Append(dst []byte) []byte {
	n := len(b.ends)
	if n == 0 {
		return dst
	}
	w := width(n, len(b.data))
	dst = appendUint(append(dst, byte(w)), uint64(n), w)
	for _, e := range b.ends {
		dst = appendUint(dst, uint64(e), w)
	}
	return append(dst, b.data...)
}

// ListSize is the length of the body of a list of n elements whose binary forms have data bytes together.
func ListSize(n, data int) int {
	if n == 0 {
		return 0
	}
	w := width(n, data)
	return 1 + w + n*w + data
}

// AppendEncodedList appends the body of a list of n elements that exist in binary form: parts are whole elements one after another, data
// bytes together. They must be valid.
func AppendEncodedList(dst []byte, n, data int, parts iter.Seq[[]byte]) []byte {
	if n == 0 {
		return dst
	}
	w := width(n, data)
	dst = appendUint(append(dst, byte(w)), uint64(n), w)
	at := len(dst)
	dst = slices.Grow(dst, n*w+data)[:at+n*w]
	start := len(dst)
	for p := range parts {
		end := len(dst) - start
		dst = append(dst, p...)
		for len(p) > 0 {
			k := encodedLen(p)
			p, end = p[k:], end+k
			if w == 4 {
				binary.LittleEndian.PutUint32(dst[at:], uint32(end))
			} else {
				putUint(dst[at:], uint64(end), w)
			}
			at += w
		}
	}
	return dst
}

// encodedLen is the length of the value at the front of b, which is valid.
func encodedLen(b []byte) int {
	switch Kind(b[0] & kindMask) {
	case Null, Bool:
		return 1
	case Int, Date, LocalTime:
		return 1 + codeLen(b[0]>>codeShift)
	}
	_, rest, err := DecodeValue(b)
	if err != nil {
		panic("value: own encoding does not decode")
	}
	return len(b) - len(rest)
}

// List returns the list in fresh memory.
func (b *ListBuilder) List() Value {
	n := len(b.ends)
	if n == 0 {
		return Value{kind: List}
	}
	w := width(n, len(b.data))
	return FromBytes(List, 0, b.Append(make([]byte, 0, 1+w+n*w+len(b.data))))
}

// Len is the number of elements of a List or Path, or of entries of a Map; 0 for other kinds.
func (v Value) Len() int {
	switch v.kind {
	case List, Map, Path:
		t, _ := readTable(v.Raw())
		return t.n
	}
	return 0
}

// At returns element i of a List or Path; null if there is none.
func (v Value) At(i int) Value {
	if v.kind != List && v.kind != Path {
		return Value{}
	}
	t, _ := readTable(v.Raw())
	return decodeAll(t.at(i))
}

// All yields the elements of a List or Path, or the values of a Map, in order.
func (v Value) All() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if v.kind == Map {
			for i := range v.Len() {
				if _, e := v.Entry(i); !yield(i, e) {
					return
				}
			}
			return
		}
		if v.kind != List && v.kind != Path {
			return
		}
		t, _ := readTable(v.Raw())
		for i := range t.n {
			if !yield(i, decodeAll(t.at(i))) {
				return
			}
		}
	}
}

// entry splits the bytes of a map entry.
func splitEntry(b []byte) (key string, val []byte) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)-w) {
		return "", nil
	}
	end := w + int(n)
	return NewStringBytes(b[w:end]).Str(), b[end:]
}

// NewStringBytes makes a String from bytes without copying; they must be UTF-8 and must not change.
func NewStringBytes(b []byte) Value { return FromBytes(String, 0, b) }

// Entry returns key and value i of a Map, keys ascending by (length, bytes). The key is a view.
func (v Value) Entry(i int) (string, Value) {
	if v.kind != Map {
		return "", Value{}
	}
	t, _ := readTable(v.Raw())
	k, b := splitEntry(t.at(i))
	return k, decodeAll(b)
}

// KeyLess orders keys of maps: by length, then by bytes.
func KeyLess(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// Get returns the value of a key of a Map by binary search.
func (v Value) Get(key string) (Value, bool) {
	if v.kind != Map {
		return Value{}, false
	}
	t, _ := readTable(v.Raw())
	lo, hi := 0, t.n
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		k, b := splitEntry(t.at(mid))
		switch {
		case k == key:
			return decodeAll(b), true
		case KeyLess(k, key):
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return Value{}, false
}

// Validate checks the binary form of v in depth: what came from a client or from a file that is being checked.
func Validate(v Value) error { return validate(v, 0) }

// maxDepth bounds the nesting of values from outside (rules C12).
const maxDepth = 1000

func validate(v Value, depth int) error {
	if depth > maxDepth {
		return errBytes
	}
	whole := func(b []byte) error {
		e, rest, err := DecodeValue(b)
		if err != nil || len(rest) != 0 {
			return errBytes
		}
		return validate(e, depth+1)
	}
	switch v.kind {
	case List, Path, Map:
		t, ok := readTable(v.Raw())
		if !ok {
			return errBytes
		}
		prev, used := "", 0
		for i := range t.n {
			b := t.at(i)
			if v.kind == Map {
				k, val := splitEntry(b)
				if val == nil || i > 0 && !KeyLess(prev, k) {
					return errBytes
				}
				prev = k
				if err := whole(val); err != nil {
					return err
				}
			} else if err := whole(b); err != nil {
				return err
			}
			used += len(b)
		}
		if used != len(t.data) {
			return errBytes
		}
		if v.kind == Path {
			if t.n%2 == 0 {
				return errBytes
			}
			for i, e := range v.All() {
				if want := Node + Kind(i%2); e.kind != want {
					return errBytes
				}
			}
		}
	case Node, Rel:
		if v.ptr == nil {
			return nil
		}
		return validateEntity(v, depth)
	case Numeric:
		if _, ok := v.decimal(); !ok {
			return errBytes
		}
	case Point:
		if !validPoint(v) {
			return errBytes
		}
	case DateTime, LocalDateTime, Time, Duration:
		if !fixedLenOK(v.kind, int(v.n)) {
			return errBytes
		}
	}
	return nil
}

// Clone returns v with bytes of its own.
func (v Value) Clone() Value {
	if v.ptr == nil || v.n == 0 {
		return v
	}
	return FromBytes(v.kind, v.word, append(make([]byte, 0, v.n), v.Raw()...))
}

// NewBytes makes a Bytes value without copying.
func NewBytes(b []byte) Value { return FromBytes(Bytes, 0, b) }

// PointerSize is the length of the pointer that stands for a value out of line. Only the store knows what is in it.
const PointerSize = 23

// NewOutOfLine makes the value that a property record keeps for one stored in chunks (rules B13), a view of its pointer.
func NewOutOfLine(ptr []byte) Value { return FromBytes(OutOfLine, 0, ptr) }
