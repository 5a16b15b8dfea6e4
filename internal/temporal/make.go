package temporal

import (
	"math"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Zone reads an offset or a zone name.
func Zone(s string) (loc *time.Location, name string, err error) {
	if off, ok := value.ParseOffset(s); ok {
		return time.FixedZone("", int(off)), "", nil
	}
	return value.LoadZone(s)
}

// FromClock is the reading of a clock in a zone (nil: UTC) as a value of the kind.
func FromClock(k value.Kind, t time.Time, loc *time.Location) value.Value {
	if loc == nil {
		loc = time.UTC
	}
	zone := loc.String()
	if loc == time.UTC || zone == "UTC" || zone == "Local" {
		zone = ""
	}
	return ReadClock(k, t, loc, zone)
}

// ReadClock is FromClock in a zone of a name ("" for a bare offset).
func ReadClock(k value.Kind, t time.Time, loc *time.Location, zone string) value.Value {
	sec := t.Unix()
	return convert(k, value.NewDateTime(sec, uint32(t.Nanosecond()), value.OffsetAt(loc, sec), zone))
}

// convert turns a DateTime into another kind by dropping what that does not have.
func convert(k value.Kind, v value.Value) value.Value {
	sec, ns, off, _ := v.DateTimeParts()
	local := sec + int64(off)
	clock := floorMod(local, daySeconds)*1e9 + int64(ns)
	switch k {
	case value.Date:
		return value.NewDate(floorDiv(local, daySeconds))
	case value.LocalTime:
		return value.NewLocalTime(clock)
	case value.Time:
		return value.NewTime(clock, off)
	case value.LocalDateTime:
		return value.NewLocalDateTime(local, ns)
	}
	return v
}

// fields are what a constructor's map or another temporal value gives.
type fields struct {
	days, clock       int64
	off               int32
	zone              string
	hasDate, hasClock bool
	hasZone           bool
}

func (f *fields) take(v value.Value) {
	switch v.Kind() {
	case value.Date:
		f.days, f.hasDate = v.Days(), true
	case value.LocalTime:
		f.clock, f.hasClock = v.Nanos(), true
	case value.Time:
		f.clock, f.off = v.TimeParts()
		f.hasClock, f.hasZone, f.zone = true, true, ""
	case value.LocalDateTime, value.DateTime:
		sec, ns, off, zone := v.DateTimeParts()
		local := sec + int64(off)
		f.days, f.clock = floorDiv(local, daySeconds), floorMod(local, daySeconds)*1e9+int64(ns)
		f.hasDate, f.hasClock = true, true
		if v.Kind() == value.DateTime {
			f.off, f.zone, f.hasZone = off, zone, true
		}
	}
}

// build makes a value of the kind from fields.
func (f *fields) build(k value.Kind) (value.Value, error) {
	switch k {
	case value.Date:
		return inYears(value.NewDate(f.days))
	case value.LocalTime:
		return value.NewLocalTime(f.clock), nil
	case value.Time:
		return value.NewTime(f.clock, f.off), nil
	}
	local := f.days*daySeconds + f.clock/1e9
	ns := uint32(f.clock % 1e9)
	if k == value.LocalDateTime {
		return inYears(value.NewLocalDateTime(local, ns))
	}
	off := f.off
	if f.zone != "" {
		loc, name, err := value.LoadZone(f.zone)
		if err != nil {
			return value.Value{}, err
		}
		off = value.OffsetAtLocal(loc, local)
		sec := local - int64(off)
		return inYears(value.NewDateTime(sec, ns, value.OffsetAt(loc, sec), name))
	}
	return inYears(value.NewDateTime(local-int64(off), ns, off, ""))
}

// Make makes a value of the kind from text, a map of components or another temporal value. now is the statement's clock; name is what messages
// call the function.
func Make(now time.Time, k value.Kind, name string, a value.Value) (value.Value, error) {
	switch a.Kind() {
	case value.String:
		return value.ParseTemporal(k, a.Str())
	case value.Map:
		return fromMap(now, k, name, a)
	}
	if !a.Kind().IsTemporal() || a.Kind() == value.Duration {
		return value.Value{}, wantKind(name, a, "a String, Map or temporal value")
	}
	var f fields
	f.take(a)
	if needsDate(k) && !f.hasDate || needsClock(k) && !f.hasClock && k != value.LocalDateTime && k != value.DateTime {
		return value.Value{}, wantKind(name, a, "a value with the components of a "+kindName(k))
	}
	return f.build(k)
}

func needsDate(k value.Kind) bool {
	return k == value.Date || k == value.LocalDateTime || k == value.DateTime
}
func needsClock(k value.Kind) bool { return k != value.Date }

func badComponent(name, key string) error {
	return dberr.New(dberr.ArgumentError, "%s(): invalid value for `%s`", name, key).WithToken("InvalidArgumentValue")
}

// fromMap reads components: a base (date, time, datetime, epochSeconds, epochMillis), then single ones over it.
func fromMap(now time.Time, k value.Kind, name string, m value.Value) (value.Value, error) {
	if m.Len() == 1 {
		if zone, ok := m.Get("timezone"); ok && zone.Kind() == value.String { // the clock, read there
			loc, zoneName, err := Zone(zone.Str())
			if err != nil {
				return value.Value{}, err
			}
			return ReadClock(k, now, loc, zoneName), nil
		}
	}
	if err := checkComponents(k, name, m); err != nil {
		return value.Value{}, err
	}
	var f fields
	num := numbersOf(name, m)
	for _, key := range []string{"date", "time", "datetime"} {
		v, ok := m.Get(key)
		if !ok || v.IsNull() {
			continue
		}
		if !v.Kind().IsTemporal() || v.Kind() == value.Duration {
			return value.Value{}, badComponent(name, key)
		}
		g := f
		g.take(v)
		switch key {
		case "date":
			f.days, f.hasDate = g.days, g.hasDate
		case "time":
			f.clock, f.hasClock, f.off, f.zone, f.hasZone = g.clock, g.hasClock, g.off, g.zone, g.hasZone
		default:
			f = g
		}
	}
	if s, ok, err := num("epochSeconds", -maxSeconds, maxSeconds); err != nil {
		return value.Value{}, err
	} else if ok {
		f.take(value.NewDateTime(s, 0, 0, ""))
	}
	if ms, ok, err := num("epochMillis", math.MinInt64, math.MaxInt64); err != nil {
		return value.Value{}, err
	} else if ok {
		f.take(value.NewDateTime(floorDiv(ms, 1000), uint32(floorMod(ms, 1000)*1e6), 0, ""))
	}
	if needsDate(k) {
		if err := dateFields(&f, num); err != nil {
			return value.Value{}, err
		}
		if !f.hasDate {
			return value.Value{}, badComponent(name, "year")
		}
	}
	if needsClock(k) {
		if err := clockFields(&f, num); err != nil {
			return value.Value{}, err
		}
		if !f.hasClock && (k == value.LocalTime || k == value.Time) {
			return value.Value{}, badComponent(name, "hour")
		}
	}
	if v, ok := m.Get("timezone"); ok && !v.IsNull() && (k == value.Time || k == value.DateTime) {
		if v.Kind() != value.String {
			return value.Value{}, badComponent(name, "timezone")
		}
		if err := f.move(now, k, v.Str()); err != nil {
			return value.Value{}, err
		}
	}
	return f.build(k)
}

// move brings the fields to another zone. A time of day that came with a zone names an instant: that stays and the reading
// changes, once all components are in place. One without a zone is only labelled.
func (f *fields) move(now time.Time, k value.Kind, zone string) error {
	old := *f
	f.hasZone = true
	if off, isOff := value.ParseOffset(zone); isOff {
		f.off, f.zone = off, ""
	} else {
		_, name, err := value.LoadZone(zone)
		if err != nil {
			return err
		}
		f.zone = name
		if k == value.Time { // a time of day keeps an offset only: the one in force now
			loc, _, err := value.LoadZone(name)
			if err != nil {
				return err
			}
			f.off = value.OffsetAt(loc, now.Unix())
		}
	}
	if !old.hasZone {
		return nil
	}
	if k == value.Time {
		f.clock = floorMod(f.clock+int64(f.off-old.off)*1e9, dayNanos)
		return nil
	}
	v, err := old.build(value.DateTime)
	if err != nil {
		return err
	}
	sec, ns, _, _ := v.DateTimeParts()
	if f.zone != "" {
		loc, _, err := value.LoadZone(f.zone)
		if err != nil {
			return err
		}
		f.off = value.OffsetAt(loc, sec)
	}
	local := sec + int64(f.off)
	f.days, f.clock = floorDiv(local, daySeconds), floorMod(local, daySeconds)*1e9+int64(ns)
	return nil
}

// component is a key of a constructor's map. A finer one needs the coarser one that it refines, unless a temporal value among the
// components brings it.
type component struct {
	needs       string
	date, clock bool
}

var components = map[string]component{
	"date": {date: true}, "time": {clock: true}, "datetime": {date: true, clock: true},
	"epochSeconds": {date: true, clock: true}, "epochMillis": {date: true, clock: true}, "timezone": {clock: true},
	"year": {date: true}, "month": {date: true, needs: "year"}, "day": {date: true, needs: "month"},
	"week": {date: true, needs: "year"}, "dayOfWeek": {date: true, needs: "week"},
	"quarter": {date: true, needs: "year"}, "dayOfQuarter": {date: true, needs: "quarter"}, "ordinalDay": {date: true, needs: "year"},
	"hour": {clock: true}, "minute": {clock: true, needs: "hour"}, "second": {clock: true, needs: "minute"},
	"millisecond": {clock: true, needs: "second"}, "microsecond": {clock: true, needs: "second"}, "nanosecond": {clock: true, needs: "second"},
}

// calendars are the ways to name a day of a year; a map uses one.
var calendars = [][]string{{"month", "day"}, {"week", "dayOfWeek"}, {"quarter", "dayOfQuarter"}, {"ordinalDay"}}

// checkComponents refuses keys that the kind does not have, a component without the coarser one, and mixed calendars.
func checkComponents(k value.Kind, name string, m value.Value) error {
	has := func(keys ...string) bool {
		for _, key := range keys {
			if v, ok := m.Get(key); ok && !v.IsNull() {
				return true
			}
		}
		return false
	}
	epoch := has("epochSeconds", "epochMillis")
	for i := range m.Len() {
		key, v := m.Entry(i)
		c, ok := components[key]
		if !ok || !(c.date && needsDate(k) || c.clock && needsClock(k) || key == "datetime" || key == "date" || key == "timezone") {
			return dberr.New(dberr.ArgumentError, "%s() has no component `%s`", name, key).WithToken("InvalidArgumentValue")
		}
		if v.IsNull() || c.needs == "" || epoch || has("datetime") || c.date && has("date") || c.clock && has("time") {
			continue
		}
		if !has(c.needs) {
			return dberr.New(dberr.ArgumentError, "%s(): `%s` needs `%s` beside it", name, key, c.needs).WithToken("InvalidArgumentValue")
		}
	}
	used := ""
	for _, c := range calendars {
		for _, key := range c {
			if !has(key) {
				continue
			}
			if used != "" && used != c[0] {
				return dberr.New(dberr.ArgumentError, "%s(): `%s` and `%s` name a day in different ways", name, used, key).WithToken("InvalidArgumentValue")
			}
			used = c[0]
		}
	}
	return nil
}

// numField reads an integer component within bounds.
type numField func(key string, lo, hi int64) (int64, bool, error)

func numbersOf(name string, m value.Value) numField {
	return func(key string, lo, hi int64) (int64, bool, error) {
		v, ok := m.Get(key)
		if !ok || v.IsNull() {
			return 0, false, nil
		}
		if v.Kind() != value.Int || v.Int() < lo || v.Int() > hi {
			return 0, false, badComponent(name, key)
		}
		return v.Int(), true, nil
	}
}

func dateFields(f *fields, num numField) error {
	year, hasYear, err := num("year", -value.MaxYear, value.MaxYear)
	if err != nil {
		return err
	}
	baseY, baseM, baseD := int64(0), 1, 1
	if f.hasDate {
		baseY, baseM, baseD = value.CivilFromDays(f.days)
	}
	type part struct {
		key    string
		lo, hi int64
		n      int64
		has    bool
	}
	parts := []part{{key: "month", lo: 1, hi: 12}, {key: "day", lo: 1, hi: 31}, {key: "week", lo: 1, hi: 53}, {key: "dayOfWeek", lo: 1, hi: 7},
		{key: "quarter", lo: 1, hi: 4}, {key: "dayOfQuarter", lo: 1, hi: 92}, {key: "ordinalDay", lo: 1, hi: 366}}
	any := hasYear
	for i := range parts {
		p := &parts[i]
		if p.n, p.has, err = num(p.key, p.lo, p.hi); err != nil {
			return err
		}
		any = any || p.has
	}
	if !any {
		return nil
	}
	if !hasYear && !f.hasDate {
		return nil // the caller misses the year
	}
	y := baseY
	if hasYear {
		y = year
	}
	month, day, week, dow, quarter, doq, ordinal := parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], parts[6]
	old := f.days
	switch {
	case week.has:
		if !hasYear {
			y, _ = value.WeekDate(old)
		}
		d := int64(1)
		if dow.has {
			d = dow.n
		} else if f.hasDate {
			d = int64(value.Weekday(old))
		}
		jan4 := value.DaysFromCivil(y, 1, 4)
		f.days = jan4 - int64(value.Weekday(jan4)) + 1 + (week.n-1)*7 + d - 1
		if wy, w := value.WeekDate(f.days); wy != y || int64(w) != week.n {
			return badComponent("date", "week")
		}
	case quarter.has || doq.has:
		q := int64(baseM-1)/3 + 1
		if quarter.has {
			q = quarter.n
		}
		start := value.DaysFromCivil(y, int(q-1)*3+1, 1)
		switch {
		case doq.has:
			if f.days = start + doq.n - 1; f.days >= quarterEnd(y, q) {
				return badComponent("date", "dayOfQuarter")
			}
		case f.hasDate:
			m := int(q-1)*3 + (baseM-1)%3 + 1
			f.days = value.DaysFromCivil(y, m, min(baseD, value.DaysIn(y, m)))
		default:
			f.days = start
		}
	case ordinal.has:
		if ordinal.n == 366 && !value.IsLeap(y) {
			return badComponent("date", "ordinalDay")
		}
		f.days = value.DaysFromCivil(y, 1, 1) + ordinal.n - 1
	default:
		m, d := baseM, baseD
		if month.has {
			m = int(month.n)
		}
		if day.has {
			if d = int(day.n); d > value.DaysIn(y, m) {
				return badComponent("date", "day")
			}
		}
		d = min(d, value.DaysIn(y, m))
		f.days = value.DaysFromCivil(y, m, d)
		if dow.has {
			f.days += dow.n - int64(value.Weekday(f.days))
		}
	}
	f.hasDate = true
	return nil
}

// quarterEnd is the first day after quarter q of year y.
func quarterEnd(y, q int64) int64 {
	if q == 4 {
		return value.DaysFromCivil(y+1, 1, 1)
	}
	return value.DaysFromCivil(y, int(q)*3+1, 1)
}

func clockFields(f *fields, num numField) error {
	set := func(key string, unit, mod int64) error {
		n, ok, err := num(key, 0, mod-1)
		if err != nil || !ok {
			return err
		}
		f.clock += (n - f.clock/unit%mod) * unit
		f.hasClock = true
		return nil
	}
	if err := set("hour", 3600e9, 24); err != nil {
		return err
	}
	if err := set("minute", 60e9, 60); err != nil {
		return err
	}
	if err := set("second", 1e9, 60); err != nil {
		return err
	}
	ms, hasMs, err := num("millisecond", 0, 999)
	if err != nil {
		return err
	}
	us, hasUs, err := num("microsecond", 0, 999_999)
	if err != nil {
		return err
	}
	ns, hasNs, err := num("nanosecond", 0, 999_999_999)
	if err != nil {
		return err
	}
	if hasMs || hasUs || hasNs { // parts finer than what is given stay
		old := f.clock % 1e9
		sub := int64(0)
		switch {
		case hasNs:
			sub = ms*1e6 + us*1e3 + ns
		case hasUs:
			sub = ms*1e6 + us*1e3 + old%1e3
		default:
			sub = ms*1e6 + old%1e6
		}
		f.clock += sub - old
		f.hasClock = true
	}
	return nil
}

// MakeDuration makes a duration from a map of components.
func MakeDuration(m value.Value) (value.Value, error) {
	var b value.DurationBuilder
	for i := range m.Len() {
		key, v := m.Entry(i)
		unit, per := byte(0), 1.0
		switch key {
		case "years":
			unit = 'Y'
		case "quarters":
			unit, per = 'M', 3
		case "months":
			unit = 'M'
		case "weeks":
			unit = 'W'
		case "days":
			unit = 'D'
		case "hours":
			unit = 'H'
		case "minutes":
			unit = 'm'
		case "seconds":
			unit = 's'
		case "milliseconds", "microseconds", "nanoseconds":
		default:
			return value.Value{}, dberr.New(dberr.ArgumentError, "duration() has no component `%s`", key).WithToken("InvalidArgumentValue")
		}
		if v.IsNull() {
			continue
		}
		if !v.IsNumber() {
			return value.Value{}, badComponent("duration", key)
		}
		ok := true
		switch {
		case unit == 0:
			scale := map[string]int64{"milliseconds": 1e6, "microseconds": 1e3, "nanoseconds": 1}[key]
			if v.Kind() == value.Int {
				n := v.Int()
				b.Seconds += n / (1e9 / scale)
				b.Nanos += n % (1e9 / scale) * scale
			} else {
				ok = addFloatUnit(&b, 's', asFloat(v)*float64(scale)/1e9)
			}
		case v.Kind() == value.Int && per == 1:
			n := v.Int()
			if n == math.MinInt64 {
				ok = false
				break
			}
			ok = b.Add(unit, max(n, -n), 0, n < 0)
		default:
			ok = addFloatUnit(&b, unit, asFloat(v)*per)
		}
		if !ok {
			return value.Value{}, overflow()
		}
	}
	return b.Duration(), nil
}

// AtEpoch is the DateTime at UTC so many seconds, milliseconds and nanoseconds after 1970.
func AtEpoch(sec, ms, ns int64) (value.Value, error) {
	if !between(sec, maxSeconds) {
		return value.Value{}, overflow()
	}
	sec += floorDiv(ms, 1000) + floorDiv(ns, 1e9)
	return inYears(value.NewDateTime(sec, uint32(floorMod(ms, 1000)*1e6+floorMod(ns, 1e9)), 0, ""))
}
