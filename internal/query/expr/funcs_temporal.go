package expr

import (
	"time"

	"github.com/hedgerowdb/hedgerow/internal/temporal"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

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
				if len(a) == 0 {
					return temporal.FromClock(t.kind, f(c.env), c.env.Zone), nil
				}
				loc, name, err := temporal.Zone(a[0].Text())
				if err != nil {
					return value.Value{}, err
				}
				return temporal.ReadClock(t.kind, f(c.env), loc, name), nil
			}
		}
		register(&Def{Name: t.name, Category: "temporal", Vol: Statement, Raises: true,
			Description: "A " + KindName(t.kind) + " from text, a map of components or another temporal value; without argument the current one.",
			Sigs:        sigs(sig(result), sig(result, arg)),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if len(a) == 0 {
					return temporal.FromClock(t.kind, c.env.Now, c.env.Zone), nil
				}
				return temporal.Make(c.env.Now, t.kind, t.name, a[0])
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
					return temporal.MakeDuration(a[0])
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
				return temporal.AtEpoch(sec, 0, ns)
			}},
		&Def{Name: "datetime.fromepochmillis", Category: "temporal", Raises: true, Description: "A DateTime from milliseconds since 1970.",
			Sigs: sigs(sig(Type{Kinds: 1 << value.DateTime}, TNumber)),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				ms, err := wholeArg(c, "datetime.fromepochmillis", a[0])
				if err != nil {
					return value.Value{}, err
				}
				return temporal.AtEpoch(0, ms, 0)
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

func init() {
	moment := TAnyTime
	dur := Type{Kinds: 1 << value.Duration}
	for _, d := range []struct {
		name, doc string
		part      temporal.Span
	}{
		{"duration.between", "The duration from one temporal value to another, in months, days and seconds.", temporal.All},
		{"duration.inMonths", "The whole months from one temporal value to another.", temporal.Months},
		{"duration.inDays", "The whole days from one temporal value to another.", temporal.Days},
		{"duration.inSeconds", "The seconds from one temporal value to another.", temporal.Seconds},
	} {
		register(&Def{Name: d.name, Category: "temporal", Description: d.doc, Raises: true, Sigs: sigs(sig(dur, moment, moment)),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				for _, v := range a {
					if !v.Kind().IsTemporal() || v.Kind() == value.Duration {
						return value.Value{}, wantKind(d.name, v, "temporal values")
					}
				}
				return temporal.Between(a[0], a[1], d.part)
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
				v := temporal.FromClock(value.DateTime, c.env.Now, c.env.Zone)
				if len(a) > 1 {
					v = a[1]
				}
				var m value.Value
				if len(a) > 2 {
					m = a[2]
				}
				return temporal.Truncate(c.env.Now, c.env.Zone, t.kind, name, a[0].Str(), v, m)
			}})
	}
}
