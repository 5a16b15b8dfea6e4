package expr

import (
	"math"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// maxRange bounds the list that range() makes: beyond it the list is a mistake, and would be the memory of the machine.
const maxRange = 1 << 26

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
						c.lb.Add(e)
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
						c.lb.Add(a[0].At(i))
					}
					return c.list(), nil
				case value.String:
					r := []rune(a[0].Str())
					c.buf = c.buf[:0]
					for i := len(r) - 1; i >= 0; i-- {
						c.buf = append(c.buf, string(r[i])...)
					}
					return value.NewStringBytes(c.buf), nil
				}
				return value.Value{}, wantKind("reverse", a[0], "a String or List")
			}},
		&Def{Name: "range", AGE: "range", Category: "list", Description: "The integers from start to end, both included, by step.", Raises: true,
			Sigs: sigs(sig(ListOf(TInt), TInt, TInt, TInt).opt(1)),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				for _, v := range a {
					if v.Kind() != value.Int {
						return value.Value{}, wantKind("range", v, "Integers")
					}
				}
				start, end, step := a[0].Int(), a[1].Int(), int64(1)
				if len(a) > 2 {
					step = a[2].Int()
				}
				n, err := RangeLen(start, end, step)
				if err != nil {
					return value.Value{}, err
				}
				if n > maxRange {
					return value.Value{}, dberr.New(dberr.OutOfMemory, "range() would make a list of %d elements", n)
				}
				if c.env.Mem != nil && n > 1<<12 { // the list is charged by who keeps it; this is for the making
					if err := c.env.Mem.Grow(int64(n) * 24); err != nil {
						return value.Value{}, err
					}
					defer c.env.Mem.Grow(-int64(n) * 24)
				}
				c.lb.Reset()
				for i := range int64(n) {
					c.lb.Add(value.NewInt(start + i*step))
				}
				return c.list(), nil
			}},
	)
}

// RangeLen is the number of elements of range(start, end, step), so that UNWIND can count instead of making the list.
func RangeLen(start, end, step int64) (uint64, error) {
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
