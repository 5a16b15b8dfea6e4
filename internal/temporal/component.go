package temporal

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// NoComponent is the ArgumentError about a component that a value does not have.
func NoComponent(v value.Value, key string) error {
	return dberr.New(dberr.ArgumentError, "%s has no component `%s`", kindName(v.Kind()), key).WithToken("InvalidArgumentValue")
}

// Component reads a component of a temporal value or of a duration.
func Component(v value.Value, key string) (value.Value, error) {
	i := func(n int64) (value.Value, error) { return value.NewInt(n), nil }
	if v.Kind() == value.Duration {
		return durationComponent(v, key)
	}
	var days, clock int64 // of the local date, and nanoseconds of the local time
	var off int32
	var zone string
	hasDate, hasClock, hasZone := true, true, false
	switch v.Kind() {
	case value.Date:
		days, hasClock = v.Days(), false
	case value.LocalTime:
		clock, hasDate = v.Nanos(), false
	case value.Time:
		clock, off = v.TimeParts()
		hasDate, hasZone = false, true
	default:
		sec, ns, o, z := v.DateTimeParts()
		local := sec + int64(o)
		days, clock, off, zone = floorDiv(local, daySeconds), floorMod(local, daySeconds)*1e9+int64(ns), o, z
		hasZone = v.Kind() == value.DateTime
	}
	if hasDate {
		y, m, d := value.CivilFromDays(days)
		switch key {
		case "year":
			return i(y)
		case "quarter":
			return i(int64(m-1)/3 + 1)
		case "month":
			return i(int64(m))
		case "week":
			_, w := value.WeekDate(days)
			return i(int64(w))
		case "weekYear":
			wy, _ := value.WeekDate(days)
			return i(wy)
		case "day":
			return i(int64(d))
		case "ordinalDay", "dayOfYear":
			return i(days - value.DaysFromCivil(y, 1, 1) + 1)
		case "dayOfWeek", "weekDay":
			return i(int64(value.Weekday(days)))
		case "dayOfQuarter", "quarterDay":
			return i(days - value.DaysFromCivil(y, (m-1)/3*3+1, 1) + 1)
		}
	}
	if hasClock {
		switch key {
		case "hour":
			return i(clock / 3600e9)
		case "minute":
			return i(clock / 60e9 % 60)
		case "second":
			return i(clock / 1e9 % 60)
		case "millisecond":
			return i(clock % 1e9 / 1e6)
		case "microsecond":
			return i(clock % 1e9 / 1e3)
		case "nanosecond":
			return i(clock % 1e9)
		}
	}
	if hasZone {
		switch key {
		case "timezone":
			if zone == "" {
				zone = offsetText(off)
			}
			return value.NewString(zone), nil
		case "offset":
			return value.NewString(offsetText(off)), nil
		case "offsetMinutes":
			return i(int64(off / 60))
		case "offsetSeconds":
			return i(int64(off))
		}
	}
	if v.Kind() == value.DateTime {
		sec, ns, _, _ := v.DateTimeParts()
		switch key {
		case "epochSeconds":
			return i(sec)
		case "epochMillis":
			return i(sec*1000 + int64(ns)/1e6)
		}
	}
	return value.Value{}, NoComponent(v, key)
}

// offsetText is ±HH:MM[:SS], or Z.
func offsetText(off int32) string {
	t := string(value.AppendTemporal(nil, value.NewTime(0, off)))
	return t[len("00:00"):]
}

func durationComponent(v value.Value, key string) (value.Value, error) {
	months, days, sec, n := v.DurationParts()
	ns := int64(n)
	var r int64
	switch key {
	case "years":
		r = months / 12
	case "quarters":
		r = months / 3
	case "months":
		r = months
	case "weeks":
		r = days / 7
	case "days":
		r = days
	case "hours":
		r = floorToward(sec, ns) / 3600
	case "minutes":
		r = floorToward(sec, ns) / 60
	case "seconds":
		r = sec
	case "milliseconds":
		r = sec*1e3 + ns/1e6
	case "microseconds":
		r = sec*1e6 + ns/1e3
	case "nanoseconds":
		r = sec*1e9 + ns
	case "quartersOfYear":
		r = months / 3 % 4
	case "monthsOfQuarter":
		r = months % 3
	case "monthsOfYear":
		r = months % 12
	case "daysOfWeek":
		r = days % 7
	case "minutesOfHour":
		r = floorToward(sec, ns) / 60 % 60
	case "secondsOfMinute":
		r = sec % 60
	case "millisecondsOfSecond":
		r = ns / 1e6
	case "microsecondsOfSecond":
		r = ns / 1e3
	case "nanosecondsOfSecond":
		r = ns
	default:
		return value.Value{}, NoComponent(v, key)
	}
	return value.NewInt(r), nil
}

// floorToward is whole seconds toward zero of a duration whose nanoseconds are never negative.
func floorToward(sec, ns int64) int64 {
	if sec < 0 && ns > 0 {
		return sec + 1
	}
	return sec
}
