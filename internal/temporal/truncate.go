package temporal

import (
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Truncate cuts v to a unit and puts the components of m over the result.
func Truncate(now time.Time, zone *time.Location, k value.Kind, name, unit string, v, m value.Value) (value.Value, error) {
	if !v.Kind().IsTemporal() || v.Kind() == value.Duration {
		return value.Value{}, wantKind(name, v, "a temporal value")
	}
	var f fields
	f.take(v)
	badUnit := func() error {
		return dberr.New(dberr.ArgumentError, "%s(): a %s cannot be cut to `%s`", name, kindName(v.Kind()), unit).WithToken("InvalidArgumentValue")
	}
	if needsDate(k) && !f.hasDate || (k == value.LocalTime || k == value.Time) && !f.hasClock {
		return value.Value{}, badUnit()
	}
	cut := int64(0) // of the clock; 0: all of it
	var y int64
	var mon int
	if f.hasDate {
		y, mon, _ = value.CivilFromDays(f.days)
	}
	first := func(year int64, month int) { f.days = value.DaysFromCivil(year, month, 1) }
	switch unit {
	case "millennium":
		first(y-floorMod(y, 1000), 1)
	case "century":
		first(y-floorMod(y, 100), 1)
	case "decade":
		first(y-floorMod(y, 10), 1)
	case "year":
		first(y, 1)
	case "weekYear":
		wy, _ := value.WeekDate(f.days)
		jan4 := value.DaysFromCivil(wy, 1, 4)
		f.days = jan4 - int64(value.Weekday(jan4)) + 1
	case "quarter":
		first(y, (mon-1)/3*3+1)
	case "month":
		first(y, mon)
	case "week":
		f.days -= int64(value.Weekday(f.days)) - 1
	case "day":
	case "hour":
		cut = 3600e9
	case "minute":
		cut = 60e9
	case "second":
		cut = 1e9
	case "millisecond":
		cut = 1e6
	case "microsecond":
		cut = 1e3
	default:
		return value.Value{}, badUnit()
	}
	switch {
	case cut > 0 && k == value.Date, cut == 0 && unit != "day" && !f.hasDate:
		return value.Value{}, badUnit()
	case cut == 0:
		f.clock = 0
	default:
		f.clock -= f.clock % cut
	}
	if !f.hasZone && (k == value.DateTime || k == value.Time) && zone != nil && zone != time.UTC {
		f.zone, f.hasZone = zone.String(), true
		if k == value.Time {
			f.off, f.zone = value.OffsetAt(zone, now.Unix()), ""
		}
	}
	if m.Kind() == value.Map {
		if err := overrides(&f, k, name, m); err != nil {
			return value.Value{}, err
		}
	}
	return f.build(k)
}

// overrides puts components of a map over truncated fields. What is finer than a second adds to what the truncation left.
func overrides(f *fields, k value.Kind, name string, m value.Value) error {
	num := numbersOf(name, m)
	if v, ok := m.Get("timezone"); ok && !v.IsNull() {
		if v.Kind() != value.String {
			return badComponent(name, "timezone")
		}
		if off, ok := value.ParseOffset(v.Str()); ok {
			f.off, f.zone = off, ""
		} else {
			_, zone, err := value.LoadZone(v.Str())
			if err != nil {
				return err
			}
			f.zone = zone
		}
	}
	if needsDate(k) {
		if err := dateFields(f, num); err != nil {
			return err
		}
	}
	if !needsClock(k) {
		return nil
	}
	coarse := func(key string, lo, hi int64) (int64, bool, error) {
		if key == "millisecond" || key == "microsecond" || key == "nanosecond" {
			return 0, false, nil
		}
		return num(key, lo, hi)
	}
	if err := clockFields(f, coarse); err != nil {
		return err
	}
	for _, p := range [...]struct {
		key       string
		unit, max int64
	}{{"millisecond", 1e6, 999}, {"microsecond", 1e3, 999_999}, {"nanosecond", 1, 999_999_999}} {
		n, _, err := num(p.key, 0, p.max)
		if err != nil {
			return err
		}
		if f.clock%1e9+n*p.unit >= 1e9 {
			return badComponent(name, p.key)
		}
		f.clock += n * p.unit
	}
	return nil
}
