// Package packstream is the binary form of values in Bolt's messages.
//
// [Append] writes a value, [Decoder] reads one. Both know PackStream's own types (null, Boolean, integer, float, bytes, string, list, map) and
// Bolt's structures: nodes, relationships and paths on the way out; temporal values and points both ways.
//
// K1: a decoder never trusts its input: any bytes give a value or an error. A declared length is compared with the bytes that are there
// before anything is allocated for it.
// K2: nesting deeper than [MaxDepth] is refused, in both directions.
// K3: text is valid UTF-8, a map names no key twice.
// K4: a structure has exactly the fields that the negotiated version gives it: drivers check their number.
package packstream

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// MaxDepth is the deepest nesting of lists, maps and structures (rules C12).
const MaxDepth = 128

// Markers; the tiny forms hold a length or an integer in their low bits.
const (
	tinyString, tinyList, tinyMap, tinyStruct = 0x80, 0x90, 0xA0, 0xB0

	null, float64Mark, false_, true_       = 0xC0, 0xC1, 0xC2, 0xC3
	int8Mark, int16Mark                    = 0xC8, 0xC9
	int32Mark, int64Mark                   = 0xCA, 0xCB
	bytes8, bytes16, bytes32               = 0xCC, 0xCD, 0xCE
	string8, string16, string32            = 0xD0, 0xD1, 0xD2
	list8, list16, list32                  = 0xD4, 0xD5, 0xD6
	map8, map16, map32                     = 0xD8, 0xD9, 0xDA
	minTinyInt                       int64 = -16
)

// Tags of Bolt's structures.
const (
	tagNode, tagRel, tagUnboundRel, tagPath          = 'N', 'R', 'r', 'P'
	tagDate, tagTime, tagLocalTime, tagLocalDateTime = 'D', 'T', 't', 'd'
	tagDateTime, tagZonedDateTime                    = 'I', 'i' // seconds at UTC
	tagOldDateTime, tagOldZonedDateTime              = 'F', 'f' // seconds of the local clock
	tagDuration, tagPoint2, tagPoint3                = 'E', 'X', 'Y'
)

// Format is what the versions of the protocol differ in.
type Format struct {
	ElementIDs bool // entities carry their ids as text too: 5.0 and later
	UTC        bool // zoned date times count from UTC: 5.0 and later, and 4.4 by agreement
}

// AppendInt, AppendString and AppendStruct write a value, or the head of a structure with n fields.
func AppendInt(dst []byte, i int64) []byte {
	switch {
	case i >= minTinyInt && i <= 127:
		return append(dst, byte(i))
	case i >= math.MinInt8 && i <= math.MaxInt8:
		return append(dst, int8Mark, byte(i))
	case i >= math.MinInt16 && i <= math.MaxInt16:
		return binary.BigEndian.AppendUint16(append(dst, int16Mark), uint16(i))
	case i >= math.MinInt32 && i <= math.MaxInt32:
		return binary.BigEndian.AppendUint32(append(dst, int32Mark), uint32(i))
	}
	return binary.BigEndian.AppendUint64(append(dst, int64Mark), uint64(i))
}

func AppendString(dst []byte, s string) []byte {
	if i := strings.ToValidUTF8(s, "\uFFFD"); len(i) != len(s) || i != s {
		s = i // stored text is valid; a message's echo of the client's bytes may not be
	}
	return append(appendHead(dst, len(s), tinyString, string8), s...)
}

func AppendStruct(dst []byte, fields int, tag byte) []byte {
	return append(dst, tinyStruct|byte(fields), tag)
}

// AppendList and AppendMap write the head of a list of n values or a map of n entries.
func AppendList(dst []byte, n int) []byte { return appendHead(dst, n, tinyList, list8) }
func AppendMap(dst []byte, n int) []byte  { return appendHead(dst, n, tinyMap, map8) }

// appendHead writes a length: in the tiny form, or after one of three markers that follow each other.
func appendHead(dst []byte, n int, tiny, first byte) []byte {
	switch {
	case n < 16:
		return append(dst, tiny|byte(n))
	case n <= math.MaxUint8:
		return append(dst, first, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, first+1), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, first+2), uint32(n))
}

func appendFloat(dst []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, float64Mark), math.Float64bits(f))
}

// Append writes a value. It fails for what nests too deeply.
func Append(dst []byte, v value.Value, f Format) ([]byte, error) { return appendValue(dst, v, f, 0) }

func appendValue(dst []byte, v value.Value, f Format, depth int) ([]byte, error) {
	if depth > MaxDepth {
		return dst, dberr.New(dberr.LimitExceeded, "a value nests deeper than %d levels, which Bolt does not carry", MaxDepth)
	}
	switch v.Kind() {
	case value.Null:
		return append(dst, null), nil
	case value.Bool:
		if v.Bool() {
			return append(dst, true_), nil
		}
		return append(dst, false_), nil
	case value.Int:
		return AppendInt(dst, v.Int()), nil
	case value.Float:
		return appendFloat(dst, v.Float()), nil
	case value.Numeric: // Bolt has no decimal numbers (rules D5)
		x, _ := strconv.ParseFloat(v.Decimal().String(), 64)
		return appendFloat(dst, x), nil
	case value.String:
		return AppendString(dst, v.Str()), nil
	case value.Bytes:
		b := v.Raw()
		switch n := len(b); {
		case n <= math.MaxUint8:
			dst = append(dst, bytes8, byte(n))
		case n <= math.MaxUint16:
			dst = binary.BigEndian.AppendUint16(append(dst, bytes16), uint16(n))
		default:
			dst = binary.BigEndian.AppendUint32(append(dst, bytes32), uint32(n))
		}
		return append(dst, b...), nil
	case value.List:
		dst = AppendList(dst, v.Len())
		for _, e := range v.All() {
			var err error
			if dst, err = appendValue(dst, e, f, depth+1); err != nil {
				return dst, err
			}
		}
		return dst, nil
	case value.Map:
		return appendMap(dst, v, f, depth)
	case value.Node, value.Rel, value.Path:
		return appendEntity(dst, v, f, depth)
	}
	return appendScalarStruct(dst, v, f)
}

func appendMap(dst []byte, m value.Value, f Format, depth int) ([]byte, error) {
	n := m.Len()
	dst = AppendMap(dst, n)
	for i := range n {
		k, v := m.Entry(i)
		var err error
		if dst, err = appendValue(AppendString(dst, k), v, f, depth+1); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func appendEntity(dst []byte, v value.Value, f Format, depth int) (_ []byte, err error) {
	switch v.Kind() {
	case value.Node:
		n := 3
		if f.ElementIDs {
			n = 4
		}
		dst = AppendInt(AppendStruct(dst, n, tagNode), int64(v.ID()))
		labels := v.Labels()
		dst = AppendList(dst, len(labels))
		for _, l := range labels {
			dst = AppendString(dst, l)
		}
		if dst, err = appendMap(dst, v.Properties(), f, depth+1); err != nil {
			return dst, err
		}
		return appendElementIDs(dst, f, v.ID()), nil
	case value.Rel:
		n := 5
		if f.ElementIDs {
			n = 8
		}
		dst = AppendInt(AppendStruct(dst, n, tagRel), int64(v.ID()))
		dst = AppendInt(AppendInt(dst, int64(v.Start())), int64(v.End()))
		if dst, err = appendMap(AppendString(dst, v.RelType()), v.Properties(), f, depth+1); err != nil {
			return dst, err
		}
		return appendElementIDs(dst, f, v.ID(), v.Start(), v.End()), nil
	}
	return appendPath(dst, v, f, depth)
}

// appendElementIDs writes ids as elementId() gives them.
func appendElementIDs(dst []byte, f Format, ids ...uint64) []byte {
	if !f.ElementIDs {
		return dst
	}
	for _, id := range ids {
		var buf [20]byte
		dst = AppendString(dst, string(strconv.AppendUint(buf[:0], id, 10)))
	}
	return dst
}

// appendPath writes a path: its nodes, its relationships once each, and the way through them as pairs of a relationship's number, negative when
// it is walked against its direction, and a node's. The first node is number 0 and not named. A node that the path meets again is there again:
// not every driver follows the numbers, the Go driver hands the list of nodes on as it is.
func appendPath(dst []byte, p value.Value, f Format, depth int) (_ []byte, err error) {
	var nodes, rels []value.Value
	var way []int64
	relAt := map[uint64]int64{}
	step := int64(0)
	for i, e := range p.All() {
		if i%2 == 0 {
			if i > 0 {
				way = append(way, step, int64(len(nodes)))
			}
			nodes = append(nodes, e)
			continue
		}
		n, ok := relAt[e.ID()]
		if !ok {
			rels = append(rels, e)
			n = int64(len(rels))
			relAt[e.ID()] = n
		}
		if step = n; e.Start() != nodes[len(nodes)-1].ID() {
			step = -n
		}
	}
	dst = AppendList(AppendStruct(dst, 3, tagPath), len(nodes))
	for _, n := range nodes {
		if dst, err = appendValue(dst, n, f, depth+1); err != nil {
			return dst, err
		}
	}
	dst = AppendList(dst, len(rels))
	for _, r := range rels {
		n := 3
		if f.ElementIDs {
			n = 4
		}
		dst = AppendInt(AppendStruct(dst, n, tagUnboundRel), int64(r.ID()))
		if dst, err = appendMap(AppendString(dst, r.RelType()), r.Properties(), f, depth+1); err != nil {
			return dst, err
		}
		dst = appendElementIDs(dst, f, r.ID())
	}
	dst = AppendList(dst, len(way))
	for _, i := range way {
		dst = AppendInt(dst, i)
	}
	return dst, nil
}

// appendScalarStruct writes a temporal value or a point.
func appendScalarStruct(dst []byte, v value.Value, f Format) ([]byte, error) {
	switch v.Kind() {
	case value.Date:
		return AppendInt(AppendStruct(dst, 1, tagDate), v.Days()), nil
	case value.LocalTime:
		return AppendInt(AppendStruct(dst, 1, tagLocalTime), v.Nanos()), nil
	case value.Time:
		ns, off := v.TimeParts()
		return AppendInt(AppendInt(AppendStruct(dst, 2, tagTime), ns), int64(off)), nil
	case value.LocalDateTime:
		sec, ns, _, _ := v.DateTimeParts()
		return AppendInt(AppendInt(AppendStruct(dst, 2, tagLocalDateTime), sec), int64(ns)), nil
	case value.DateTime:
		sec, ns, off, zone := v.DateTimeParts()
		byOffset, byZone := byte(tagDateTime), byte(tagZonedDateTime)
		if !f.UTC {
			sec += int64(off)
			byOffset, byZone = tagOldDateTime, tagOldZonedDateTime
		}
		if zone == "" {
			return AppendInt(AppendInt(AppendInt(AppendStruct(dst, 3, byOffset), sec), int64(ns)), int64(off)), nil
		}
		return AppendString(AppendInt(AppendInt(AppendStruct(dst, 3, byZone), sec), int64(ns)), zone), nil
	case value.Duration:
		months, days, sec, ns := v.DurationParts()
		dst = AppendInt(AppendInt(AppendStruct(dst, 4, tagDuration), months), days)
		return AppendInt(AppendInt(dst, sec), int64(ns)), nil
	case value.Point:
		coords := v.Coords()
		tag := byte(tagPoint2)
		if len(coords) == 3 {
			tag = tagPoint3
		}
		dst = AppendInt(AppendStruct(dst, 1+len(coords), tag), int64(v.SRID()))
		for _, c := range coords {
			dst = appendFloat(dst, c)
		}
		return dst, nil
	}
	return dst, dberr.New(dberr.Internal, "a value of kind %v has no form in Bolt", v.Kind())
}
