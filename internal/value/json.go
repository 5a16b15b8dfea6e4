package value

import (
	"encoding/base64"
	"math"
	"strconv"
)

const maxSafeInteger = 1<<53 - 1

// AppendJSON appends what the HTTP door and the shell's json format show (rules D5): ids are strings; integers that JavaScript
// cannot hold, temporals, points, bytes, NaN and the infinities are {"$type": …, "_value": …}.
func AppendJSON(dst []byte, v Value) []byte {
	switch v.kind {
	case Bool:
		return strconv.AppendBool(dst, v.Bool())
	case Int:
		if i := v.Int(); i > maxSafeInteger || i < -maxSafeInteger {
			return typed(dst, "Integer", strconv.FormatInt(i, 10))
		}
		return strconv.AppendInt(dst, v.Int(), 10)
	case Float:
		f := v.Float()
		if f != f || math.IsInf(f, 0) {
			return typed(dst, "Float", string(AppendFloat(nil, f)))
		}
		return AppendFloat(dst, f)
	case Numeric:
		return typed(dst, "Numeric", string(AppendNumeric(nil, v)))
	case String:
		return appendQuoted(dst, v.Str())
	case Bytes:
		return typed(dst, "Base64", base64.StdEncoding.EncodeToString(v.Raw()))
	case List:
		dst = append(dst, '[')
		for i, e := range v.All() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, e)
		}
		return append(dst, ']')
	case Map:
		dst = append(dst, '{')
		for i := range v.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			k, e := v.Entry(i)
			dst = AppendJSON(append(appendQuoted(dst, k), ':'), e)
		}
		return append(dst, '}')
	case Node:
		dst = append(appendJSONID(append(dst, `{"id":`...), v.word), `,"labels":[`...)
		for i, l := range v.Labels() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendQuoted(dst, l)
		}
		return append(AppendJSON(append(dst, `],"properties":`...), v.Properties()), '}')
	case Rel:
		dst = append(appendJSONID(append(dst, `{"id":`...), v.word), `,"type":`...)
		dst = append(appendQuoted(dst, v.RelType()), `,"start":`...)
		dst = append(appendJSONID(dst, v.Start()), `,"end":`...)
		dst = append(appendJSONID(dst, v.End()), `,"properties":`...)
		return append(AppendJSON(dst, v.Properties()), '}')
	case Path:
		dst = append(dst, `{"path":[`...)
		for i, e := range v.All() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, e)
		}
		return append(dst, "]}"...)
	case Point:
		dst = append(dst, `{"$type":"Point","_value":{"srid":`...)
		dst = strconv.AppendUint(dst, uint64(v.SRID()), 10)
		c, n := v.coords()
		for i, f := range c[:n] {
			dst = append(append(append(dst, `,"`...), "xyz"[i]), `":`...)
			dst = AppendJSON(dst, NewFloat(f))
		}
		return append(dst, "}}"...)
	case Date:
		return typed(dst, "Date", string(AppendTemporal(nil, v)))
	case Time:
		return typed(dst, "Time", string(AppendTemporal(nil, v)))
	case LocalTime:
		return typed(dst, "LocalTime", string(AppendTemporal(nil, v)))
	case DateTime:
		return typed(dst, "ZonedDateTime", string(AppendTemporal(nil, v)))
	case LocalDateTime:
		return typed(dst, "LocalDateTime", string(AppendTemporal(nil, v)))
	case Duration:
		return typed(dst, "Duration", string(AppendTemporal(nil, v)))
	}
	return append(dst, "null"...)
}

func appendJSONID(dst []byte, id uint64) []byte {
	return append(strconv.AppendUint(append(dst, '"'), id, 10), '"')
}

func typed(dst []byte, typ, val string) []byte {
	dst = append(append(append(dst, `{"$type":"`...), typ...), `","_value":`...)
	return append(appendQuoted(dst, val), '}')
}
