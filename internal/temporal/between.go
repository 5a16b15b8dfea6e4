package temporal

import (
	"time"

	"github.com/hedgerowdb/hedgerow/internal/value"
)

// span says which parts of a difference are wanted.
type Span uint8

const (
	All     Span = iota // months, days, seconds
	Months              // whole months only
	Days                // whole days only
	Seconds             // seconds and nanoseconds only
)

// Between aligns the two values (a missing date is the other's, a missing time is midnight, a missing zone is the other's) and
// measures from the first to the second: whole months, then whole days, then what is left on the time line.
func Between(from, to value.Value, part Span) (value.Value, error) {
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
	if part == Seconds {
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
	if part == Months {
		return value.NewDuration(months, 0, 0, 0), nil
	}
	start := a.days
	if part == Days {
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
	if part == Days {
		return value.NewDuration(0, days, 0, 0), nil
	}
	local := (start+days)*daySeconds + a.clock/1e9
	off := a.off
	if loc != nil && (months != 0 || days != 0) {
		off = value.OffsetAtLocal(loc, local)
	}
	return value.NewDuration(months, days, ib-(local-int64(off)), nb-na), nil
}
