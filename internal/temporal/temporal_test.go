package temporal

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

var now = time.Date(2026, 11, 30, 16, 0, 0, 5e6, time.UTC)

var zones = []string{"", "Europe/Stockholm", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"}

// anyMoment draws a value of a kind between the years -9,000 and 9,000, or between the ends of the calendar.
func anyMoment(t *rapid.T, k value.Kind, name string, wide bool) value.Value {
	limit := int64(4_000_000)
	if wide {
		limit = 365_241_000_000
	}
	days := rapid.Int64Range(-limit, limit).Draw(t, name+" days")
	clock := rapid.Int64Range(0, dayNanos-1).Draw(t, name+" clock")
	switch k {
	case value.Date:
		return value.NewDate(days)
	case value.LocalTime:
		return value.NewLocalTime(clock)
	case value.Time:
		return value.NewTime(clock, int32(rapid.IntRange(-18*3600, 18*3600).Draw(t, name+" offset")))
	}
	f := fields{days: days, clock: clock, hasDate: true, hasClock: true, zone: rapid.SampledFrom(zones).Draw(t, name+" zone"), hasZone: true}
	v, err := f.build(k)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var momentKinds = []value.Kind{value.Date, value.LocalTime, value.Time, value.LocalDateTime, value.DateTime}

func anyDuration(t *rapid.T, months int64) value.Value {
	return value.NewDuration(rapid.Int64Range(-months, months).Draw(t, "months"), rapid.Int64Range(-100_000, 100_000).Draw(t, "d"),
		rapid.Int64Range(-1e9, 1e9).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "n"))
}

func text(v value.Value) string { return string(value.AppendTemporal(nil, v)) }

// What a value prints as parses to it again, out to the ends of the calendar.
func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyMoment(t, rapid.SampledFrom(momentKinds).Draw(t, "kind"), "v", rapid.Bool().Draw(t, "wide"))
		if rapid.Bool().Draw(t, "duration") {
			v = anyDuration(t, 1_000_000)
		}
		back, err := value.ParseTemporal(v.Kind(), text(v))
		if err != nil || value.Compare(back, v) != 0 {
			t.Fatalf("%s became %s, %v", text(v), text(back), err)
		}
	})
}

// T4: adding the difference leads from one to the other.
func TestAddBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom([]value.Kind{value.Date, value.LocalTime, value.LocalDateTime, value.DateTime}).Draw(t, "kind")
		a, b := anyMoment(t, k, "a", false), anyMoment(t, k, "b", false)
		if k == value.DateTime {
			_, _, _, zone := a.DateTimeParts()
			var err error
			if b, err = inZone(b, zone); err != nil {
				t.Fatal(err)
			}
		}
		d, err := Between(a, b, All)
		if err != nil {
			t.Fatal(err)
		}
		got, ok, err := Add(a, d, 1)
		if err != nil || !ok || value.Equal(got, b) != value.True {
			t.Fatalf("%s + %s is %s, not %s (%v)", text(a), text(d), text(got), text(b), err)
		}
	})
}

// inZone reads the instant of v in a zone.
func inZone(v value.Value, zone string) (value.Value, error) {
	sec, ns, _, _ := v.DateTimeParts()
	if zone == "" {
		return value.NewDateTime(sec, ns, 0, ""), nil
	}
	loc, name, err := value.LoadZone(zone)
	if err != nil {
		return value.Value{}, err
	}
	return value.NewDateTime(sec, ns, value.OffsetAt(loc, sec), name), nil
}

// Days and seconds that are added can be taken away again where no clock changes; months cannot, since days are clamped.
func TestAddAndSubtract(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyMoment(t, rapid.SampledFrom([]value.Kind{value.LocalTime, value.Time, value.LocalDateTime}).Draw(t, "kind"), "v", false)
		d := anyDuration(t, 0)
		sum, _, err := Add(v, d, 1)
		if err != nil {
			t.Fatal(err)
		}
		if back, _, err := Add(sum, d, -1); err != nil || value.Compare(back, v) != 0 {
			t.Fatalf("%s + %s - %s is %s, %v", text(v), text(d), text(d), text(back), err)
		}
	})
}

// T5.
func TestTruncateIsIdempotent(t *testing.T) {
	units := []string{"millennium", "century", "decade", "year", "weekYear", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond"}
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom([]value.Kind{value.LocalDateTime, value.Date, value.DateTime}).Draw(t, "kind")
		v := anyMoment(t, k, "v", false)
		unit := rapid.SampledFrom(units).Draw(t, "unit")
		once, err := Truncate(now, nil, k, "truncate", unit, v, value.Value{})
		if k == value.Date && (unit == "hour" || unit == "minute" || len(unit) > 5 && unit[len(unit)-6:] == "second") {
			if !dberr.Is(err, dberr.ArgumentError) {
				t.Fatalf("a date was cut to %s: %v", unit, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		twice, err := Truncate(now, nil, k, "truncate", unit, once, value.Value{})
		if err != nil || value.Compare(once, twice) != 0 {
			t.Fatalf("%s to %s is %s, then %s, %v", text(v), unit, text(once), text(twice), err)
		}
		if k != value.DateTime && value.Compare(once, v) > 0 {
			t.Fatalf("%s to %s is %s, later", text(v), unit, text(once))
		}
	})
}

// Week dates name every day once.
func TestWeekDates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.Int64Range(-400_000_000, 400_000_000).Draw(t, "days")
		y, w := value.WeekDate(days)
		m := value.NewMap([]string{"year", "week", "dayOfWeek"}, []value.Value{value.NewInt(y), value.NewInt(int64(w)), value.NewInt(int64(value.Weekday(days)))})
		if got, err := Make(now, value.Date, "date", m); err != nil || got.Days() != days {
			t.Fatalf("%d is week %d of %d: %s, %v", days, w, y, text(got), err)
		}
	})
}

// T1: the ends of the calendar are reached and not passed.
func TestEndsOfTheCalendar(t *testing.T) {
	parse := func(k value.Kind, s string) value.Value {
		v, err := value.ParseTemporal(k, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	day := value.NewDuration(0, 1, 0, 0)
	second := value.NewDuration(0, 0, 1, 0)
	for _, c := range []struct {
		v, d value.Value
		sign int64
	}{
		{parse(value.Date, "+999999999-12-31"), day, 1}, {parse(value.Date, "-999999999-01-01"), day, -1},
		{parse(value.LocalDateTime, "+999999999-12-31T23:59:59.999999999"), second, 1}, {parse(value.DateTime, "-999999999-01-01T00:00Z"), second, -1},
		{parse(value.Date, "2020-01-01"), value.NewDuration(maxMonths, 0, 0, 0), 1}, {parse(value.Date, "2020-01-01"), value.NewDuration(-1<<63, -1<<63, -1<<63, 0), 1},
	} {
		if v, ok, err := Add(c.v, c.d, c.sign); !ok || !dberr.Is(err, dberr.NumericOutOfRange) {
			t.Errorf("%s and %s: %s, %v", text(c.v), text(c.d), text(v), err)
		}
	}
	if _, err := AtEpoch(1<<62, 0, 0); !dberr.Is(err, dberr.NumericOutOfRange) {
		t.Error(err)
	}
	if v, err := AtEpoch(value.DaysFromCivil(value.MaxYear, 12, 31)*daySeconds, 86_399_000, 999_999_999); err != nil || text(v) != "+999999999-12-31T23:59:59.999999999Z" {
		t.Errorf("%s, %v", text(v), err)
	}
}

// The rules of zones are those of the time zone database, where Stockholm is a link to Berlin.
func TestStockholm(t *testing.T) {
	for in, want := range map[string]string{
		"1818-07-21T21:40:32.142[Europe/Stockholm]": "1818-07-21T21:40:32.142+00:53:28[Europe/Stockholm]",
		"1818-07-21T21:40:32.142[Europe/Berlin]":    "1818-07-21T21:40:32.142+00:53:28[Europe/Berlin]",
		"2018-03-25T02:30[Europe/Stockholm]":        "2018-03-25T03:30+02:00[Europe/Stockholm]",
		"2018-10-28T02:30[Europe/Stockholm]":        "2018-10-28T02:30+02:00[Europe/Stockholm]",
	} {
		if v, err := value.ParseTemporal(value.DateTime, in); err != nil || text(v) != want {
			t.Errorf("%s is %s, %v; want %s", in, text(v), err, want)
		}
	}
	m := value.NewMap([]string{"timezone"}, []value.Value{value.NewString("Europe/Stockholm")})
	if v, err := Make(now, value.DateTime, "datetime", m); err != nil || text(v) != "2026-11-30T17:00:00.005+01:00[Europe/Stockholm]" {
		t.Errorf("%s, %v", text(v), err)
	}
}
