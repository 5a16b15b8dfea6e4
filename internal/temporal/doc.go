// Package temporal makes, cuts, adds and compares dates, times and durations, as both languages do.
//
// Values, their bytes and their ISO text are package value's; this package is what is computed with them: constructors from maps of
// components and from other temporal values ([Make], [MakeDuration], [FromClock], [AtEpoch]), components ([Component]), [Truncate],
// arithmetic ([Add], [Scale]) and differences ([Between]). Nothing here knows a graph, a statement or a function table: clocks and zones
// are arguments. The calendar is the proleptic Gregorian one, without leap seconds; zones are those that are built into the program.
//
// T1: a value that is returned without an error has a year of -999,999,999 to 999,999,999; what would leave it is NumericOutOfRange.
// T2: months, days and seconds of a duration are kept apart; only fractions cascade, downward: year, month, day, second. A month has
// 2,629,746 seconds on average.
// T3: months are added first, the day clamped to the month; then days; then seconds on the time line. A zoned value keeps its zone.
// T4: Add(a, Between(a, b)) is b for values of one kind and one zone.
// T5: truncating is idempotent and never gives a later moment.
package temporal

import (
	"math"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

const (
	daySeconds = 86400
	dayNanos   = daySeconds * 1e9

	// Bounds beyond which adding a duration leaves the calendar (T1).
	maxMonths  = 24_000_000_000
	maxDays    = 730_000_000_000
	maxSeconds = 63_072_000_000_000_000
)

var kindNames = map[value.Kind]string{value.Date: "Date", value.LocalTime: "LocalTime", value.Time: "Time", value.LocalDateTime: "LocalDateTime",
	value.DateTime: "DateTime", value.Duration: "Duration", value.Point: "Point"}

// kindName names a kind in messages.
func kindName(k value.Kind) string {
	if n, ok := kindNames[k]; ok {
		return n
	}
	return k.String()
}

// wantKind is a TypeError about the kind of an argument.
func wantKind(fn string, v value.Value, want string) error {
	return dberr.New(dberr.TypeError, "%s() expects %s, found %s", fn, want, kindName(v.Kind())).WithToken("InvalidArgumentType")
}

// asFloat is a number as the nearest float.
func asFloat(v value.Value) float64 {
	switch v.Kind() {
	case value.Int:
		return float64(v.Int())
	case value.Float:
		return v.Float()
	case value.Numeric:
		f, err := v.Decimal().Float64()
		if err != nil && f == 0 {
			return math.NaN()
		}
		return f
	}
	return math.NaN()
}

// inYears holds a value to the years that there are (T1).
func inYears(v value.Value) (value.Value, error) {
	var days int64
	switch v.Kind() {
	case value.Date:
		days = v.Days()
	case value.LocalDateTime, value.DateTime:
		sec, _, off, _ := v.DateTimeParts()
		days = floorDiv(sec+int64(off), daySeconds)
	default:
		return v, nil
	}
	if y, _, _ := value.CivilFromDays(days); !between(y, value.MaxYear) {
		return value.Value{}, overflow()
	}
	return v, nil
}
