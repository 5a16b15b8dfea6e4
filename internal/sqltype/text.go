package sqltype

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// AppendText appends v in t's text form, instants at UTC. v is not null.
func AppendText(dst []byte, t *Type, v value.Value) ([]byte, error) {
	return AppendTextZone(dst, t, v, time.UTC)
}

// AppendTextZone is AppendText with instants shown in a time zone.
func AppendTextZone(dst []byte, t *Type, v value.Value, zone *time.Location) ([]byte, error) {
	switch t {
	case Agtype:
		return value.AppendAgtype(dst, v), nil
	case Bool:
		if v.Bool() {
			return append(dst, 't'), nil
		}
		return append(dst, 'f'), nil
	case Void:
		return dst, nil
	case Bytea:
		return hex.AppendEncode(append(dst, `\x`...), v.Raw()), nil
	case Float4:
		return appendFloat(dst, v.Float(), 32), nil
	case Float8:
		return appendFloat(dst, v.Float(), 64), nil
	case JSON, JSONB:
		if v.Kind() != value.String {
			return value.AppendJSON(dst, v), nil
		}
	case Record:
		if v.Kind() == value.List {
			return appendRecord(dst, v, zone)
		}
	case Regtype:
		if v.Kind() == value.Int {
			if x := ByOID(uint32(v.Int())); x != nil {
				return append(dst, x.Name...), nil
			}
			if v.Int() == 0 {
				return append(dst, '-'), nil
			}
		}
	case Regclass:
		if v.Kind() == value.Int {
			if name := relationName(v.Int()); name != "" {
				return append(dst, name...), nil
			}
		}
	}
	if t.Elem != nil && v.Kind() == value.List {
		return appendArray(dst, t.Elem, v, zone)
	}
	switch v.Kind() {
	case value.String:
		if strings.IndexByte(v.Str(), 0) >= 0 {
			return dst, dberr.New(dberr.UntranslatableCharacter, "unsupported Unicode escape sequence").WithDetail(`\u0000 cannot be converted to text.`)
		}
		return append(dst, v.Str()...), nil
	case value.Int:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case value.Float:
		return appendFloat(dst, v.Float(), 64), nil
	case value.Bool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case value.Numeric:
		return value.AppendNumeric(dst, v), nil
	case value.Date, value.Time, value.LocalTime, value.LocalDateTime, value.DateTime, value.Duration:
		return appendTemporal(dst, v, zone), nil
	}
	return value.AppendAgtype(dst, v), nil
}

// appendFloat prints the shortest text that reads back as the same number, with an exponent where PostgreSQL has one.
func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case f == 0:
		if math.Signbit(f) {
			dst = append(dst, '-')
		}
		return append(dst, '0')
	}
	limit := 15
	if bits == 32 {
		limit = 6
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, bits)
	exp, _ := strconv.Atoi(string(dst[start+bytes.IndexByte(dst[start:], 'e')+1:]))
	if exp < -4 || exp >= limit {
		return dst
	}
	return strconv.AppendFloat(dst[:start], f, 'f', -1, bits)
}

func appendArray(dst []byte, e *Type, v value.Value, zone *time.Location) ([]byte, error) {
	dst = append(dst, '{')
	var item []byte
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		x := v.At(i)
		if x.IsNull() {
			dst = append(dst, "NULL"...)
			continue
		}
		var err error
		if item, err = AppendTextZone(item[:0], e, x, zone); err != nil {
			return dst, err
		}
		quote := len(item) == 0 || len(item) == 4 && strings.EqualFold(string(item), "null") || bytes.ContainsAny(item, "{}\",\\ \t\n\r\v\f")
		if quote {
			dst = append(dst, '"')
		}
		for _, c := range item {
			if c == '"' || c == '\\' {
				dst = append(dst, '\\')
			}
			dst = append(dst, c)
		}
		if quote {
			dst = append(dst, '"')
		}
	}
	return append(dst, '}'), nil
}

func appendRecord(dst []byte, v value.Value, zone *time.Location) ([]byte, error) {
	dst = append(dst, '(')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		x := v.At(i)
		if x.IsNull() {
			continue
		}
		t := Text
		if x.Kind() == value.Bool {
			t = Bool
		}
		item, err := AppendTextZone(nil, t, x, zone)
		if err != nil {
			return dst, err
		}
		if len(item) > 0 && !bytes.ContainsAny(item, "(),\"\\ \t\n\r\v\f") {
			dst = append(dst, item...)
			continue
		}
		dst = append(dst, '"')
		for _, c := range item {
			if c == '"' || c == '\\' {
				dst = append(dst, c)
			}
			dst = append(dst, c)
		}
		dst = append(dst, '"')
	}
	return append(dst, ')'), nil
}

func bad(t *Type, s string) error {
	return dberr.New(dberr.InvalidText, "invalid input syntax for type %s: %s", t.Name, quoted(s))
}

// quoted shows a client's text in a message: whole if it is short.
func quoted(s string) string {
	if len(s) > 200 {
		cut := 200
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return `"` + s + `"`
}

func outOfRange(t *Type, s string) error {
	return dberr.New(dberr.NumericOutOfRange, "value %s is out of range for type %s", quoted(s), t.Name)
}

const space = " \t\n\r\v\f"

// Parse reads t's text form. An instant without an offset is at UTC.
func Parse(t *Type, s string) (value.Value, error) {
	trimmed := strings.Trim(s, space)
	switch t {
	case Agtype:
		return value.ParseAgtype(s)
	case Bool:
		switch x := strings.ToLower(trimmed); {
		case x == "1", x == "on", x != "" && strings.HasPrefix("true", x), x != "" && strings.HasPrefix("yes", x):
			return value.NewBool(true), nil
		case x == "0", x == "of", x == "off", x != "" && strings.HasPrefix("false", x), x != "" && strings.HasPrefix("no", x):
			return value.NewBool(false), nil
		}
		return value.Value{}, bad(t, s)
	case Int2, Int4, Int8, Graphid:
		bits := 64
		switch t {
		case Int2:
			bits = 16
		case Int4:
			bits = 32
		}
		i, err := strconv.ParseInt(trimmed, 10, bits)
		if err != nil {
			if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange {
				return value.Value{}, outOfRange(t, s)
			}
			return value.Value{}, bad(t, s)
		}
		return value.NewInt(i), nil
	case OID:
		i, err := strconv.ParseInt(trimmed, 10, 64)
		if err != nil {
			if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange {
				return value.Value{}, outOfRange(t, s)
			}
			return value.Value{}, bad(t, s)
		}
		if i < math.MinInt32 || i > math.MaxUint32 {
			return value.Value{}, outOfRange(t, s)
		}
		return value.NewInt(int64(uint32(i))), nil
	case Regtype, Regclass:
		return parseReg(t, trimmed)
	case Regproc:
		return value.NewString(strings.TrimPrefix(trimmed, "pg_catalog.")), nil
	case Regnamespc:
		return value.NewString(trimmed), nil
	case Float4, Float8:
		bits := 64
		if t == Float4 {
			bits = 32
		}
		f, err := strconv.ParseFloat(trimmed, bits)
		if err != nil || strings.ContainsAny(trimmed, "_xX") {
			if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange {
				return value.Value{}, dberr.New(dberr.NumericOutOfRange, "%s is out of range for type %s", quoted(trimmed), t.Name)
			}
			return value.Value{}, bad(t, s)
		}
		return value.NewFloat(f), nil
	case Numeric:
		switch strings.ToLower(trimmed) {
		case "inf", "+inf", "+infinity":
			trimmed = "Infinity"
		case "-inf":
			trimmed = "-Infinity"
		}
		v, err := value.ParseNumeric(trimmed)
		if err != nil {
			if dberr.Is(err, dberr.NumericOutOfRange) {
				return value.Value{}, dberr.New(dberr.NumericOutOfRange, "value overflows numeric format")
			}
			return value.Value{}, bad(t, s)
		}
		return v, nil
	case Bytea:
		return parseBytea(s)
	case UUID:
		return parseUUID(trimmed, s)
	case JSON:
		if !json.Valid([]byte(s)) {
			return value.Value{}, bad(t, s)
		}
	case JSONB:
		return parseJSONB(s)
	case Name:
		return value.NewString(cut(s, 63)), nil
	case Char:
		return value.NewString(cut(s, 1)), nil
	case Date, Time, Timestamp, Timestamptz, Interval:
		return parseTemporal(t, trimmed, s)
	case Void, Record:
		return value.Value{}, dberr.New(dberr.FeatureNotSupported, "cannot accept a value of type %s", t.Name)
	}
	if t.Elem != nil {
		return parseArray(t, s)
	}
	return value.NewString(s), nil
}

// cut shortens s to n bytes without breaking a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// relations are the catalog tables that clients name as 'x'::regclass.
var relations = map[string]int64{
	"pg_type": 1247, "pg_attribute": 1249, "pg_proc": 1255, "pg_class": 1259, "pg_authid": 1260, "pg_database": 1262, "pg_constraint": 2606,
	"pg_index": 2610, "pg_namespace": 2615, "pg_trigger": 2620, "pg_description": 2609, "pg_extension": 3079,
}

func relationName(oid int64) string {
	for name, o := range relations {
		if o == oid {
			return name
		}
	}
	if oid == 0 {
		return "-"
	}
	return ""
}

func parseReg(t *Type, s string) (value.Value, error) {
	if s == "-" {
		return value.NewInt(0), nil
	}
	if i, err := strconv.ParseUint(s, 10, 32); err == nil {
		return value.NewInt(int64(i)), nil
	}
	name := strings.ToLower(s)
	for _, schema := range []string{"pg_catalog.", "ag_catalog."} {
		name = strings.TrimPrefix(name, schema)
	}
	if t == Regclass {
		if oid, ok := relations[strings.Trim(name, `"`)]; ok {
			return value.NewInt(oid), nil
		}
		return value.Value{}, dberr.New(dberr.UndefinedTable, "relation %s does not exist", quoted(s))
	}
	if x := ByName(strings.ReplaceAll(name, `"`, "")); x != nil {
		return value.NewInt(int64(x.OID)), nil
	}
	return value.Value{}, dberr.New(dberr.UndefinedObject, "type %s does not exist", quoted(s))
}

// parseBytea reads the hex form and the older one with \ooo and \\.
func parseBytea(s string) (value.Value, error) {
	if h, ok := strings.CutPrefix(s, `\x`); ok {
		b, err := hex.DecodeString(strings.Map(func(r rune) rune {
			if strings.ContainsRune(space, r) {
				return -1
			}
			return r
		}, h))
		if err != nil {
			return value.Value{}, dberr.New(dberr.InvalidText, "invalid hexadecimal data for type bytea: %s", quoted(s))
		}
		return value.FromBytes(value.Bytes, 0, b), nil
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\':
			out = append(out, s[i])
		case i+1 < len(s) && s[i+1] == '\\':
			out = append(out, '\\')
			i++
		case i+3 < len(s) && s[i+1] <= '3':
			n, err := strconv.ParseUint(s[i+1:i+4], 8, 8)
			if err != nil {
				return value.Value{}, bad(Bytea, s)
			}
			out = append(out, byte(n))
			i += 3
		default:
			return value.Value{}, bad(Bytea, s)
		}
	}
	return value.FromBytes(value.Bytes, 0, out), nil
}

func parseUUID(s, whole string) (value.Value, error) {
	x := s
	if strings.HasPrefix(x, "{") && strings.HasSuffix(x, "}") {
		x = x[1 : len(x)-1]
	}
	b, err := hex.DecodeString(strings.ReplaceAll(x, "-", ""))
	if err != nil || len(b) != 16 {
		return value.Value{}, bad(UUID, whole)
	}
	return value.NewString(uuidText(b)), nil
}

func uuidText(b []byte) string {
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// parseJSONB brings JSON into the form that jsonb prints: one space after : and ,, keys by length then bytes, the last of equal ones.
func parseJSONB(s string) (value.Value, error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if !json.Valid([]byte(s)) || d.Decode(&v) != nil {
		return value.Value{}, bad(JSON, s)
	}
	return value.NewString(string(appendJSONB(nil, v))), nil
}

func appendJSONB(dst []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Slice(keys, func(i, j int) bool {
			if len(keys[i]) != len(keys[j]) {
				return len(keys[i]) < len(keys[j])
			}
			return keys[i] < keys[j]
		})
		dst = append(dst, '{')
		for i, k := range keys {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendJSONB(append(appendJSONB(dst, k), ": "...), v[k])
		}
		return append(dst, '}')
	case []any:
		dst = append(dst, '[')
		for i, x := range v {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendJSONB(dst, x)
		}
		return append(dst, ']')
	case json.Number:
		n, err := value.ParseNumeric(string(v))
		if err != nil {
			return append(dst, v...)
		}
		return value.AppendNumeric(dst, n)
	case string:
		return value.AppendJSON(dst, value.NewString(v))
	case bool:
		return strconv.AppendBool(dst, v)
	}
	return append(dst, "null"...)
}

// maxElements bounds an array, as PostgreSQL does.
const maxElements = 1 << 27

func parseArray(t *Type, s string) (value.Value, error) {
	malformed := func() (value.Value, error) {
		return value.Value{}, dberr.New(dberr.InvalidText, "malformed array literal: %s", quoted(s))
	}
	x := strings.Trim(s, space)
	if len(x) < 2 || x[0] != '{' || x[len(x)-1] != '}' {
		return malformed()
	}
	x = strings.Trim(x[1:len(x)-1], space)
	var elems []value.Value
	for first := true; x != "" || !first; first = false {
		if !first {
			if x == "" {
				break
			}
			if x[0] != ',' {
				return malformed()
			}
			x = x[1:]
		}
		x = strings.TrimLeft(x, space)
		if x == "" || len(elems) >= maxElements {
			return malformed()
		}
		if x[0] == '{' {
			return value.Value{}, dberr.New(dberr.FeatureNotSupported, "arrays of more than one dimension are not supported")
		}
		var item strings.Builder
		plain := x[0] != '"'
		if plain {
			kept := 0 // bytes up to the last one that is no trailing space
			for x != "" && x[0] != ',' {
				switch c := x[0]; {
				case c == '{' || c == '}' || c == '"':
					return malformed()
				case c == '\\':
					if len(x) < 2 {
						return malformed()
					}
					plain = false
					x = x[1:]
					item.WriteByte(x[0])
					kept = item.Len()
				default:
					item.WriteByte(c)
					if !strings.ContainsRune(space, rune(c)) {
						kept = item.Len()
					}
				}
				x = x[1:]
			}
			text := item.String()[:kept]
			if text == "" {
				return malformed()
			}
			item.Reset()
			item.WriteString(text)
		} else {
			i := 1
			for ; i < len(x) && x[i] != '"'; i++ {
				if x[i] == '\\' && i+1 < len(x) {
					i++
				}
				item.WriteByte(x[i])
			}
			if i >= len(x) {
				return malformed()
			}
			x = strings.TrimLeft(x[i+1:], space)
		}
		if plain && strings.EqualFold(item.String(), "null") {
			elems = append(elems, value.Value{})
			continue
		}
		v, err := Parse(t.Elem, item.String())
		if err != nil {
			return value.Value{}, err
		}
		elems = append(elems, v)
	}
	return value.NewList(elems...), nil
}
