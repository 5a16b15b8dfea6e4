package packstream

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Decoder reads values from the bytes of one message. The values it returns may point into them.
//
// Bytes that are no PackStream give [dberr.ProtocolViolation]; well-formed values that mean nothing, as a date time in a zone that does not
// exist, give another code, and the decoder goes on behind them.
type Decoder struct {
	b   []byte
	at  int
	bad error // first value that means nothing
}

// NewDecoder reads from b.
func NewDecoder(b []byte) *Decoder { return &Decoder{b: b} }

// Rest returns the number of bytes left.
func (d *Decoder) Rest() int { return len(d.b) - d.at }

func malformed(format string, args ...any) error {
	return dberr.New(dberr.ProtocolViolation, format, args...)
}

var errShort = malformed("the message ends within a value")

func (d *Decoder) take(n int) ([]byte, error) {
	if n > d.Rest() {
		return nil, errShort
	}
	b := d.b[d.at : d.at+n]
	d.at += n
	return b, nil
}

func (d *Decoder) uint(width int) (uint64, error) {
	b, err := d.take(width)
	if err != nil {
		return 0, err
	}
	switch width {
	case 1:
		return uint64(b[0]), nil
	case 2:
		return uint64(binary.BigEndian.Uint16(b)), nil
	case 4:
		return uint64(binary.BigEndian.Uint32(b)), nil
	}
	return binary.BigEndian.Uint64(b), nil
}

// length reads a length of so many bytes; each of the things that it counts takes at least one byte (K1).
func (d *Decoder) length(width int) (int, error) {
	n, err := d.uint(width)
	if err != nil {
		return 0, err
	}
	if n > uint64(d.Rest()) {
		return 0, errShort
	}
	return int(n), nil
}

// Struct reads the head of a structure.
func (d *Decoder) Struct() (fields int, tag byte, err error) {
	b, err := d.take(2)
	if err != nil {
		return 0, 0, err
	}
	if b[0]&0xF0 != tinyStruct {
		return 0, 0, malformed("a structure was expected, found the marker %#02x", b[0])
	}
	return int(b[0] & 0x0F), b[1], nil
}

// Value reads one value.
func (d *Decoder) Value() (value.Value, error) {
	v, err := d.value(0)
	if err == nil && d.bad != nil {
		err, d.bad = d.bad, nil
	}
	return v, err
}

func (d *Decoder) value(depth int) (value.Value, error) {
	if depth > MaxDepth {
		return value.Value{}, malformed("a value nests deeper than %d levels", MaxDepth)
	}
	head, err := d.take(1)
	if err != nil {
		return value.Value{}, err
	}
	m := head[0]
	switch {
	case m <= 0x7F || m >= 0xF0:
		return value.NewInt(int64(int8(m))), nil
	case m&0xF0 == tinyString:
		return d.text(int(m & 0x0F))
	case m&0xF0 == tinyList:
		return d.list(int(m&0x0F), depth)
	case m&0xF0 == tinyMap:
		return d.dict(int(m&0x0F), depth)
	case m&0xF0 == tinyStruct:
		d.at--
		return d.structure(depth)
	}
	switch m {
	case null:
		return value.Value{}, nil
	case false_, true_:
		return value.NewBool(m == true_), nil
	case float64Mark:
		u, err := d.uint(8)
		return value.NewFloat(math.Float64frombits(u)), err
	case int8Mark:
		u, err := d.uint(1)
		return value.NewInt(int64(int8(u))), err
	case int16Mark:
		u, err := d.uint(2)
		return value.NewInt(int64(int16(u))), err
	case int32Mark:
		u, err := d.uint(4)
		return value.NewInt(int64(int32(u))), err
	case int64Mark:
		u, err := d.uint(8)
		return value.NewInt(int64(u)), err
	}
	first := m &^ 3 // the marker of the one-byte length
	width := 1 << (m & 3)
	if width > 4 || first != bytes8 && first != string8 && first != list8 && first != map8 {
		return value.Value{}, malformed("%#02x marks no value", m)
	}
	n, err := d.length(width)
	if err != nil {
		return value.Value{}, err
	}
	switch first {
	case bytes8:
		b, err := d.take(n)
		return value.NewBytes(b), err
	case string8:
		return d.text(n)
	case list8:
		return d.list(n, depth)
	}
	return d.dict(n, depth)
}

func (d *Decoder) text(n int) (value.Value, error) {
	b, err := d.take(n)
	if err != nil {
		return value.Value{}, err
	}
	if !utf8.Valid(b) {
		return value.Value{}, malformed("a string is not valid UTF-8")
	}
	return value.NewStringBytes(b), nil
}

func (d *Decoder) list(n, depth int) (value.Value, error) {
	if n > d.Rest() {
		return value.Value{}, errShort
	}
	var b value.ListBuilder
	for range n {
		v, err := d.value(depth + 1)
		if err != nil {
			return value.Value{}, err
		}
		b.Add(v)
	}
	return b.List(), nil
}

func (d *Decoder) dict(n, depth int) (value.Value, error) {
	if n > d.Rest() {
		return value.Value{}, errShort
	}
	b := value.NewMapBuilder()
	for range n {
		key, err := d.key()
		if err != nil {
			return value.Value{}, err
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return value.Value{}, err
		}
		b.Put(key, v)
	}
	m := b.Map()
	if m.Len() != n {
		return value.Value{}, malformed("a map names a key twice")
	}
	return m, nil
}

func (d *Decoder) key() (string, error) {
	head, err := d.take(1)
	if err != nil {
		return "", err
	}
	n := int(head[0] & 0x0F)
	if m := head[0]; m&0xF0 != tinyString {
		if m < string8 || m > string32 {
			return "", malformed("a map's key is no string: marker %#02x", m)
		}
		if n, err = d.length(1 << (m & 3)); err != nil {
			return "", err
		}
	}
	k, err := d.text(n)
	return k.Text(), err
}

// structure reads a temporal value or a point. Entities are results, never parameters.
func (d *Decoder) structure(depth int) (value.Value, error) {
	n, tag, err := d.Struct()
	if err != nil {
		return value.Value{}, err
	}
	var f [8]value.Value
	for i := range n {
		v, err := d.value(depth + 1)
		if err != nil {
			return value.Value{}, err
		}
		if i < len(f) {
			f[i] = v
		}
	}
	shape, ok := shapes[tag]
	switch {
	case !ok:
		return value.Value{}, malformed("structures with the tag %#02x are not known", tag)
	case shape == "":
		d.complain(dberr.New(dberr.TypeError, "a node, relationship or path cannot be a parameter").
			WithToken("InvalidParameterUse").WithHint("Give its id or its properties instead."))
		return value.Value{}, nil
	case n != len(shape):
		return value.Value{}, malformed("a structure with the tag %q has %d fields, not %d", tag, len(shape), n)
	}
	for i, k := range shape {
		want := map[rune]value.Kind{'i': value.Int, 'f': value.Float, 's': value.String}[k]
		if f[i].Kind() != want {
			return value.Value{}, malformed("field %d of a structure with the tag %q is no %v", i+1, tag, want)
		}
	}
	v, err := scalar(tag, f)
	if err != nil {
		d.complain(err)
	}
	return v, nil
}

// complain remembers that a well-formed value means nothing.
func (d *Decoder) complain(err error) {
	if d.bad == nil {
		d.bad = err
	}
}

// shapes are the fields of the structures that may be parameters: i integer, f float, s string; "" for those that may not.
var shapes = map[byte]string{
	tagNode: "", tagRel: "", tagUnboundRel: "", tagPath: "",
	tagDate: "i", tagTime: "ii", tagLocalTime: "i", tagLocalDateTime: "ii",
	tagDateTime: "iii", tagZonedDateTime: "iis", tagOldDateTime: "iii", tagOldZonedDateTime: "iis",
	tagDuration: "iiii", tagPoint2: "iff", tagPoint3: "ifff",
}

const (
	dayNanos  = 86400 * 1_000_000_000
	maxOffset = 18 * 3600
	// years -999,999,999 to 999,999,999, as days and seconds from 1970-01-01
	minDay, maxDay = -365_243_219_162, 365_241_780_471
	minSec, maxSec = minDay * 86400, maxDay*86400 + 86399
)

func within(what string, i, lo, hi int64) error {
	if i < lo || i > hi {
		return dberr.New(dberr.ArgumentError, "%s %d is not in %d … %d", what, i, lo, hi).WithToken("InvalidArgumentValue")
	}
	return nil
}

func scalar(tag byte, f [8]value.Value) (value.Value, error) {
	i := func(k int) int64 { return f[k].Int() }
	var errs [3]error
	var build func() (value.Value, error)
	switch tag {
	case tagDate:
		errs[0] = within("day", i(0), minDay, maxDay)
		build = func() (value.Value, error) { return value.NewDate(i(0)), nil }
	case tagLocalTime:
		errs[0] = within("nanosecond", i(0), 0, dayNanos-1)
		build = func() (value.Value, error) { return value.NewLocalTime(i(0)), nil }
	case tagTime:
		errs[0], errs[1] = within("nanosecond", i(0), 0, dayNanos-1), within("offset", i(1), -maxOffset, maxOffset)
		build = func() (value.Value, error) { return value.NewTime(i(0), int32(i(1))), nil }
	case tagDuration:
		errs[0] = within("nanosecond", i(3), -math.MaxInt64, math.MaxInt64)
		build = func() (value.Value, error) { return value.NewDuration(i(0), i(1), i(2), i(3)), nil }
	case tagPoint2, tagPoint3:
		return point(f, int(tag-tagPoint2)+2)
	default:
		margin := int64(0)
		if tag == tagOldDateTime || tag == tagOldZonedDateTime { // the local clock's seconds
			margin = maxOffset
		}
		errs[0], errs[1] = within("second", i(0), minSec-margin, maxSec+margin), within("nanosecond", i(1), 0, 999_999_999)
		if f[2].Kind() == value.Int {
			errs[2] = within("offset", i(2), -maxOffset, maxOffset)
		}
		build = func() (value.Value, error) { return dateTime(tag, i(0), uint32(i(1)), f[2]) }
	}
	for _, err := range errs {
		if err != nil {
			return value.Value{}, err
		}
	}
	return build()
}

func dateTime(tag byte, sec int64, ns uint32, zone value.Value) (value.Value, error) {
	switch tag {
	case tagLocalDateTime:
		return value.NewLocalDateTime(sec, ns), nil
	case tagDateTime:
		return value.NewDateTime(sec, ns, int32(zone.Int()), ""), nil
	case tagOldDateTime:
		sec -= zone.Int()
		return value.NewDateTime(sec, ns, int32(zone.Int()), ""), within("second", sec, minSec, maxSec)
	}
	loc, name, err := value.LoadZone(zone.Str())
	if err != nil {
		err := dberr.New(dberr.ArgumentError, "there is no time zone %q", zone.Str()).WithToken("InvalidArgumentValue")
		if zone.Str() == "Local" { // what Go calls the zone of the machine that it runs on
			err = err.WithHint("Send the time in a zone with a name that is the same everywhere, as t.UTC() in Go.")
		}
		return value.Value{}, err
	}
	var off int32
	if tag == tagOldZonedDateTime {
		off = value.OffsetAtLocal(loc, sec)
		sec -= int64(off)
	} else {
		off = value.OffsetAt(loc, sec)
	}
	return value.NewDateTime(sec, ns, off, name), within("second", sec, minSec, maxSec)
}

func point(f [8]value.Value, n int) (value.Value, error) {
	srid := f[0].Int()
	if srid < 0 || srid > math.MaxUint32 {
		return value.Value{}, within("reference system", srid, 0, math.MaxUint32)
	}
	coords := make([]float64, n)
	for i := range coords {
		coords[i] = f[1+i].Float()
	}
	return value.MakePoint(uint32(srid), coords...)
}
