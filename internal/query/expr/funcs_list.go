package expr

import (
	"math"
	"unicode/utf8"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// leastElem is the least number of bytes that an element of a list takes. It tells before a long list is made that it cannot fit.
const leastElem = 2

func init() {
	listArg := func(name string, f func(c *call, l value.Value) value.Value) kernel {
		return func(c *call, a []value.Value) (value.Value, error) {
			if a[0].Kind() != value.List {
				return value.Value{}, wantKind(name, a[0], "a List")
			}
			return f(c, a[0]), nil
		}
	}
	register(
		&Def{Name: "size", AGE: "size", Category: "scalar", Description: "The number of elements of a list, or of characters of a string.",
			Sigs: sigs(sig(TInt, Type{Kinds: TString.Kinds | TList.Kinds})), Raises: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				switch a[0].Kind() {
				case value.String:
					return value.NewInt(int64(runes(a[0].Str()))), nil
				case value.List, value.Map:
					return value.NewInt(int64(a[0].Len())), nil
				case value.Bytes:
					return value.NewInt(int64(len(a[0].Raw()))), nil
				}
				return value.Value{}, wantKind("size", a[0], "a String or List")
			}},
		&Def{Name: "head", AGE: "head", Category: "list", Description: "The first element of a list.", Sigs: sigs(sig(Any, TList)), Raises: true,
			kernel: listArg("head", func(c *call, l value.Value) value.Value { return elementAt(l, 0) })},
		&Def{Name: "last", AGE: "last", Category: "list", Description: "The last element of a list.", Sigs: sigs(sig(Any, TList)), Raises: true,
			kernel: listArg("last", func(c *call, l value.Value) value.Value { return elementAt(l, -1) })},
		&Def{Name: "tail", AGE: "tail", Category: "list", Description: "A list without its first element.", Sigs: sigs(sig(TList, TList)), Raises: true,
			kernel: listArg("tail", func(c *call, l value.Value) value.Value {
				c.lb.Reset()
				for i, e := range l.All() {
					if i > 0 {
						c.add(e)
					}
				}
				return c.list()
			})},
		&Def{Name: "reverse", AGE: "reverse", Category: "list", Description: "A list or string from its end to its start.", Raises: true,
			Sigs: sigs(sig(TString, TString), sig(TList, TList)),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				switch a[0].Kind() {
				case value.List:
					c.lb.Reset()
					for i := a[0].Len() - 1; i >= 0; i-- {
						c.add(a[0].At(i))
					}
					return c.list(), nil
				case value.String:
					s := a[0].Str()
					c.room(len(s))
					c.buf = c.buf[:0]
					for s != "" {
						_, n := utf8.DecodeLastRuneInString(s)
						c.buf = append(c.buf, s[len(s)-n:]...)
						s = s[:len(s)-n]
						c.walk(n)
					}
					return value.NewStringBytes(c.buf), nil
				}
				return value.Value{}, wantKind("reverse", a[0], "a String or List")
			}},
		&Def{Name: "range", AGE: "range", Category: "list", Description: "The integers from start to end, both included, by step.", Raises: true,
			Sigs: sigs(sig(ListOf(TInt), TInt, TInt, TInt).opt(1)),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				start, step, n, err := rangeOf(a)
				if err != nil {
					return value.Value{}, err
				}
				if n > MaxValue/leastElem {
					return value.Value{}, dberr.New(dberr.OutOfMemory, "range() would make a list of %d elements, more than a value may hold", n)
				}
				c.room(int(n) * leastElem)
				c.lb.Reset()
				for i := range int64(n) {
					c.add(value.NewInt(start + i*step))
				}
				return c.list(), nil
			}},
	)
}

// rangeOf reads the arguments of range: the first element, the step and the number of elements.
func rangeOf(a []value.Value) (start, step int64, n uint64, err error) {
	for _, v := range a {
		if v.Kind() != value.Int {
			return 0, 0, 0, wantKind("range", v, "Integers")
		}
	}
	step = 1
	if len(a) > 2 {
		step = a[2].Int()
	}
	n, err = rangeLen(a[0].Int(), a[1].Int(), step)
	return a[0].Int(), step, n, err
}

// AsRange returns the arguments of an expression that is a call of range(), so that UNWIND can count instead of making the list, and a
// function that reads their values: n elements from start on. Null arguments give none.
func AsRange(e Expr) (args []Expr, read func(a []value.Value) (start, step int64, n uint64, err error)) {
	call, ok := e.(*Func)
	if !ok || call.Def.Name != "range" {
		return nil, nil
	}
	pos, end := call.Span()
	return call.Args, func(a []value.Value) (start, step int64, n uint64, err error) {
		for _, v := range a {
			if v.IsNull() {
				return 0, 0, 0, nil
			}
		}
		if start, step, n, err = rangeOf(a); err != nil {
			err = locate(err, pos, end)
		}
		return start, step, n, err
	}
}

// rangeLen is the number of elements of range(start, end, step).
func rangeLen(start, end, step int64) (uint64, error) {
	switch {
	case step == 0:
		return 0, numberOutOfRange("the step of range() must not be 0")
	case step > 0 && start > end, step < 0 && start < end:
		return 0, nil
	case step > 0:
		n := (uint64(end) - uint64(start)) / uint64(step)
		return n + boolWord(n < math.MaxUint64), nil
	}
	n := (uint64(start) - uint64(end)) / -uint64(step)
	return n + boolWord(n < math.MaxUint64), nil
}
