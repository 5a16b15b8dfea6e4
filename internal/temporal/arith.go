package temporal

import (
	"math"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

func overflow() error {
	return dberr.New(dberr.NumericOutOfRange, "temporal value out of range").WithToken("NumberOutOfRange")
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

func between(x, limit int64) bool { return x >= -limit && x <= limit }

// Add adds a duration to a temporal value or to a duration: months first, the day clamped to the month, then days, then
// seconds. ok is false if the kinds do not add up.
func Add(t, d value.Value, sign int64) (v value.Value, ok bool, err error) {
	if d.Kind() != value.Duration || !t.Kind().IsTemporal() {
		return value.Value{}, false, nil
	}
	months, days, sec, n := d.DurationParts()
	ns := int64(n)
	if !between(months, maxMonths) || !between(days, maxDays) || !between(sec, maxSeconds) {
		return value.Value{}, true, overflow()
	}
	months, days, sec, ns = sign*months, sign*days, sign*sec, sign*ns
	addDays := func(epoch int64) (int64, error) {
		if months != 0 {
			y, m, dd := value.CivilFromDays(epoch)
			at := y*12 + int64(m-1) + months
			y, m = floorDiv(at, 12), int(floorMod(at, 12))+1
			epoch = value.DaysFromCivil(y, m, min(dd, value.DaysIn(y, m)))
		}
		epoch += days
		if y, _, _ := value.CivilFromDays(epoch); !between(y, value.MaxYear) {
			return 0, overflow()
		}
		return epoch, nil
	}
	switch t.Kind() {
	case value.Duration:
		m, dd, s, tn := t.DurationParts()
		if !between(m, maxMonths) || !between(dd, maxDays) || !between(s, maxSeconds) {
			return value.Value{}, true, overflow()
		}
		return value.NewDuration(m+months, dd+days, s+sec, int64(tn)+ns), true, nil
	case value.Date:
		days += (sec + ns/1e9) / daySeconds // whole days only
		e, err := addDays(t.Days())
		return value.NewDate(e), true, err
	case value.LocalTime:
		return value.NewLocalTime(wrapTime(t.Nanos(), sec, ns)), true, nil
	case value.Time:
		local, off := t.TimeParts()
		return value.NewTime(wrapTime(local, sec, ns), off), true, nil
	}
	s, nano, off, zone := t.DateTimeParts()
	local := s + int64(off)
	e, err := addDays(floorDiv(local, daySeconds))
	if err != nil {
		return value.Value{}, true, err
	}
	local = e*daySeconds + floorMod(local, daySeconds)
	total := int64(nano) + ns
	carry := floorDiv(total, 1e9)
	nano = uint32(floorMod(total, 1e9))
	if t.Kind() == value.LocalDateTime {
		v, err := inYears(value.NewLocalDateTime(local+sec+carry, nano))
		return v, true, err
	}
	var loc *time.Location
	if zone != "" {
		if loc, _, err = value.LoadZone(zone); err != nil {
			return value.Value{}, true, err
		}
		if months != 0 || days != 0 {
			off = value.OffsetAtLocal(loc, local)
		}
	}
	at := local - int64(off) + sec + carry
	if loc != nil {
		off = value.OffsetAt(loc, at)
	}
	v, err = inYears(value.NewDateTime(at, nano, off, zone))
	return v, true, err
}

func wrapTime(local, sec, ns int64) int64 {
	return floorMod(local+floorMod(sec, daySeconds)*1e9+ns, dayNanos)
}

// Scale multiplies by num/den; fractions cascade downward.
func Scale(d value.Value, num, den float64) (value.Value, error) {
	if den == 0 {
		return value.Value{}, dberr.New(dberr.DivisionByZero, "a duration cannot be divided by zero")
	}
	months, days, sec, ns := d.DurationParts()
	var b value.DurationBuilder
	for _, p := range [...]struct {
		n    int64
		unit byte
	}{{months, 'M'}, {days, 'D'}, {sec, 's'}} {
		x := float64(p.n) * num / den
		if !addFloatUnit(&b, p.unit, x) {
			return value.Value{}, overflow()
		}
	}
	b.Nanos += int64(float64(ns) * num / den)
	return b.Duration(), nil
}

// addFloatUnit adds x of a unit to a duration.
func addFloatUnit(b *value.DurationBuilder, unit byte, x float64) bool {
	if !(math.Abs(x) < 1e15) {
		return false
	}
	whole, frac := math.Modf(math.Abs(x))
	f := math.Round(frac * 1e9)
	if f >= 1e9 {
		whole, f = whole+1, 0
	}
	return b.Add(unit, int64(whole), int64(f), x < 0)
}
