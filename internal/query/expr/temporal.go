package expr

import (
	"math"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

const (
	daySeconds = 86400
	dayNanos   = daySeconds * 1e9

	// Bounds beyond which adding a duration leaves the calendar (years ±999,999,999).
	maxMonths  = 24_000_000_000
	maxDays    = 730_000_000_000
	maxSeconds = 63_072_000_000_000_000
)

func temporalOverflow() error {
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

// addTemporal adds a duration to a temporal value or to a duration: months first, the day clamped to the month, then days, then
// seconds. ok is false if the kinds do not add up.
func addTemporal(t, d value.Value, sign int64) (v value.Value, ok bool, err error) {
	if d.Kind() != value.Duration || !t.Kind().IsTemporal() {
		return value.Value{}, false, nil
	}
	months, days, sec, n := d.DurationParts()
	ns := int64(n)
	if !between(months, maxMonths) || !between(days, maxDays) || !between(sec, maxSeconds) {
		return value.Value{}, true, temporalOverflow()
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
			return 0, temporalOverflow()
		}
		return epoch, nil
	}
	switch t.Kind() {
	case value.Duration:
		m, dd, s, tn := t.DurationParts()
		if !between(m, maxMonths) || !between(dd, maxDays) || !between(s, maxSeconds) {
			return value.Value{}, true, temporalOverflow()
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
		return value.NewLocalDateTime(local+sec+carry, nano), true, nil
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
	return value.NewDateTime(at, nano, off, zone), true, nil
}

func wrapTime(local, sec, ns int64) int64 {
	return floorMod(local+floorMod(sec, daySeconds)*1e9+ns, dayNanos)
}

// scaleDuration multiplies by num/den; fractions cascade downward.
func scaleDuration(d value.Value, num, den float64) (value.Value, error) {
	if den == 0 {
		return value.Value{}, divisionByZero()
	}
	months, days, sec, ns := d.DurationParts()
	var b value.DurationBuilder
	for _, p := range [...]struct {
		n    int64
		unit byte
	}{{months, 'M'}, {days, 'D'}, {sec, 's'}} {
		x := float64(p.n) * num / den
		if !addFloatUnit(&b, p.unit, x) {
			return value.Value{}, temporalOverflow()
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

func noComponent(v value.Value, key string) error {
	return dberr.New(dberr.ArgumentError, "%s has no component `%s`", KindName(v.Kind()), key).WithToken("InvalidArgumentValue")
}

// temporalComponent reads a component of a temporal value or of a duration.
func temporalComponent(v value.Value, key string) (value.Value, error) {
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
	return value.Value{}, noComponent(v, key)
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
		return value.Value{}, noComponent(v, key)
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

// ---- constructors

var temporalKinds = []struct {
	name string
	kind value.Kind
}{{"date", value.Date}, {"localtime", value.LocalTime}, {"time", value.Time}, {"localdatetime", value.LocalDateTime}, {"datetime", value.DateTime}}

func init() {
	for _, t := range temporalKinds {
		result := Type{Kinds: 1 << t.kind}
		arg := Type{Kinds: TString.Kinds | TMap.Kinds | TAnyTime.Kinds}
		clock := func(f func(e *Env) time.Time) kernel {
			return func(c *call, a []value.Value) (value.Value, error) {
				loc := c.env.Zone
				if len(a) == 1 {
					var err error
					if loc, _, err = zoneArg(a[0].Text()); err != nil {
						return value.Value{}, err
					}
				}
				return fromClock(t.kind, f(c.env), loc, nil), nil
			}
		}
		register(&Def{Name: t.name, Category: "temporal", Vol: Statement, Raises: true,
			Description: "A " + KindName(t.kind) + " from text, a map of components or another temporal value; without argument the current one.",
			Sigs:        sigs(sig(result), sig(result, arg)),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if len(a) == 0 {
					return fromClock(t.kind, c.env.Now, c.env.Zone, nil), nil
				}
				return makeTemporal(c.env, t.kind, t.name, a[0])
			}},
			&Def{Name: t.name + ".statement", Category: "temporal", Vol: Statement, Raises: true, Description: "The time at which the statement began.",
				Sigs: sigs(sig(result, TString).opt(1)), kernel: clock(func(e *Env) time.Time { return e.Now })},
			&Def{Name: t.name + ".transaction", Category: "temporal", Vol: Statement, Raises: true, Description: "The time at which the transaction began.",
				Sigs: sigs(sig(result, TString).opt(1)), kernel: clock(func(e *Env) time.Time { return e.TxNow })},
			&Def{Name: t.name + ".realtime", Category: "temporal", Vol: Volatile, Raises: true, Description: "The time of the call.",
				Sigs: sigs(sig(result, TString).opt(1)), kernel: clock(func(e *Env) time.Time { return time.Now() })},
		)
	}
	register(
		&Def{Name: "duration", Category: "temporal", Raises: true, Description: "A duration from text or from a map of components.",
			Sigs: sigs(sig(Type{Kinds: 1 << value.Duration}, Type{Kinds: TString.Kinds | TMap.Kinds | 1<<value.Duration})),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				switch a[0].Kind() {
				case value.Duration:
					return a[0], nil
				case value.String:
					return value.ParseTemporal(value.Duration, a[0].Str())
				case value.Map:
					return makeDuration(a[0])
				}
				return value.Value{}, wantKind("duration", a[0], "a String or Map")
			}},
		&Def{Name: "datetime.fromepoch", Category: "temporal", Raises: true, Description: "A DateTime from seconds and nanoseconds since 1970.",
			Sigs: sigs(sig(Type{Kinds: 1 << value.DateTime}, TNumber, TNumber)),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				sec, err := wholeArg(c, "datetime.fromepoch", a[0])
				if err != nil {
					return value.Value{}, err
				}
				ns, err := wholeArg(c, "datetime.fromepoch", a[1])
				if err != nil {
					return value.Value{}, err
				}
				return atEpoch(sec, floorDiv(ns, 1e9), floorMod(ns, 1e9))
			}},
		&Def{Name: "datetime.fromepochmillis", Category: "temporal", Raises: true, Description: "A DateTime from milliseconds since 1970.",
			Sigs: sigs(sig(Type{Kinds: 1 << value.DateTime}, TNumber)),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				ms, err := wholeArg(c, "datetime.fromepochmillis", a[0])
				if err != nil {
					return value.Value{}, err
				}
				return atEpoch(floorDiv(ms, 1000), 0, floorMod(ms, 1000)*1e6)
			}},
	)
}

// wholeArg reads a number as an integer, cutting off its fraction.
func wholeArg(c *call, fn string, v value.Value) (int64, error) {
	if !v.IsNumber() {
		return 0, wantKind(fn, v, "numbers")
	}
	i, _, err := toInteger(c, v)
	return i.Int(), err
}

// atEpoch is the DateTime at UTC so many seconds after 1970.
func atEpoch(sec, more, ns int64) (value.Value, error) {
	if !between(sec, maxSeconds) || !between(more, maxSeconds) {
		return value.Value{}, temporalOverflow()
	}
	sec += more
	if y, _, _ := value.CivilFromDays(floorDiv(sec, daySeconds)); !between(y, value.MaxYear) {
		return value.Value{}, temporalOverflow()
	}
	return value.NewDateTime(sec, uint32(ns), 0, ""), nil
}

// zoneArg reads an offset or a zone name.
func zoneArg(s string) (loc *time.Location, name string, err error) {
	if off, ok := value.ParseOffset(s); ok {
		return time.FixedZone("", int(off)), "", nil
	}
	return value.LoadZone(s)
}

// fromClock is the reading of a clock as a value of the kind.
func fromClock(k value.Kind, t time.Time, loc *time.Location, name *string) value.Value {
	if loc == nil {
		loc = time.UTC
	}
	sec, ns := t.Unix(), uint32(t.Nanosecond())
	off := value.OffsetAt(loc, sec)
	zone := loc.String()
	if loc == time.UTC || zone == "UTC" || zone == "Local" {
		zone = ""
	}
	if name != nil {
		zone = *name
	}
	return convert(k, value.NewDateTime(sec, ns, off, zone))
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
func (f *fields) build(env *Env, k value.Kind) (value.Value, error) {
	switch k {
	case value.Date:
		return value.NewDate(f.days), nil
	case value.LocalTime:
		return value.NewLocalTime(f.clock), nil
	case value.Time:
		return value.NewTime(f.clock, f.off), nil
	}
	local := f.days*daySeconds + f.clock/1e9
	ns := uint32(f.clock % 1e9)
	if k == value.LocalDateTime {
		return value.NewLocalDateTime(local, ns), nil
	}
	off := f.off
	if f.zone != "" {
		loc, name, err := value.LoadZone(f.zone)
		if err != nil {
			return value.Value{}, err
		}
		off = value.OffsetAtLocal(loc, local)
		sec := local - int64(off)
		return value.NewDateTime(sec, ns, value.OffsetAt(loc, sec), name), nil
	}
	return value.NewDateTime(local-int64(off), ns, off, ""), nil
}

func makeTemporal(env *Env, k value.Kind, name string, a value.Value) (value.Value, error) {
	switch a.Kind() {
	case value.String:
		return value.ParseTemporal(k, a.Str())
	case value.Map:
		return temporalFromMap(env, k, name, a)
	}
	if !a.Kind().IsTemporal() || a.Kind() == value.Duration {
		return value.Value{}, wantKind(name, a, "a String, Map or temporal value")
	}
	var f fields
	f.take(a)
	if needsDate(k) && !f.hasDate || needsClock(k) && !f.hasClock && k != value.LocalDateTime && k != value.DateTime {
		return value.Value{}, wantKind(name, a, "a value with the components of a "+KindName(k))
	}
	return f.build(env, k)
}

func needsDate(k value.Kind) bool {
	return k == value.Date || k == value.LocalDateTime || k == value.DateTime
}
func needsClock(k value.Kind) bool { return k != value.Date }

func badComponent(name, key string) error {
	return dberr.New(dberr.ArgumentError, "%s(): invalid value for `%s`", name, key).WithToken("InvalidArgumentValue")
}

// temporalFromMap reads components: a base (date, time, datetime, epochSeconds, epochMillis), then single ones over it.
func temporalFromMap(env *Env, k value.Kind, name string, m value.Value) (value.Value, error) {
	if m.Len() == 1 {
		if zone, ok := m.Get("timezone"); ok && zone.Kind() == value.String { // the clock, read there
			loc, zoneName, err := zoneArg(zone.Str())
			if err != nil {
				return value.Value{}, err
			}
			return fromClock(k, env.Now, loc, &zoneName), nil
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
		if err := f.move(env, k, v.Str()); err != nil {
			return value.Value{}, err
		}
	}
	return f.build(env, k)
}

// move brings the fields to another zone. A time of day that came with a zone names an instant: that stays and the reading
// changes, once all components are in place. One without a zone is only labelled.
func (f *fields) move(env *Env, k value.Kind, zone string) error {
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
			f.off = value.OffsetAt(loc, env.Now.Unix())
		}
	}
	if !old.hasZone {
		return nil
	}
	if k == value.Time {
		f.clock = floorMod(f.clock+int64(f.off-old.off)*1e9, dayNanos)
		return nil
	}
	v, err := old.build(env, value.DateTime)
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

func makeDuration(m value.Value) (value.Value, error) {
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
				ok = addFloatUnit(&b, 's', toFloat(v)*float64(scale)/1e9)
			}
		case v.Kind() == value.Int && per == 1:
			n := v.Int()
			if n == math.MinInt64 {
				ok = false
				break
			}
			ok = b.Add(unit, max(n, -n), 0, n < 0)
		default:
			ok = addFloatUnit(&b, unit, toFloat(v)*per)
		}
		if !ok {
			return value.Value{}, temporalOverflow()
		}
	}
	return b.Duration(), nil
}
