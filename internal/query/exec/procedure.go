package exec

import (
	"slices"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// Procedure is something that CALL can call.
type Procedure struct {
	bind.Proc
	Signature   string // as SHOW PROCEDURES gives it
	Description string
	Mode        string // READ, WRITE, SCHEMA or DBMS
	System      bool   // may be called in the system database, which has no graph
	Deprecated  bool
	// Call yields rows, one value for each field of Out.
	Call func(env *expr.Env, args []value.Value, yield func(row ...value.Value) error) error

	run      func(c *calling, args []value.Value, yield func(row ...value.Value) error) error // instead of Call
	types    map[string]string                                                                // of the fields, as the signature writes them
	defaults map[string]string                                                                // of arguments that may be left out
	values   []value.Value                                                                    // the same by argument
}

// calling is what a builtin procedure may ask.
type calling struct {
	env *expr.Env
	x   *run
}

// Procedures finds procedures by name.
type Procedures interface {
	Lookup(name string) (*Procedure, bool)
}

// Builtins are the procedures that every database has.
var Builtins Procedures = builtinSet{}

type builtinSet struct{}

func (b builtinSet) Lookup(name string) (*Procedure, bool) {
	if p, ok := b.own(name); ok || extra == nil {
		return p, ok
	}
	return extra.Lookup(name)
}

func (builtinSet) own(name string) (*Procedure, bool) {
	for i := range builtins {
		if strings.EqualFold(builtins[i].Name, name) {
			return &builtins[i], true
		}
	}
	return nil, false
}

// Signatures shows procedures to the binder.
type Signatures struct{ Procedures }

// Procedure implements bind.Procs.
func (s Signatures) Procedure(name string) (*bind.Proc, bool) {
	if p, ok := s.Lookup(name); ok {
		return &p.Proc, true
	}
	return nil, false
}

// procedure calls a procedure for every input row.
type procedure struct {
	core
	in    input
	n     *plan.ProcedureCall
	proc  *Procedure
	args  []*expr.Program
	argv  []vec.Column
	field []int // of Out, for each yield
	idx   []uint16
	vals  []value.Value
	acc   spool
	have  bool
	page  rows
}

// find looks the procedure up again: the plan holds its name only.
func (o *procedure) find() error {
	procs := o.x.opt.Procedures
	if procs == nil {
		procs = Builtins
	}
	p, ok := procs.Lookup(o.n.Name)
	if !ok {
		return dberr.New(dberr.ProcedureNotFound, "there is no procedure with the name `%s`", o.n.Name).WithToken("ProcedureNotFound")
	}
	o.proc = p
	for _, y := range o.n.Yields {
		i := slices.IndexFunc(p.Out, func(f bind.Field) bool { return f.Name == y.Field })
		if i < 0 {
			return dberr.New(dberr.Internal, "procedure %s has no field %s", p.Name, y.Field)
		}
		o.field = append(o.field, i)
	}
	o.acc.init(o.x, &o.acct)
	return nil
}

func (o *procedure) open() error {
	o.have = false
	return o.in.op.open()
}

func (o *procedure) close() {
	if o.acc.x != nil {
		o.acc.close()
	}
	o.core.close()
}

func (o *procedure) next() (*expr.Batch, error) {
	for {
		if o.have {
			ok, err := o.acc.read(&o.out, o.x.opt.BatchSize)
			if err != nil {
				return nil, err
			}
			if ok {
				return &o.out.b, nil
			}
			o.have = false
		}
		b, err := o.in.next()
		if b == nil || err != nil {
			return nil, err
		}
		if err := o.x.check(); err != nil {
			return nil, err
		}
		if err := o.sync(); err != nil {
			return nil, err
		}
		for i, p := range o.args {
			if err := p.Eval(&o.env, b, nil, &o.argv[i]); err != nil {
				return nil, err
			}
		}
		o.acc.reset()
		for i := range b.N {
			if err := o.call(b, i); err != nil {
				return nil, err
			}
		}
		o.have = true
		o.acc.rewind()
	}
}

func (o *procedure) call(b *expr.Batch, row int) error {
	o.vals = o.vals[:0]
	for i := range o.argv {
		o.vals = append(o.vals, o.argv[i].Value(row))
	}
	o.idx = append(o.idx[:0], uint16(row))
	o.page.width = o.out.width
	emit := func(vals ...value.Value) error {
		o.page.start()
		o.page.gather(b, nil, o.idx)
		for k, y := range o.n.Yields {
			v := value.Value{}
			if vals != nil {
				v = vals[o.field[k]]
			}
			o.page.col(y.Slot).Append(v)
		}
		o.page.b.N = 1
		return o.acc.add(&o.page.b, nil)
	}
	for i := len(o.vals); i < len(o.proc.values); i++ {
		o.vals = append(o.vals, o.proc.values[i])
	}
	n := 0
	yield := func(vals ...value.Value) error {
		if n++; n&255 == 0 {
			if err := o.x.check(); err != nil {
				return err
			}
		}
		return emit(vals...)
	}
	var err error
	if o.proc.run != nil {
		err = o.proc.run(&calling{&o.env, o.x}, o.vals, yield)
	} else {
		err = o.proc.Call(&o.env, o.vals, yield)
	}
	if err == nil && (o.n.Void || n == 0 && o.n.Optional) {
		err = emit()
	}
	return err
}
