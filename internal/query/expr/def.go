package expr

import (
	"sort"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// Volatility says when two calls with equal arguments give the same.
type Volatility uint8

const (
	Pure      Volatility = iota // always
	Reads                       // reads the graph: the same at one view
	Statement                   // the same throughout a statement (the clock)
	Volatile                    // never (rand)
)

// Sig is one static signature.
type Sig struct {
	Args     []Type
	Optional int  // so many trailing args may be left out
	Variadic bool // the last arg may repeat
	Result   Type
}

// Def describes one function (rules C11). The table serves both languages, SHOW FUNCTIONS and the docs.
type Def struct {
	Name        string   // as Cypher writes it
	Aliases     []string // further names
	AGE         string   // name in Apache AGE's cypher(), "" if it has none
	Category    string
	Description string
	Sigs        []Sig
	Vol         Volatility
	NullIn      bool // is called with null arguments; else any null argument gives null
	Aggregate   bool
	// Raises tells that a call may fail for arguments of the static types, so it is never folded.
	Raises bool

	lazy   bool // evaluates its later arguments only where it needs them
	kernel kernel
	whole  wholeKernel // computes a batch at once; used instead of kernel if set
	agg    func(star bool) states
}

// kernel evaluates one row. args are never null unless NullIn. The result may point into the call's buffers or into the arguments.
type kernel func(c *call, args []value.Value) (value.Value, error)

// wholeKernel evaluates a batch: n rows of args, hints of the first argument if it is a column that has some.
type wholeKernel func(f *frame, n int, args []*vec.Column, hints []store.Hint, out *vec.Column) error

// call is the scratch memory that kernels build results in. A result is copied out before the next call.
type call struct {
	env     *Env
	buf     []byte
	listBuf []byte
	mapBuf  []byte
	lb      value.ListBuilder
	mb      value.MapBuilder
	work    int // bytes since the last look at the cancel flag
}

// list ends the list in c.lb.
func (c *call) list() value.Value {
	c.room(2 * c.lb.Size()) // the list, and its copy in a column
	c.listBuf = c.lb.Append(c.listBuf[:0])
	return value.FromBytes(value.List, 0, c.listBuf)
}

// mapValue ends the map in c.mb.
func (c *call) mapValue() value.Value {
	c.room(2 * c.mb.Size())
	c.mapBuf = c.mb.Append(c.mapBuf[:0])
	return value.FromBytes(value.Map, 0, c.mapBuf)
}

// str keeps a text in the call's buffer.
func (c *call) str(s string) value.Value {
	c.room(len(s))
	c.buf = append(c.buf[:0], s...)
	return value.NewStringBytes(c.buf)
}

var table = map[string]*Def{}

// register adds functions to the table; it runs at start-up only.
func register(defs ...*Def) {
	for _, d := range defs {
		for _, n := range append([]string{d.Name}, d.Aliases...) {
			k := strings.ToLower(n)
			if table[k] != nil {
				panic("expr: function " + n + " is registered twice")
			}
			table[k] = d
		}
	}
}

// Lookup finds a function by its Cypher name, without regard to case.
func Lookup(name string) (*Def, bool) {
	d, ok := table[strings.ToLower(name)]
	return d, ok
}

// Functions lists the table by name.
func Functions() []*Def {
	var out []*Def
	for k, d := range table {
		if k == strings.ToLower(d.Name) && !strings.HasPrefix(k, "::") {
			out = append(out, d)
		}
	}
	sort.Slice(out, func(i, j int) bool { return strings.ToLower(out[i].Name) < strings.ToLower(out[j].Name) })
	return out
}

// Check finds the signature for arguments of static types. It returns the result type, or an error with the TCK's token
// (InvalidNumberOfArguments, InvalidArgumentType) and without a position.
func (d *Def) Check(args []Type) (Type, error) {
	countFits := false
	var badArg int
	var want Type
	for _, s := range d.Sigs {
		if len(args) > len(s.Args) && !s.Variadic || len(args) < len(s.Args)-s.Optional {
			continue
		}
		countFits = true
		ok := true
		for i, a := range args {
			w := s.Args[min(i, len(s.Args)-1)]
			if !a.May(w.Kinds) {
				ok, badArg, want = false, i, w
				break
			}
		}
		if ok {
			return s.Result, nil
		}
	}
	if !countFits {
		return Type{}, dberr.New(dberr.Syntax, "wrong number of arguments for %s()", d.Name).WithToken("InvalidNumberOfArguments")
	}
	return Type{}, dberr.New(dberr.DatatypeMismatch, "%s() expects %s, found %s", d.Name, want, args[badArg]).WithToken("InvalidArgumentType")
}

// Signature prints a signature as name(args) :: result.
func (d *Def) Signature(i int) string {
	s := d.Sigs[i]
	var b strings.Builder
	b.WriteString(d.Name + "(")
	for k, a := range s.Args {
		if k > 0 {
			b.WriteString(", ")
		}
		if k >= len(s.Args)-s.Optional {
			b.WriteString("[")
		}
		b.WriteString(strings.ToUpper(a.String()))
		if k >= len(s.Args)-s.Optional {
			b.WriteString("]")
		}
	}
	if s.Variadic {
		b.WriteString(", ...")
	}
	return b.String() + ") :: " + strings.ToUpper(s.Result.String())
}

func sig(result Type, args ...Type) Sig { return Sig{Args: args, Result: result} }

func sigs(s ...Sig) []Sig { return s }

// opt makes the last n arguments optional.
func (s Sig) opt(n int) Sig { s.Optional = n; return s }

// many lets the last argument repeat.
func (s Sig) many() Sig { s.Variadic = true; return s }

// function compiles a call.
func (c *comp) function(e *Func) (evalFn, error) {
	d := e.Def
	if d.lazy {
		return c.coalesce(e.Args)
	}
	if d.Aggregate {
		return nil, dberr.New(dberr.GroupingError, "aggregating function `%s` cannot be used here", d.Name).WithToken("InvalidAggregation").At(e.Pos, e.End)
	}
	kids, err := c.children(e.Args)
	if err != nil {
		return nil, err
	}
	state, argAt := c.any(), c.arg()
	if d.whole != nil {
		return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
			cols, err := evalAll(f, b, sel, kids, state)
			if err != nil {
				return nil, err
			}
			var hints []store.Hint
			if len(e.Args) > 0 {
				hints = hintsOf(e.Args[0], b, sel)
			}
			out.Reset()
			return out, d.whole(f, count(b, sel), cols, hints, out)
		}, nil
	}
	if d.kernel == nil {
		return nil, dberr.New(dberr.Internal, "function %s has no kernel", d.Name)
	}
	rows := func(f *frame, cols []*vec.Column, n int, out *vec.Column) error {
		args := f.args[argAt]
		if args == nil {
			args = make([]value.Value, len(cols))
			f.args[argAt] = args
		}
		out.Reset()
	rows:
		for i := range n {
			for k, col := range cols {
				if col.Kinds[i] == value.Null && !d.NullIn {
					out.AppendNull()
					continue rows
				}
				args[k] = col.Value(i)
				f.c.walk(len(args[k].Raw()))
			}
			v, err := d.kernel(&f.c, args)
			if err != nil {
				return err
			}
			f.c.room(len(v.Raw()) + len(out.Arena))
			out.Append(v)
		}
		return nil
	}
	if d.Vol == Pure && sameForAll(e.Args) { // computed once for a batch, whose rows share the value
		one, all := c.col(), c.col()
		return func(f *frame, b *Batch, sel []uint16, _ *vec.Column) (*vec.Column, error) {
			cols, err := evalAll(f, b, sel, kids, state)
			if err != nil {
				return nil, err
			}
			n := count(b, sel)
			if err := rows(f, cols, min(n, 1), &f.cols[one]); err != nil {
				return nil, err
			}
			if n > 0 {
				f.cols[all].Repeat(&f.cols[one], 0, n)
			} else {
				f.cols[all].Reset()
			}
			return &f.cols[all], nil
		}, nil
	}
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		cols, err := evalAll(f, b, sel, kids, state)
		if err != nil {
			return nil, err
		}
		return out, rows(f, cols, count(b, sel), out)
	}, nil
}

// sameForAll reports whether expressions have one value for all rows of a statement.
func sameForAll(es []Expr) bool {
	for _, e := range es {
		switch e := e.(type) {
		case *Const, *Param:
		case *Func:
			if e.Def.lazy || e.Def.Aggregate || e.Def.Vol != Pure || !sameForAll(e.Args) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// argError is a TypeError about an argument's value, as conversions raise it.
func argError(fn string, v value.Value) *dberr.Error {
	return dberr.New(dberr.TypeError, "%s() does not take %s", fn, KindName(v.Kind())).WithToken("InvalidArgumentValue")
}

// wantKind is a TypeError about an argument's type.
func wantKind(fn string, v value.Value, want string) error {
	return dberr.New(dberr.TypeError, "%s() expects %s, found %s", fn, want, KindName(v.Kind())).WithToken("InvalidArgumentType")
}

// numberOutOfRange is an ArgumentError about a number.
func numberOutOfRange(format string, args ...any) error {
	return dberr.New(dberr.ArgumentError, format, args...).WithToken("NumberOutOfRange")
}
