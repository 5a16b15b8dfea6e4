package expr

import (
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

func init() {
	moment := TAnyTime
	dur := Type{Kinds: 1 << value.Duration}
	for _, d := range []struct {
		name, doc string
		part      span
	}{
		{"duration.between", "The duration from one temporal value to another, in months, days and seconds.", spanAll},
		{"duration.inMonths", "The whole months from one temporal value to another.", spanMonths},
		{"duration.inDays", "The whole days from one temporal value to another.", spanDays},
		{"duration.inSeconds", "The seconds from one temporal value to another.", spanSeconds},
	} {
		register(&Def{Name: d.name, Category: "temporal", Description: d.doc, Raises: true, Sigs: sigs(sig(dur, moment, moment)),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				for _, v := range a {
					if !v.Kind().IsTemporal() || v.Kind() == value.Duration {
						return value.Value{}, wantKind(d.name, v, "temporal values")
					}
				}
				return durationBetween(a[0], a[1], d.part)
			}})
	}
	for _, t := range temporalKinds {
		name := t.name + ".truncate"
		result := Type{Kinds: 1 << t.kind}
		register(&Def{Name: name, Category: "temporal", Raises: true, Vol: Statement,
			Description: "A temporal value cut to a unit (millennium … microsecond), with components of a map over it.",
			Sigs:        sigs(sig(result, TString, moment, TMap).opt(2)),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if a[0].Kind() != value.String {
					return value.Value{}, wantKind(name, a[0], "a String as unit")
				}
				v := fromClock(value.DateTime, c.env.Now, c.env.Zone, nil)
				if len(a) > 1 {
					v = a[1]
				}
				var m value.Value
				if len(a) > 2 {
					m = a[2]
				}
				return truncateTemporal(c.env, t.kind, name, a[0].Str(), v, m)
			}})
	}
}

// span says which parts of a difference are wanted.
type span uint8

const (
	spanAll span = iota
	spanMonths
	spanDays
	spanSeconds
)

// durationBetween aligns the two values (a missing date is the other's, a missing time is midnight, a missing zone is the other's) and
// measures from the first to the second: whole months, then whole days, then what is left on the time line.
func durationBetween(from, to value.Value, part span) (value.Value, error) {
	var a, b fields
	a.take(from)
	b.take(to)
	switch {
	case !a.hasDate:
		a.days = b.days
	case !b.hasDate:
		b.days = a.days
	}
	switch {
	case a.hasZone && !b.hasZone:
		b.off, b.zone = a.off, a.zone
	case b.hasZone && !a.hasZone:
		a.off, a.zone = b.off, b.zone
	}
	at := func(f *fields) (sec int64, err error) { // the instant
		local := f.days*daySeconds + f.clock/1e9
		if f.zone != "" && !(f.hasDate && f.hasZone) {
			loc, _, err := value.LoadZone(f.zone)
			if err != nil {
				return 0, err
			}
			f.off = value.OffsetAtLocal(loc, local)
		}
		return local - int64(f.off), nil
	}
	ia, err := at(&a)
	if err != nil {
		return value.Value{}, err
	}
	ib, err := at(&b)
	if err != nil {
		return value.Value{}, err
	}
	na, nb := a.clock%1e9, b.clock%1e9
	if part == spanSeconds {
		return value.NewDuration(0, 0, ib-ia, nb-na), nil
	}
	// The second value is read on the first one's clock.
	var loc *time.Location
	if off := a.off; b.off != off || a.zone != "" {
		if a.zone != "" {
			if loc, _, err = value.LoadZone(a.zone); err != nil {
				return value.Value{}, err
			}
			off = value.OffsetAt(loc, ib)
		}
		local := ib + int64(off)
		b.days, b.clock = floorDiv(local, daySeconds), floorMod(local, daySeconds)*1e9+nb
	}
	ya, ma, da := value.CivilFromDays(a.days)
	yb, mb, db := value.CivilFromDays(b.days)
	months := (yb-ya)*12 + int64(mb-ma)
	late := db > da || db == da && b.clock > a.clock
	early := db < da || db == da && b.clock < a.clock
	if months > 0 && early {
		months--
	} else if months < 0 && late {
		months++
	}
	if part == spanMonths {
		return value.NewDuration(months, 0, 0, 0), nil
	}
	start := a.days
	if part == spanDays {
		months = 0
	} else {
		t := ya*12 + int64(ma-1) + months
		y, m := floorDiv(t, 12), int(floorMod(t, 12))+1
		start = value.DaysFromCivil(y, m, min(da, value.DaysIn(y, m)))
	}
	days := b.days - start
	if days > 0 && b.clock < a.clock {
		days--
	} else if days < 0 && b.clock > a.clock {
		days++
	}
	if part == spanDays {
		return value.NewDuration(0, days, 0, 0), nil
	}
	local := (start+days)*daySeconds + a.clock/1e9
	off := a.off
	if loc != nil && (months != 0 || days != 0) {
		off = value.OffsetAtLocal(loc, local)
	}
	return value.NewDuration(months, days, ib-(local-int64(off)), nb-na), nil
}

// truncateTemporal cuts v to a unit and puts the components of m over the result.
func truncateTemporal(env *Env, k value.Kind, name, unit string, v, m value.Value) (value.Value, error) {
	if !v.Kind().IsTemporal() || v.Kind() == value.Duration {
		return value.Value{}, wantKind(name, v, "a temporal value")
	}
	var f fields
	f.take(v)
	badUnit := func() error {
		return dberr.New(dberr.ArgumentError, "%s(): a %s cannot be cut to `%s`", name, KindName(v.Kind()), unit).WithToken("InvalidArgumentValue")
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
	if !f.hasZone && (k == value.DateTime || k == value.Time) && env.Zone != nil && env.Zone != time.UTC {
		f.zone, f.hasZone = env.Zone.String(), true
		if k == value.Time {
			f.off, f.zone = value.OffsetAt(env.Zone, env.Now.Unix()), ""
		}
	}
	if m.Kind() == value.Map {
		if err := overrides(&f, k, name, m); err != nil {
			return value.Value{}, err
		}
	}
	return f.build(env, k)
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
