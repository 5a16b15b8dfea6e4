package expr

import (
	"strings"
	"unicode/utf8"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

func runes(s string) int { return utf8.RuneCountInString(s) }

func init() {
	text := func(name, doc string, age bool, f func(string) string, aliases ...string) *Def {
		d := &Def{Name: name, Aliases: aliases, Category: "string", Description: doc, Sigs: sigs(sig(TString, TString)), Raises: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if a[0].Kind() != value.String {
					return value.Value{}, wantKind(name, a[0], "a String")
				}
				c.buf = c.buf[:0]
				c.room(len(a[0].Str()))
				c.pieces(a[0].Str(), func(part string) { c.buf = append(c.buf, f(part)...) })
				return value.NewStringBytes(c.buf), nil
			}}
		if age {
			d.AGE = name
		}
		return d
	}
	isSpace := func(r rune) bool { return r <= ' ' || r == '\u00a0' || r == '\u3000' }
	trimSet := func(name, doc string, both func(s, set string) string, space func(s string) string, age bool, aliases ...string) *Def {
		d := &Def{Name: name, Aliases: aliases, Category: "string", Description: doc, Sigs: sigs(sig(TString, TString, TString).opt(1)), Raises: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				for _, v := range a {
					if v.Kind() != value.String {
						return value.Value{}, wantKind(name, v, "a String")
					}
				}
				if len(a) == 2 {
					return c.str(both(a[0].Str(), a[1].Str())), nil
				}
				return c.str(space(a[0].Str())), nil
			}}
		if age {
			d.AGE = name
		}
		return d
	}
	trimL := func(s string) string { return strings.TrimLeftFunc(s, isSpace) }
	trimR := func(s string) string { return strings.TrimRightFunc(s, isSpace) }
	trimB := func(s string) string { return strings.TrimFunc(s, isSpace) }
	register(
		text("toUpper", "A string in upper case.", true, strings.ToUpper, "upper"),
		text("toLower", "A string in lower case.", true, strings.ToLower, "lower"),
		trimSet("trim", "A string without spaces (or given characters) at both ends.", strings.Trim, trimB, true, "btrim"),
		trimSet("lTrim", "A string without spaces (or given characters) at its start.", strings.TrimLeft, trimL, true),
		trimSet("rTrim", "A string without spaces (or given characters) at its end.", strings.TrimRight, trimR, true),
		&Def{Name: "char_length", Aliases: []string{"character_length"}, Category: "string", Description: "The number of characters of a string.", Sigs: sigs(sig(TInt, TString)), Raises: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if a[0].Kind() != value.String {
					return value.Value{}, wantKind("char_length", a[0], "a String")
				}
				return value.NewInt(int64(runes(a[0].Str()))), nil
			}},
		&Def{Name: "left", AGE: "left", Category: "string", Description: "The first n characters of a string.", Sigs: sigs(sig(TString, TString, TInt)), Raises: true, NullIn: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				n, null, err := lengthArg("left", a)
				if null || err != nil {
					return value.Value{}, err
				}
				return value.NewString(a[0].Str()[:offset(a[0].Str(), n)]), nil
			}},
		&Def{Name: "right", AGE: "right", Category: "string", Description: "The last n characters of a string.", Sigs: sigs(sig(TString, TString, TInt)), Raises: true, NullIn: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				n, null, err := lengthArg("right", a)
				if null || err != nil {
					return value.Value{}, err
				}
				s := a[0].Str()
				return value.NewString(s[offset(s, max(int64(runes(s))-n, 0)):]), nil
			}},
		&Def{Name: "substring", AGE: "substring", Category: "string", Description: "Characters of a string from a position counted from 0, at most so many.", Raises: true,
			Sigs: sigs(sig(TString, TString, TInt, TInt).opt(1)), NullIn: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if a[0].IsNull() {
					return value.Value{}, nil
				}
				if a[0].Kind() != value.String {
					return value.Value{}, wantKind("substring", a[0], "a String")
				}
				for _, v := range a[1:] {
					if v.IsNull() {
						return value.Value{}, dberr.New(dberr.ArgumentError, "substring() offset and length cannot be null").WithToken("InvalidArgumentValue")
					}
					if v.Kind() != value.Int {
						return value.Value{}, wantKind("substring", v, "an Integer")
					}
					if v.Int() < 0 {
						return value.Value{}, dberr.New(dberr.ArgumentError, "substring() negative values are not supported for offset or length").WithToken("NegativeIntegerArgument")
					}
				}
				s := a[0].Str()
				s = s[offset(s, a[1].Int()):]
				if len(a) > 2 {
					s = s[:offset(s, a[2].Int())]
				}
				return value.NewString(s), nil
			}},
		&Def{Name: "replace", AGE: "replace", Category: "string", Description: "A string with every occurrence of one text replaced by another.", Raises: true,
			Sigs: sigs(sig(TString, TString, TString, TString)),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				for _, v := range a {
					if v.Kind() != value.String {
						return value.Value{}, wantKind("replace", v, "a String")
					}
				}
				if a[1].Str() == "" {
					return a[0], nil
				}
				s, from, to := a[0].Str(), a[1].Str(), a[2].Str()
				if len(s)+len(to) >= bigValue {
					n := strings.Count(s, from)
					if n > 0 && len(to) > MaxValue/n {
						c.room(MaxValue + 1)
					}
					c.room(len(s) + n*(len(to)-len(from)))
				}
				c.buf = c.buf[:0]
				for {
					i := strings.Index(s, from)
					if i < 0 {
						break
					}
					c.buf = append(append(c.buf, s[:i]...), to...)
					s = s[i+len(from):]
					c.walk(elemCost + i + len(to))
				}
				c.buf = append(c.buf, s...)
				return value.NewStringBytes(c.buf), nil
			}},
		&Def{Name: "split", AGE: "split", Category: "string", Description: "The parts of a string between delimiters.", Raises: true,
			Sigs: sigs(sig(ListOf(TString), TString, Type{Kinds: TString.Kinds | TList.Kinds})),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if a[0].Kind() != value.String {
					return value.Value{}, wantKind("split", a[0], "a String")
				}
				var seps []string
				switch a[1].Kind() {
				case value.String:
					seps = []string{a[1].Str()}
				case value.List:
					for _, e := range a[1].All() {
						if e.Kind() != value.String {
							return value.Value{}, wantKind("split", e, "Strings as delimiters")
						}
						seps = append(seps, e.Str())
					}
				default:
					return value.Value{}, wantKind("split", a[1], "a String as delimiter")
				}
				c.lb.Reset()
				split(c, a[0].Str(), seps)
				return c.list(), nil
			}},
	)
}

// split adds the parts of s to the list. An empty delimiter cuts between characters.
func split(c *call, s string, seps []string) {
	if len(seps) == 1 && seps[0] == "" {
		if s == "" {
			c.add(value.NewString(""))
		}
		for s != "" {
			_, w := utf8.DecodeRuneInString(s)
			c.add(value.NewString(s[:w]))
			s = s[w:]
		}
		return
	}
	for {
		at, w := -1, 0
		for _, sep := range seps {
			if i := strings.Index(s, sep); sep != "" && i >= 0 && (at < 0 || i < at) {
				at, w = i, len(sep)
			}
		}
		if at < 0 {
			c.add(value.NewString(s))
			return
		}
		c.add(value.NewString(s[:at]))
		s = s[at+w:]
	}
}

// lengthArg checks the arguments of left and right. A null string gives null, a null length is an error unless the string is null.
func lengthArg(fn string, a []value.Value) (n int64, null bool, err error) {
	if a[0].IsNull() {
		return 0, true, nil
	}
	if a[0].Kind() != value.String {
		return 0, false, wantKind(fn, a[0], "a String")
	}
	if a[1].IsNull() {
		return 0, false, dberr.New(dberr.ArgumentError, "%s() length parameter cannot be null", fn).WithToken("InvalidArgumentValue")
	}
	if a[1].Kind() != value.Int {
		return 0, false, wantKind(fn, a[1], "an Integer")
	}
	if a[1].Int() < 0 {
		return 0, false, dberr.New(dberr.ArgumentError, "%s() negative values are not supported for length", fn).WithToken("NegativeIntegerArgument")
	}
	return a[1].Int(), false, nil
}

// offset is the byte offset of character n of s, or the length of s.
func offset(s string, n int64) int {
	if n >= int64(len(s)) {
		return len(s)
	}
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}
