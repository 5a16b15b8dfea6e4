package sqltype

import (
	"strconv"
	"strings"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

const day = 86400

// appendTemporal prints a value as PostgreSQL does with DateStyle ISO and IntervalStyle postgres, to the microsecond.
func appendTemporal(dst []byte, v value.Value, zone *time.Location) []byte {
	switch v.Kind() {
	case value.Date:
		dst, bc := appendDay(dst, v.Days())
		return append(dst, bc...)
	case value.LocalTime:
		return appendClock(dst, v.Nanos())
	case value.Time:
		ns, off := v.TimeParts()
		return appendOffset(appendClock(dst, ns), off)
	case value.LocalDateTime:
		sec, ns, _, _ := v.DateTimeParts()
		return appendInstant(dst, sec, ns, "")
	case value.DateTime:
		sec, ns, _, _ := v.DateTimeParts()
		off := value.OffsetAt(zone, sec)
		return appendInstant(dst, sec+int64(off), ns, string(appendOffset(nil, off)))
	case value.Duration:
		return appendInterval(dst, v)
	}
	return value.AppendTemporal(dst, v)
}

func floor(a, b int64) (q, r int64) {
	q, r = a/b, a%b
	if r < 0 {
		q, r = q-1, r+b
	}
	return q, r
}

func appendInstant(dst []byte, sec int64, ns uint32, offset string) []byte {
	d, s := floor(sec, day)
	dst, bc := appendDay(dst, d)
	dst = appendClock(append(dst, ' '), s*1e9+int64(ns))
	return append(append(dst, offset...), bc...)
}

// appendDay prints a date without the mark of years before 1, which is returned.
func appendDay(dst []byte, days int64) (out []byte, bc string) {
	y, m, d := value.CivilFromDays(days)
	if y <= 0 {
		y, bc = 1-y, " BC"
	}
	for i := int64(1000); i > y && i > 1; i /= 10 {
		dst = append(dst, '0')
	}
	dst = strconv.AppendInt(dst, y, 10)
	return append(dst, '-', byte('0'+m/10), byte('0'+m%10), '-', byte('0'+d/10), byte('0'+d%10)), bc
}

func two(dst []byte, n int64) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }

func appendClock(dst []byte, ns int64) []byte {
	s := ns / 1e9
	dst = append(two(dst, s/3600), ':')
	dst = append(two(dst, s/60%60), ':')
	return appendMicros(two(dst, s%60), ns%1e9/1000)
}

// appendMicros prints the fraction of a second without trailing zeros.
func appendMicros(dst []byte, us int64) []byte {
	if us == 0 {
		return dst
	}
	text := strconv.FormatInt(1e6+us, 10)
	return append(append(dst, '.'), strings.TrimRight(text[1:], "0")...)
}

func appendOffset(dst []byte, off int32) []byte {
	sign := byte('+')
	if off < 0 {
		sign, off = '-', -off
	}
	dst = two(append(dst, sign), int64(off/3600))
	if off%3600 != 0 {
		dst = two(append(dst, ':'), int64(off/60%60))
	}
	if off%60 != 0 {
		dst = two(append(dst, ':'), int64(off%60))
	}
	return dst
}

func appendInterval(dst []byte, v value.Value) []byte {
	months, days, sec, ns := v.DurationParts()
	start := len(dst)
	negative := false // what came before was negative: a positive part gets a sign
	part := func(n int64, unit string) {
		if n == 0 {
			return
		}
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		if negative && n > 0 {
			dst = append(dst, '+')
		}
		dst = append(append(strconv.AppendInt(dst, n, 10), ' '), unit...)
		if n != 1 {
			dst = append(dst, 's')
		}
		negative = n < 0
	}
	part(months/12, "year")
	part(months%12, "mon")
	part(days, "day")
	us := sec*1e6 + int64(ns)/1000
	if us == 0 && len(dst) > start {
		return dst
	}
	if len(dst) > start {
		dst = append(dst, ' ')
	}
	switch {
	case us < 0:
		dst, us = append(dst, '-'), -us
	case negative:
		dst = append(dst, '+')
	}
	h := us / 3600e6
	if h < 10 {
		dst = append(dst, '0')
	}
	dst = append(strconv.AppendInt(dst, h, 10), ':')
	dst = append(two(dst, us/60e6%60), ':')
	return appendMicros(two(dst, us/1e6%60), us%1e6)
}

// parseTemporal reads ISO dates and times, with a space or a T between them.
func parseTemporal(t *Type, s, whole string) (value.Value, error) {
	fail := func() (value.Value, error) {
		switch strings.ToLower(s) {
		case "now", "today", "tomorrow", "yesterday", "epoch", "infinity", "-infinity", "allballs":
			return value.Value{}, dberr.New(dberr.FeatureNotSupported, "the special %s value %s is not supported", t.Name, quoted(whole))
		}
		return value.Value{}, dberr.New(dberr.InvalidDatetime, "invalid input syntax for type %s: %s", t.Name, quoted(whole))
	}
	if t == Interval {
		if v, ok := parseInterval(s); ok {
			return v, nil
		}
		return fail()
	}
	text, bc := strings.CutSuffix(s, " BC")
	if i := strings.IndexByte(text, ' '); i > 0 && (t == Timestamp || t == Timestamptz || t == Date) {
		text = text[:i] + "T" + strings.TrimLeft(text[i:], " ")
	}
	if i := strings.IndexByte(text, ' '); i > 0 {
		text = text[:i] + strings.TrimLeft(text[i:], " ") // a space before the offset
	}
	var v value.Value
	var err error
	switch t {
	case Date:
		clock := ""
		if i := strings.IndexByte(text, 'T'); i > 0 {
			text, clock = text[:i], text[i:]
			if _, err := value.ParseTemporal(value.DateTime, text+clock); err != nil {
				return fail()
			}
		}
		v, err = value.ParseTemporal(value.Date, text)
	case Time:
		if v, err = value.ParseTemporal(value.LocalTime, text); err != nil {
			var z value.Value
			if z, err = value.ParseTemporal(value.Time, text); err == nil { // an offset is read past, as in PostgreSQL
				ns, _ := z.TimeParts()
				v = value.NewLocalTime(ns)
			}
		}
	case Timestamp, Timestamptz:
		if v, err = value.ParseTemporal(value.DateTime, text); err == nil {
			sec, ns, off, _ := v.DateTimeParts()
			if t == Timestamp {
				v = value.NewLocalDateTime(sec+int64(off), ns)
			} else {
				v = value.NewDateTime(sec, ns, 0, "")
			}
		}
	}
	if err != nil {
		return fail()
	}
	if bc {
		if v = beforeChrist(v); v.IsNull() {
			return fail()
		}
	}
	return v, nil
}

// beforeChrist turns year y into the y-th before the first.
func beforeChrist(v value.Value) value.Value {
	shift := func(days int64) int64 {
		y, m, d := value.CivilFromDays(days)
		return value.DaysFromCivil(1-y, m, d)
	}
	switch v.Kind() {
	case value.Date:
		return value.NewDate(shift(v.Days()))
	case value.LocalDateTime, value.DateTime:
		sec, ns, _, _ := v.DateTimeParts()
		d, s := floor(sec, day)
		if v.Kind() == value.DateTime {
			return value.NewDateTime(shift(d)*day+s, ns, 0, "")
		}
		return value.NewLocalDateTime(shift(d)*day+s, ns)
	}
	return value.Value{}
}

var intervalUnits = map[string]struct{ months, days, us float64 }{
	"microsecond": {us: 1}, "us": {us: 1}, "millisecond": {us: 1e3}, "ms": {us: 1e3}, "second": {us: 1e6}, "sec": {us: 1e6}, "s": {us: 1e6},
	"minute": {us: 60e6}, "min": {us: 60e6}, "m": {us: 60e6}, "hour": {us: 3600e6}, "hr": {us: 3600e6}, "h": {us: 3600e6},
	"day": {days: 1}, "d": {days: 1}, "week": {days: 7}, "w": {days: 7}, "month": {months: 1}, "mon": {months: 1},
	"year": {months: 12}, "yr": {months: 12}, "y": {months: 12}, "decade": {months: 120}, "century": {months: 1200},
}

// parseInterval reads '1 year 2 mons -3 days +04:05:06.7', 'PT1H' and '@ 2 hours ago'.
func parseInterval(s string) (value.Value, bool) {
	if strings.HasPrefix(s, "P") || strings.HasPrefix(s, "-P") {
		v, err := value.ParseTemporal(value.Duration, s)
		return v, err == nil
	}
	words := strings.Fields(strings.TrimPrefix(s, "@"))
	ago := len(words) > 1 && words[len(words)-1] == "ago"
	if ago {
		words = words[:len(words)-1]
	}
	if len(words) == 0 {
		return value.Value{}, false
	}
	var months, days, us float64
	for i := 0; i < len(words); i++ {
		w := words[i]
		if strings.Contains(w, ":") {
			n, ok := clockMicros(w)
			if !ok {
				return value.Value{}, false
			}
			us += n
			continue
		}
		end := 0
		for end < len(w) && strings.IndexByte("0123456789.+-", w[end]) >= 0 {
			end++
		}
		n, err := strconv.ParseFloat(w[:end], 64)
		if err != nil {
			return value.Value{}, false
		}
		unit := strings.ToLower(w[end:])
		if unit == "" {
			if i+1 < len(words) && !strings.Contains(words[i+1], ":") {
				i++
				unit = strings.ToLower(words[i])
			} else if i+1 < len(words) {
				unit = "day" // '3 04:05:06'
			} else {
				unit = "second"
			}
		}
		u, ok := intervalUnits[unit]
		if !ok {
			if u, ok = intervalUnits[strings.TrimSuffix(unit, "s")]; !ok {
				if unit != "centuries" && unit != "centurys" {
					return value.Value{}, false
				}
				u = intervalUnits["century"]
			}
		}
		// A fraction goes down to the next smaller unit, a month having 30 days.
		m := n * u.months
		whole := float64(int64(m))
		months += whole
		d := n*u.days + (m-whole)*30
		whole = float64(int64(d))
		days += whole
		us += n*u.us + (d-whole)*day*1e6
	}
	if ago {
		months, days, us = -months, -days, -us
	}
	if max(months, -months) > 2147483647 || max(days, -days) > 2147483647 || max(us, -us) > 9.2e18 {
		return value.Value{}, false
	}
	micros := int64(us)
	if us < 0 {
		micros = int64(us - 0.5)
	} else {
		micros = int64(us + 0.5)
	}
	sec, rest := floor(micros, 1e6)
	return value.NewDuration(int64(months), int64(days), sec, rest*1000), true
}

func clockMicros(w string) (float64, bool) {
	sign := 1.0
	if strings.HasPrefix(w, "-") {
		sign = -1
	}
	parts := strings.Split(strings.TrimLeft(w, "+-"), ":")
	if len(parts) > 3 {
		return 0, false
	}
	var us float64
	for i, p := range parts {
		n, err := strconv.ParseFloat(p, 64)
		if err != nil || n < 0 || i < 2 && n != float64(int64(n)) || i > 0 && n >= 60 {
			return 0, false
		}
		us += n * []float64{3600e6, 60e6, 1e6}[i]
	}
	return sign * us, true
}
