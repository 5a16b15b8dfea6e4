package value

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // LoadZone, on machines without zones

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// Payloads of the temporal kinds: Date is days since 1970-01-01 and LocalTime nanoseconds since midnight, in the word; Time is
// {local nanoseconds i64, offset i32}, LocalDateTime {seconds i64, nanoseconds u32} as if at UTC, DateTime {seconds i64,
// nanoseconds u32, offset i32, zone name}, Duration {months, days, seconds i64, nanoseconds i32 of 0 … 999,999,999}.

const (
	daySeconds = 86400
	dayNanos   = daySeconds * 1e9

	// MaxYear bounds the years that text may name.
	MaxYear = 999_999_999
)

// NewDate makes a Date from days since 1970-01-01.
func NewDate(days int64) Value { return Value{kind: Date, word: uint64(days)} }

// NewLocalTime makes a LocalTime from nanoseconds since midnight.
func NewLocalTime(ns int64) Value { return Value{kind: LocalTime, word: uint64(ns)} }

// NewTime makes a Time from local nanoseconds since midnight and the offset in seconds.
func NewTime(ns int64, offset int32) Value {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, 12), uint64(ns))
	return FromBytes(Time, 0, binary.LittleEndian.AppendUint32(b, uint32(offset)))
}

// NewLocalDateTime makes a LocalDateTime from seconds since 1970-01-01T00:00 and nanoseconds.
func NewLocalDateTime(sec int64, ns uint32) Value {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, 12), uint64(sec))
	return FromBytes(LocalDateTime, 0, binary.LittleEndian.AppendUint32(b, ns))
}

// NewDateTime makes a DateTime from an instant, the offset in seconds and the zone's name ("" for a bare offset).
func NewDateTime(sec int64, ns uint32, offset int32, zone string) Value {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, 16+len(zone)), uint64(sec))
	b = binary.LittleEndian.AppendUint32(b, ns)
	b = binary.LittleEndian.AppendUint32(b, uint32(offset))
	return FromBytes(DateTime, 0, append(b, zone...))
}

// NewDuration makes a Duration; nanoseconds beyond a second are carried.
func NewDuration(months, days, sec, ns int64) Value {
	sec += floorDiv(ns, 1e9)
	ns = floorMod(ns, 1e9)
	b := make([]byte, 0, 28)
	b = binary.LittleEndian.AppendUint64(b, uint64(months))
	b = binary.LittleEndian.AppendUint64(b, uint64(days))
	b = binary.LittleEndian.AppendUint64(b, uint64(sec))
	return FromBytes(Duration, 0, binary.LittleEndian.AppendUint32(b, uint32(ns)))
}

// Days reads a Date, Nanos a LocalTime.
func (v Value) Days() int64  { return int64(v.word) }
func (v Value) Nanos() int64 { return int64(v.word) }

// TimeParts reads a Time.
func (v Value) TimeParts() (ns int64, offset int32) {
	b := v.Raw()
	if v.kind != Time || len(b) != 12 {
		return 0, 0
	}
	return int64(binary.LittleEndian.Uint64(b)), int32(binary.LittleEndian.Uint32(b[8:]))
}

// DateTimeParts reads a DateTime or, with offset 0 and no zone, a LocalDateTime.
func (v Value) DateTimeParts() (sec int64, ns uint32, offset int32, zone string) {
	s, n := instant(v)
	offset, zone = zoneOf(v)
	return s, uint32(n), offset, zone
}

// DurationParts reads a Duration.
func (v Value) DurationParts() (months, days, sec int64, ns int32) {
	b := v.Raw()
	if v.kind != Duration || len(b) != 28 {
		return
	}
	le := binary.LittleEndian
	return int64(le.Uint64(b)), int64(le.Uint64(b[8:])), int64(le.Uint64(b[16:])), int32(le.Uint32(b[24:]))
}

// IsTemporal reports whether the kind is a point in time or a duration.
func (k Kind) IsTemporal() bool { return k >= DateTime && k <= Duration }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

// DaysFromCivil returns days since 1970-01-01 of a proleptic Gregorian date.
func DaysFromCivil(y int64, m, d int) int64 {
	if m <= 2 {
		y--
	}
	era := floorDiv(y, 400)
	yoe := y - era*400
	doy := (153*int64((m+9)%12)+2)/5 + int64(d) - 1
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

// CivilFromDays is the inverse of [DaysFromCivil].
func CivilFromDays(z int64) (y int64, m, d int) {
	z += 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d = int(doy - (153*mp+2)/5 + 1)
	m = int((mp+2)%12 + 1)
	y = yoe + era*400
	if m <= 2 {
		y++
	}
	return
}

// IsLeap reports whether a proleptic Gregorian year has 366 days.
func IsLeap(y int64) bool { return y%4 == 0 && (y%100 != 0 || y%400 == 0) }

// DaysIn returns the number of days of a month.
func DaysIn(y int64, m int) int {
	switch m {
	case 2:
		if IsLeap(y) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// Weekday returns 1 for Monday to 7 for Sunday.
func Weekday(days int64) int { return int(floorMod(days+3, 7)) + 1 }

// WeekDate returns the ISO week-numbering year and week of a date.
func WeekDate(days int64) (year int64, week int) {
	thursday := days - int64(Weekday(days)) + 4
	year, _, _ = CivilFromDays(thursday)
	return year, int(thursday-DaysFromCivil(year, 1, 1))/7 + 1
}

// weekStart is the Monday of week 1 of an ISO year.
func weekStart(year int64) int64 {
	jan4 := DaysFromCivil(year, 1, 4)
	return jan4 - int64(Weekday(jan4)) + 1
}

// ---- output

func appendPad(dst []byte, n int64, w int) []byte {
	s := strconv.FormatInt(n, 10)
	for range w - len(s) {
		dst = append(dst, '0')
	}
	return append(dst, s...)
}

func appendDate(dst []byte, days int64) []byte {
	y, m, d := CivilFromDays(days)
	switch {
	case y < 0:
		dst = append(dst, '-')
		y = -y
	case y > 9999:
		dst = append(dst, '+')
	}
	dst = append(appendPad(dst, y, 4), '-')
	dst = append(appendPad(dst, int64(m), 2), '-')
	return appendPad(dst, int64(d), 2)
}

func appendFraction(dst []byte, ns int64) []byte {
	if ns == 0 {
		return dst
	}
	dst = appendPad(append(dst, '.'), ns, 9)
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

func appendClock(dst []byte, ns int64) []byte {
	sec := ns / 1e9
	dst = append(appendPad(dst, sec/3600, 2), ':')
	dst = appendPad(dst, sec/60%60, 2)
	if ns%60e9 != 0 {
		dst = appendPad(append(dst, ':'), sec%60, 2)
		dst = appendFraction(dst, ns%1e9)
	}
	return dst
}

func appendOffset(dst []byte, off int32) []byte {
	if off == 0 {
		return append(dst, 'Z')
	}
	c := byte('+')
	if off < 0 {
		c, off = '-', -off
	}
	dst = append(appendPad(append(dst, c), int64(off/3600), 2), ':')
	dst = appendPad(dst, int64(off/60%60), 2)
	if off%60 != 0 {
		dst = appendPad(append(dst, ':'), int64(off%60), 2)
	}
	return dst
}

// AppendTemporal appends the ISO text of a temporal value, as openCypher's toString gives it.
func AppendTemporal(dst []byte, v Value) []byte {
	switch v.kind {
	case Date:
		return appendDate(dst, v.Days())
	case LocalTime:
		return appendClock(dst, v.Nanos())
	case Time:
		ns, off := v.TimeParts()
		return appendOffset(appendClock(dst, ns), off)
	case LocalDateTime, DateTime:
		sec, ns, off, zone := v.DateTimeParts()
		local := sec + int64(off)
		dst = append(appendDate(dst, floorDiv(local, daySeconds)), 'T')
		dst = appendClock(dst, floorMod(local, daySeconds)*1e9+int64(ns))
		if v.kind == LocalDateTime {
			return dst
		}
		dst = appendOffset(dst, off)
		if zone != "" {
			dst = append(append(append(dst, '['), zone...), ']')
		}
		return dst
	case Duration:
		return appendDuration(dst, v)
	}
	return dst
}

func appendDuration(dst []byte, v Value) []byte {
	months, days, sec, n := v.DurationParts()
	ns := int64(n)
	if sec < 0 && ns > 0 {
		sec, ns = sec+1, ns-1e9
	}
	start := len(dst)
	dst = append(dst, 'P')
	part := func(n int64, unit byte) {
		if n != 0 {
			dst = append(strconv.AppendInt(dst, n, 10), unit)
		}
	}
	part(months/12, 'Y')
	part(months%12, 'M')
	part(days, 'D')
	if sec != 0 || ns != 0 {
		dst = append(dst, 'T')
		part(sec/3600, 'H')
		part(sec/60%60, 'M')
		if s := sec % 60; s != 0 || ns != 0 {
			if s == 0 && ns < 0 {
				dst = append(dst, '-')
			}
			dst = strconv.AppendInt(dst, s, 10)
			dst = append(appendFraction(dst, max(ns, -ns)), 'S')
		}
	}
	if len(dst) == start+1 {
		dst = append(dst, "T0S"...)
	}
	return dst
}

// ---- input

var temporalNames = map[Kind]string{Date: "Date", LocalTime: "LocalTime", Time: "Time", LocalDateTime: "LocalDateTime",
	DateTime: "DateTime", Duration: "Duration"}

// ParseTemporal reads ISO 8601 text, basic or extended, with week, quarter and ordinal dates, as a value of the kind. A DateTime
// or Time without offset is at UTC.
func ParseTemporal(k Kind, text string) (Value, error) {
	bad := func() (Value, error) {
		return Value{}, dberr.New(dberr.InvalidText, "text cannot be parsed to a %s: %q", temporalNames[k], text)
	}
	switch k {
	case Date:
		if d, ok := parseDate(text); ok {
			return NewDate(d), nil
		}
	case LocalTime:
		if ns, ok := parseClock(text); ok {
			return NewLocalTime(ns), nil
		}
	case Time:
		clock, off, zone, ok := splitZone(text)
		if ns, ok2 := parseClock(clock); ok && ok2 && zone == "" {
			return NewTime(ns, off), nil
		}
	case LocalDateTime:
		if sec, ns, ok := parseLocal(text); ok {
			return NewLocalDateTime(sec, ns), nil
		}
	case DateTime:
		i := strings.IndexByte(text, 'T')
		tail := text[i+1:]
		if i < 0 {
			// A date alone is at midnight; only a bracketed zone may follow it.
			if i = strings.IndexByte(text, '['); i < 0 {
				i = len(text)
			}
			tail = text[i:]
		}
		clock, off, zone, ok := splitZone(tail)
		hasOffset := ok && (clock != tail && !strings.HasPrefix(tail[len(clock):], "["))
		days, ok2 := parseDate(text[:i])
		ns, ok3 := int64(0), true
		if clock != "" {
			ns, ok3 = parseClock(clock)
		}
		if !ok || !ok2 || !ok3 {
			return bad()
		}
		local := days*daySeconds + ns/1e9
		if zone == "" {
			return NewDateTime(local-int64(off), uint32(ns%1e9), off, ""), nil
		}
		loc, name, err := LoadZone(zone)
		if err != nil {
			return Value{}, err
		}
		if !hasOffset {
			off = OffsetAtLocal(loc, local)
		}
		sec := local - int64(off)
		return NewDateTime(sec, uint32(ns%1e9), OffsetAt(loc, sec), name), nil
	case Duration:
		if v, ok := parseDuration(text); ok {
			return v, nil
		}
	}
	return bad()
}

// zoneAlias names zones that the time zone database has as a link to another one, while copies with pre-1970 rules of their own ("backzone",
// such as Go's and Debian's) disagree. openCypher's results follow the links.
var zoneAlias = map[string]string{"Europe/Stockholm": "Europe/Berlin"}

// LoadZone finds a time zone by name; its canonical spelling is returned, which the location's own name may differ from. The zones are those of
// the machine, or without any those that are built into the program.
func LoadZone(name string) (*time.Location, string, error) {
	if name == "Z" || strings.EqualFold(name, "UTC") {
		return time.UTC, "UTC", nil
	}
	rules := name
	if to := zoneAlias[name]; to != "" {
		rules = to
	}
	if loc, err := time.LoadLocation(rules); err == nil && name != "" && name != "Local" {
		return loc, name, nil
	}
	return nil, "", dberr.New(dberr.ArgumentError, "unknown time zone %q", name).WithToken("InvalidArgumentValue")
}

// OffsetAt returns a zone's offset at an instant; OffsetAtLocal at a local time, the earlier offset where a clock change makes it
// ambiguous and the one before the gap where it does not exist.
func OffsetAt(loc *time.Location, sec int64) int32 {
	_, off := time.Unix(sec, 0).In(loc).Zone()
	return int32(off)
}

// OffsetAtLocal is described at [OffsetAt].
func OffsetAtLocal(loc *time.Location, local int64) int32 {
	before := OffsetAt(loc, local-daySeconds)
	if OffsetAt(loc, local-int64(before)) == before {
		return before
	}
	after := OffsetAt(loc, local+daySeconds)
	if OffsetAt(loc, local-int64(after)) == after {
		return after
	}
	return before
}

func digits(s string, n int) (int64, bool) {
	if len(s) < n || n == 0 {
		return 0, false
	}
	v := int64(0)
	for i := range n {
		c := s[i] - '0'
		if c > 9 {
			return 0, false
		}
		v = v*10 + int64(c)
	}
	return v, true
}

// leading counts the digits at the front of s.
func leading(s string) int {
	n := 0
	for n < len(s) && s[n]-'0' <= 9 {
		n++
	}
	return n
}

func parseDate(s string) (days int64, ok bool) {
	neg, signed := false, false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg, signed = s[0] == '-', true
		s = s[1:]
	}
	run := leading(s)
	yn := 4
	if signed && run > 4 && (run == len(s) || s[run] == '-' || s[run] == 'W' || s[run] == 'Q') {
		yn = run // a signed year may be long; the rest must then be in extended form
	}
	if yn > 9 {
		return 0, false
	}
	y, ok := digits(s, yn)
	if !ok {
		return 0, false
	}
	if neg {
		y = -y
	}
	rest := s[yn:]
	dash := strings.HasPrefix(rest, "-")
	if dash {
		rest = rest[1:]
		if rest == "" {
			return 0, false
		}
	}
	switch {
	case rest == "":
		return DaysFromCivil(y, 1, 1), true
	case rest[0] == 'W':
		w, ok := digits(rest[1:], 2)
		if !ok || w < 1 || w > 53 {
			return 0, false
		}
		day := int64(1)
		if tail := strings.TrimPrefix(rest[3:], "-"); tail != "" {
			if day, ok = digits(tail, 1); !ok || len(tail) != 1 || day < 1 || day > 7 {
				return 0, false
			}
		}
		days = weekStart(y) + (w-1)*7 + day - 1
		if yy, ww := WeekDate(days); yy != y || int64(ww) != w {
			return 0, false
		}
		return days, true
	case rest[0] == 'Q':
		q, ok := digits(rest[1:], 1)
		if !ok || q < 1 || q > 4 {
			return 0, false
		}
		day := int64(1)
		if tail := strings.TrimPrefix(rest[2:], "-"); tail != "" {
			if day, ok = digits(tail, len(tail)); !ok || len(tail) > 2 || day < 1 {
				return 0, false
			}
		}
		start := DaysFromCivil(y, int(q-1)*3+1, 1)
		end := DaysFromCivil(y, int(q-1)*3+4, 1)
		if q == 4 {
			end = DaysFromCivil(y+1, 1, 1)
		}
		if start+day > end {
			return 0, false
		}
		return start + day - 1, true
	}
	n := leading(rest)
	if n == 3 && len(rest) == 3 { // ordinal
		d, _ := digits(rest, 3)
		if d < 1 || d > 366 || d == 366 && !IsLeap(y) {
			return 0, false
		}
		return DaysFromCivil(y, 1, 1) + d - 1, true
	}
	m, ok := digits(rest, 2)
	if !ok || m < 1 || m > 12 {
		return 0, false
	}
	d := int64(1)
	if tail := rest[2:]; tail != "" {
		if dash != strings.HasPrefix(tail, "-") {
			return 0, false
		}
		tail = strings.TrimPrefix(tail, "-")
		if d, ok = digits(tail, 2); !ok || len(tail) != 2 || d < 1 || d > int64(DaysIn(y, int(m))) {
			return 0, false
		}
	}
	return DaysFromCivil(y, int(m), int(d)), true
}

// parseClock reads HH[:MM[:SS[.f]]] or HHMM[SS[.f]].
func parseClock(s string) (ns int64, ok bool) {
	h, ok := digits(s, 2)
	if !ok || h > 23 {
		return 0, false
	}
	s = s[2:]
	colon := strings.HasPrefix(s, ":")
	var part [2]int64
	for i := range part {
		if s == "" {
			return (h*3600 + part[0]*60) * 1e9, true
		}
		if colon {
			if s[0] != ':' {
				return 0, false
			}
			s = s[1:]
		}
		if part[i], ok = digits(s, 2); !ok || part[i] > 59 {
			return 0, false
		}
		s = s[2:]
	}
	ns = (h*3600 + part[0]*60 + part[1]) * 1e9
	if s == "" {
		return ns, true
	}
	if s[0] != '.' && s[0] != ',' {
		return 0, false
	}
	f := s[1:]
	n := leading(f)
	if n == 0 || n > 9 || n != len(f) {
		return 0, false
	}
	v, _ := digits(f, n)
	for range 9 - n {
		v *= 10
	}
	return ns + v, true
}

// splitZone takes offset and zone off the end of a time.
func splitZone(s string) (clock string, off int32, zone string, ok bool) {
	if i := strings.IndexByte(s, '['); i >= 0 {
		if s[len(s)-1] != ']' || i+2 >= len(s) {
			return "", 0, "", false
		}
		zone, s = s[i+1:len(s)-1], s[:i]
	}
	if strings.HasSuffix(s, "Z") {
		return s[:len(s)-1], 0, zone, true
	}
	i := strings.LastIndexAny(s, "+-")
	if i < 0 {
		return s, 0, zone, true
	}
	off, ok = ParseOffset(s[i:])
	return s[:i], off, zone, ok
}

// ParseOffset reads ±HH[[:]MM[[:]SS]] or Z as seconds.
func ParseOffset(s string) (int32, bool) {
	if s == "Z" {
		return 0, true
	}
	if len(s) < 3 || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	total, unit, t := int64(0), int64(3600), s[1:]
	colon := len(t) > 2 && t[2] == ':'
	for first := true; t != ""; first = false {
		if !first && colon {
			if t[0] != ':' {
				return 0, false
			}
			t = t[1:]
		}
		n, ok := digits(t, 2)
		if !ok || unit == 0 || unit < 3600 && n > 59 {
			return 0, false
		}
		total += n * unit
		unit /= 60
		t = t[2:]
	}
	if total > 18*3600 {
		return 0, false
	}
	if s[0] == '-' {
		total = -total
	}
	return int32(total), true
}

func parseLocal(s string) (sec int64, ns uint32, ok bool) {
	date, clock, hasClock := strings.Cut(s, "T")
	days, ok := parseDate(date)
	if !ok {
		return 0, 0, false
	}
	n := int64(0)
	if hasClock {
		if n, ok = parseClock(clock); !ok {
			return 0, 0, false
		}
	}
	return days*daySeconds + n/1e9, uint32(n % 1e9), true
}

// parseDuration reads PnYnMnWnDTnHnMn.nS, where the least part may have a fraction that cascades into smaller ones, and the
// alternative form P2012-02-02T14:37:21.545.
func parseDuration(s string) (Value, bool) {
	neg := strings.HasPrefix(s, "-")
	if neg || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if len(s) < 2 || s[0] != 'P' {
		return Value{}, false
	}
	s = s[1:]
	var months, days, sec, ns int64
	if t := strings.IndexByte(s, '-'); t == 4 && leading(s) == 4 {
		date, clock, _ := strings.Cut(s, "T")
		y, ok1 := digits(date, 4)
		if len(date) != 10 || date[7] != '-' {
			return Value{}, false
		}
		m, ok2 := digits(date[5:], 2)
		d, ok3 := digits(date[8:], 2)
		n := int64(0)
		ok4 := true
		if clock != "" {
			n, ok4 = parseClock(clock)
		}
		if !ok1 || !ok2 || !ok3 || !ok4 {
			return Value{}, false
		}
		months, days, sec, ns = y*12+m, d, n/1e9, n%1e9
	} else {
		const order = "YMWDHMS"
		at, timePart, any := 0, false, false
		for s != "" {
			if s[0] == 'T' {
				if timePart || len(s) == 1 {
					return Value{}, false
				}
				timePart, at, s = true, 4, s[1:]
				continue
			}
			whole, frac, sign, rest, ok := decimalPart(s)
			if !ok || rest == "" {
				return Value{}, false
			}
			limit := len(order)
			if !timePart {
				limit = 4
			}
			i := strings.IndexByte(order[at:limit], rest[0])
			if i < 0 {
				return Value{}, false
			}
			unit := at + i
			at, s, any = unit+1, rest[1:], true
			if !addPart(&months, &days, &sec, &ns, unit, whole, frac, sign) {
				return Value{}, false
			}
		}
		if !any {
			return Value{}, false
		}
	}
	if neg {
		months, days, sec, ns = -months, -days, -sec, -ns
	}
	return NewDuration(months, days, sec, ns), true
}

// decimalPart reads [±]digits[.digits]; frac is in units of 1e-9.
func decimalPart(s string) (whole, frac, sign int64, rest string, ok bool) {
	sign = 1
	if s[0] == '-' || s[0] == '+' {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	n := leading(s)
	if n == 0 || n > 18 {
		return 0, 0, 0, "", false
	}
	whole, _ = digits(s, n)
	s = s[n:]
	if s != "" && (s[0] == '.' || s[0] == ',') {
		s = s[1:]
		m := leading(s)
		if m == 0 {
			return 0, 0, 0, "", false
		}
		frac, _ = digits(s, min(m, 9))
		for range 9 - min(m, 9) {
			frac *= 10
		}
		s = s[m:]
	}
	return whole, frac, sign, s, true
}

// DurationBuilder adds up a duration unit by unit; fractions cascade downward only: year → month → day → second.
type DurationBuilder struct{ Months, Days, Seconds, Nanos int64 }

// Add adds ±(whole + frac/1e9) of a unit, one of Y M W D H m s (m is minutes). It reports whether the number is in range.
func (b *DurationBuilder) Add(unit byte, whole, frac int64, negative bool) bool {
	sign := int64(1)
	if negative {
		sign = -1
	}
	return addPart(&b.Months, &b.Days, &b.Seconds, &b.Nanos, strings.IndexByte("YMWDHms", unit), whole, frac, sign)
}

// Duration returns the sum.
func (b *DurationBuilder) Duration() Value { return NewDuration(b.Months, b.Days, b.Seconds, b.Nanos) }

// addPart adds whole + frac/1e9 of unit (index into YMWDHMS); a fraction cascades downward only.
func addPart(months, days, sec, ns *int64, unit int, whole, frac, sign int64) bool {
	if whole > math.MaxInt64/(86400*7*1000) && unit < 6 {
		return false
	}
	addNanos := func(perUnit int64) int64 { // a fraction of a unit of so many seconds is below 2^53 ns
		t := frac * perUnit
		*sec += sign * (t % dayNanos / 1e9)
		*ns += sign * (t % 1e9)
		return t / dayNanos
	}
	switch unit {
	case 0:
		*months += sign * whole * 12
		if frac != 0 {
			m := frac * 12
			return addPart(months, days, sec, ns, 1, m/1e9, m%1e9, sign)
		}
	case 1:
		*months += sign * whole
		if frac != 0 { // of an average month
			*days += sign * addNanos(avgMonthSeconds)
		}
	case 2:
		*days += sign * whole * 7
		if frac != 0 {
			d := frac * 7
			return addPart(months, days, sec, ns, 3, d/1e9, d%1e9, sign)
		}
	case 3:
		*days += sign * whole
		addNanos(daySeconds)
	case 4:
		*sec += sign * whole * 3600
		addNanos(3600)
	case 5:
		*sec += sign * whole * 60
		addNanos(60)
	case 6:
		*sec += sign * whole
		*ns += sign * frac
	}
	return true
}

// String returns the name of the kind as GQL writes the type.
func (k Kind) String() string {
	names := [...]string{"NULL", "MAP", "NODE", "RELATIONSHIP", "LIST", "PATH", "POINT", "ZONED DATETIME", "LOCAL DATETIME", "DATE",
		"ZONED TIME", "LOCAL TIME", "DURATION", "BYTES", "STRING", "BOOLEAN", "INTEGER", "FLOAT", "NUMERIC"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("Kind(%d)", k)
}
