package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/graph/path"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// build makes the operator of a node and of everything below it.
func (x *run) build(n plan.Node) (operator, error) {
	if n == nil {
		o := &singleRow{}
		o.init(x, &plan.Base{})
		x.ops = append(x.ops, o)
		return o, nil
	}
	o, err := x.make(n)
	if err != nil {
		return nil, err
	}
	x.ops = append(x.ops, o)
	x.lasting = x.lasting && reusable(o) && len(n.Info().Sieves) == 0
	made := o
	if by := n.Info().Sieves; len(by) > 0 {
		s := &sieved{operator: o, by: by}
		s.out.width = len(x.q.Slots)
		for _, b := range by {
			s.set = append(s.set, x.sieveOf(b.ID))
		}
		o = s
	}
	if _, root := n.(*plan.ProduceResults); x.opt.Poison && !root {
		o = &poisoned{operator: o, width: len(x.q.Slots)}
	}
	if x.opt.Profile {
		o = x.measure(n, o, made)
	}
	return o, nil
}

// child builds an input whose batches are made dense.
func (x *run) child(in *input, n plan.Node) error {
	op, err := x.build(n)
	if err != nil {
		return err
	}
	info := &plan.Base{Out: []plan.Slot{}}
	if n != nil {
		info = n.Info()
	}
	in.init(x, op, info)
	return nil
}

// right builds the right side of an Apply.
func (x *run) rightSide(in *input, n plan.Node, arg *argState) error {
	x.args = append(x.args, arg)
	defer func() { x.args = x.args[:len(x.args)-1] }()
	return x.child(in, n)
}

// enclosing returns what the innermost enclosing Apply hands down, if its rows have ordinals.
func (x *run) enclosing() *argState {
	if n := len(x.args); n > 0 && x.args[n-1].row != plan.NoSlot {
		return x.args[n-1]
	}
	return nil
}

// items compiles the items of a projection. An item that is a plain column has no program.
func (c *core) compileItems(items []plan.Item, bare bool) ([]*expr.Program, error) {
	out := make([]*expr.Program, len(items))
	for i, it := range items {
		if _, ok := it.Expr.(*expr.Col); ok && bare {
			continue
		}
		p, err := c.program(it.Expr)
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	return out, nil
}

func (c *core) compileAll(es []expr.Expr) ([]*expr.Program, error) {
	out := make([]*expr.Program, len(es))
	for i, e := range es {
		p, err := c.program(e)
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	return out, nil
}

func (c *core) compileProps(ps []plan.Prop) ([]*expr.Program, error) {
	out := make([]*expr.Program, len(ps))
	for i, p := range ps {
		prog, err := c.program(p.Val)
		if err != nil {
			return nil, err
		}
		out[i] = prog
	}
	return out, nil
}

// subplan makes the operators of a subquery in an expression.
func (x *run) subplan(s *expr.Subplan) (*subplan, error) {
	ps, ok := s.Plan.(*plan.Subplan)
	if !ok {
		return nil, dberr.New(dberr.Internal, "a subquery has no plan")
	}
	p := &subplan{s: s, plan: ps, arg: &argState{row: ps.RowID}}
	p.share.init(x, ps.Shared, ps.Args)
	return p, x.rightSide(&p.in, ps.Root, p.arg)
}

func (x *run) make(node plan.Node) (operator, error) {
	switch n := node.(type) {
	case *plan.SingleRow:
		o := &singleRow{}
		o.init(x, n.Info())
		return o, nil
	case *plan.Argument:
		o := &argument{n: n}
		o.init(x, n.Info())
		if len(x.args) == 0 {
			return nil, dberr.New(dberr.Internal, "an Argument stands outside of an Apply")
		}
		o.arg = x.args[len(x.args)-1]
		return o, nil
	case *plan.AllNodesScan:
		o := &nodeScan{node: n.Node, hint: n.Hint, but: n.But}
		o.init(x, n.Info())
		return o, x.child(&o.in, n.Child)
	case *plan.LabelScan:
		o := &nodeScan{node: n.Node, hint: n.Hint, names: n.Labels}
		o.init(x, n.Info())
		return o, x.child(&o.in, n.Child)
	case *plan.RelTypeScan:
		o := &relScan{n: n}
		o.init(x, n.Info())
		return o, x.child(&o.in, n.Child)
	case *plan.IndexSeek:
		o := &indexSeek{n: n}
		o.init(x, n.Info())
		o.entity, o.node, o.hint, o.start, o.end = n.Entity, n.Node, n.Hint, n.Start, n.End
		if err := x.child(&o.in, n.Child); err != nil {
			return nil, err
		}
		return o, o.prepare()
	case *plan.ByID:
		o := &byID{n: n}
		o.init(x, n.Info())
		o.entity, o.node, o.hint, o.start, o.end = n.Entity, n.Node, n.Hint, n.Start, n.End
		if err := x.child(&o.in, n.Child); err != nil {
			return nil, err
		}
		var err error
		o.id, err = o.program(n.ID)
		return o, err
	case *plan.CountStore:
		o := &countScan{n: n}
		o.init(x, n.Info())
		return o, nil
	case *plan.Expand:
		o := &expand{n: n}
		o.init(x, n.Info())
		o.arg, o.uniq.slots = x.enclosing(), n.Unique
		if err := x.child(&o.in, n.Child); err != nil {
			return nil, err
		}
		var err error
		o.pred, err = o.program(n.Pred)
		return o, err
	case *plan.ProjectEndpoints:
		o := &endpoints{n: n}
		o.init(x, n.Info())
		o.uniq.slots = n.Unique
		return o, x.child(&o.in, n.Child)
	case *plan.VarExpand:
		return x.varExpand(n)
	case *plan.ShortestPath:
		o := &shortest{n: n}
		o.init(x, n.Info())
		for i, s := range []*path.Search{&o.pair, &o.tree} {
			s.Account = func(n int64) error { return o.charged[i].set(&o.acct, n) }
		}
		if err := x.child(&o.in, n.Child); err != nil {
			return nil, err
		}
		return o, o.step.init(&o.core, n.RelPred, n.NodePred, n.StepRel, n.StepNode, n.Unique)
	case *plan.PathSearch:
		return x.pathSearch(n)
	case *plan.ProjectPath:
		o := &projectPath{n: n}
		o.init(x, n.Info())
		return o, x.child(&o.in, n.Child)
	case *plan.Filter:
		o := &filter{}
		o.init(x, n.Info())
		o.pure = true
		var err error
		if o.child, err = x.build(n.Child); err != nil {
			return nil, err
		}
		o.preds, err = o.compileAll(n.Preds)
		return o, err
	case *plan.Project:
		o := &project{n: n, fresh: make([]vec.Column, len(n.Items))}
		o.init(x, n.Info())
		o.pure = true
		if err := x.child(&o.in, n.Child); err != nil {
			return nil, err
		}
		var err error
		o.progs, err = o.compileItems(n.Items, true)
		return o, err
	case *plan.PropFetch:
		o := &propFetch{n: n}
		o.init(x, n.Info())
		return o, x.child(&o.in, n.Child)
	case *plan.Unwind:
		o := &unwind{n: n}
		o.init(x, n.Info())
		o.pure = true
		if err := x.child(&o.in, n.Child); err != nil {
			return nil, err
		}
		if args, read := expr.AsRange(n.List); read != nil {
			o.rng = &counting{read: read, cols: make([]vec.Column, len(args))}
			for _, a := range args {
				p, err := o.program(a)
				if err != nil {
					return nil, err
				}
				o.rng.args = append(o.rng.args, p)
			}
			return o, nil
		}
		var err error
		o.list, err = o.program(n.List)
		return o, err
	case *plan.LoadCSV:
		o := &loadCSV{n: n}
		o.init(x, n.Info())
		o.pure = true
		if err := x.child(&o.in, n.Child); err != nil {
			return nil, err
		}
		var err error
		o.from, err = o.program(n.From)
		return o, err
	case *plan.Aggregate:
		return x.aggregate(n)
	case *plan.Distinct:
		o := &distinct{n: n, scratch: make([]vec.Column, len(n.Keys))}
		o.init(x, n.Info())
		o.pure = true
		o.keys.init(len(n.Keys) + len(n.Part))
		if err := x.child(&o.in, n.Child); err != nil {
			return nil, err
		}
		var err error
		o.progs, err = o.compileItems(n.Keys, false)
		return o, err
	case *plan.Sort:
		o := &sorter{keys: n.Keys, part: parts{slots: n.Part}}
		o.init(x, n.Info())
		var err error
		o.child, err = x.build(n.Child)
		return o, err
	case *plan.TopN:
		o := &sorter{keys: n.Keys, part: parts{slots: n.Part}, topN: true, ties: n.Ties, paths: n.Paths}
		o.init(x, n.Info())
		var err error
		if o.child, err = x.build(n.Child); err != nil {
			return nil, err
		}
		if o.skip, err = o.program(n.Skip); err != nil {
			return nil, err
		}
		o.limit, err = o.program(n.Limit)
		return o, err
	case *plan.Skip:
		o := &window{part: parts{slots: n.Part}}
		o.init(x, n.Info())
		var err error
		if o.child, err = x.build(n.Child); err != nil {
			return nil, err
		}
		o.skip, err = o.program(n.Count)
		return o, err
	case *plan.Limit:
		o := &window{part: parts{slots: n.Part}, exhaustive: n.Exhaustive}
		o.init(x, n.Info())
		var err error
		if o.child, err = x.build(n.Child); err != nil {
			return nil, err
		}
		o.limit, err = o.program(n.Count)
		return o, err
	case *plan.Union:
		o := &union{n: n}
		o.init(x, n.Info())
		for _, in := range n.Inputs {
			op, err := x.build(in)
			if err != nil {
				return nil, err
			}
			o.inputs = append(o.inputs, op)
		}
		return o, nil
	case *plan.Apply:
		o := &apply{n: n, arg: &argState{row: n.RowID}, ordered: keepsOrder(n.Right)}
		o.init(x, n.Info())
		o.share.init(x, n.Shared, n.Args)
		if err := x.child(&o.left, n.Left); err != nil {
			return nil, err
		}
		return o, x.rightSide(&o.right, n.Right, o.arg)
	case *plan.TransactionApply:
		o := &transactionApply{n: n}
		o.init(x, n.Info())
		o.batch.init(x, &o.acct)
		o.part.init(x, &o.acct)
		o.done.init(x, &o.acct)
		if err := x.child(&o.left, n.Left); err != nil {
			return nil, err
		}
		var err error
		o.size, err = o.program(n.BatchRows)
		return o, err
	case *plan.CartesianProduct:
		o := &cartesian{keepR: x.keepOf(n.Right.Info())}
		o.init(x, n.Info())
		o.spool.init(x, &o.acct)
		if err := x.child(&o.left, n.Left); err != nil {
			return nil, err
		}
		var err error
		o.right, err = x.build(n.Right)
		return o, err
	case *plan.HashJoin:
		o := &hashJoin{n: n, rightKeep: x.keepOf(n.Right.Info()), buf: make([]vec.Column, len(n.Keys)), cols: make([]*vec.Column, len(n.Keys))}
		o.init(x, n.Info())
		if err := x.child(&o.left, n.Left); err != nil {
			return nil, err
		}
		if err := x.child(&o.right, n.Right); err != nil {
			return nil, err
		}
		for _, k := range n.Keys {
			l, err := o.program(k.Left)
			if err != nil {
				return nil, err
			}
			r, err := o.program(k.Right)
			if err != nil {
				return nil, err
			}
			o.leftProg, o.rightProg = append(o.leftProg, l), append(o.rightProg, r)
		}
		for _, f := range n.Fills {
			o.sieves = append(o.sieves, x.sieveOf(f.ID))
		}
		return o, nil
	case *plan.Eager:
		o := &eager{n: n}
		o.init(x, n.Info())
		o.spool.init(x, &o.acct)
		var err error
		o.child, err = x.build(n.Child)
		return o, err
	case *plan.Create:
		o := &create{n: n}
		o.init(x, n.Info())
		if err := x.child(&o.in, n.Child); err != nil {
			return nil, err
		}
		return o, o.w.init(&o.core, n.Items)
	case *plan.Lock:
		o := &lock{n: n}
		o.init(x, n.Info())
		if err := x.child(&o.in, n.Child); err != nil {
			return nil, err
		}
		for _, t := range n.Targets {
			p, err := o.compileAll(t.Recheck)
			if err != nil {
				return nil, err
			}
			o.checks = append(o.checks, p)
		}
		return o, nil
	case *plan.Set:
		o := &set{n: n}
		o.init(x, n.Info())
		if err := x.child(&o.in, n.Child); err != nil {
			return nil, err
		}
		return o, o.w.init(&o.core, n.Items)
	case *plan.Delete:
		o := &del{n: n}
		o.init(x, n.Info())
		if err := x.child(&o.in, n.Child); err != nil {
			return nil, err
		}
		var err error
		o.progs, err = o.compileAll(n.Exprs)
		return o, err
	case *plan.Merge:
		return x.merge(n)
	case *plan.Foreach:
		o := &foreach{n: n, arg: &argState{row: plan.NoSlot}}
		o.init(x, n.Info())
		if err := x.child(&o.in, n.Child); err != nil {
			return nil, err
		}
		var body input
		if err := x.rightSide(&body, n.Body, o.arg); err != nil {
			return nil, err
		}
		o.body = body.op
		var err error
		o.list, err = o.program(n.List)
		return o, err
	case *plan.EmptyRows:
		o := &emptyRows{n: n}
		o.init(x, n.Info())
		if n.Child == nil {
			return o, nil
		}
		var err error
		o.child, err = x.build(n.Child)
		return o, err
	case *plan.ProduceResults:
		o := &produce{n: n}
		o.init(x, n.Info())
		o.spool.init(x, &o.acct)
		o.bytes.x, o.bytes.acct = x, &o.acct
		x.again = append(x.again, o.renew)
		return o, x.child(&o.in, n.Child)
	case *plan.SchemaCommand:
		o := &schemaCommand{n: n}
		o.init(x, n.Info())
		return o, nil
	case *plan.Show:
		o := &show{n: n}
		o.init(x, n.Info())
		var err error
		o.args, err = o.compileAll(n.Args)
		return o, err
	case *plan.ProcedureCall:
		o := &procedure{n: n}
		o.init(x, n.Info())
		if err := x.child(&o.in, n.Child); err != nil {
			return nil, err
		}
		var err error
		if o.args, err = o.compileAll(n.Args); err != nil {
			return nil, err
		}
		o.argv = make([]vec.Column, len(n.Args))
		return o, o.find()
	}
	if o, err := x.makeSQL(node); o != nil || err != nil {
		return o, err
	}
	return nil, dberr.New(dberr.Internal, "no operator for %T", node)
}

func (x *run) varExpand(n *plan.VarExpand) (operator, error) {
	var op operator
	var t *traversal
	switch {
	case n.BoundRels != plan.NoSlot:
		o := &boundTrail{}
		op, t = o, &o.traversal
	case n.Mode == plan.Endpoints:
		o := &reachable{}
		op, t = o, &o.traversal
	default:
		o := &trails{depth: -1}
		op, t = o, &o.traversal
	}
	t.n = n
	t.init(x, n.Info())
	if err := x.child(&t.in, n.Child); err != nil {
		return nil, err
	}
	if o, ok := op.(*trails); ok {
		if err := o.prepare(); err != nil {
			return nil, err
		}
	}
	return op, t.step.init(&t.core, n.RelPred, n.NodePred, n.StepRel, n.StepNode, n.Unique)
}

func (x *run) aggregate(n *plan.Aggregate) (operator, error) {
	k := len(n.Aggs)
	o := &aggregate{
		n: n, keyCol: make([]vec.Column, len(n.Keys)), argProg: make([][]*expr.Program, k), argCol: make([][]*vec.Column, k),
		argBuf: make([][]vec.Column, k), arg: x.enclosing(),
	}
	o.init(x, n.Info())
	o.pure = true
	o.keys.init(len(n.Keys) + len(n.Part))
	if err := x.child(&o.in, n.Child); err != nil {
		return nil, err
	}
	var err error
	if o.keyProg, err = o.compileItems(n.Keys, false); err != nil {
		return nil, err
	}
	for i, a := range n.Aggs {
		if o.argProg[i], err = o.compileAll(a.Call.Args); err != nil {
			return nil, err
		}
		o.argCol[i], o.argBuf[i] = make([]*vec.Column, len(a.Call.Args)), make([]vec.Column, len(a.Call.Args))
		o.aggs = append(o.aggs, expr.NewAggregator(a.Call))
	}
	x.again = append(x.again, o.renew)
	return o, nil
}

func (x *run) merge(n *plan.Merge) (operator, error) {
	o := &merge{n: n, arg: &argState{row: n.RowID}, view: &freshView{}, col: make([]vec.Column, 1)}
	o.init(x, n.Info())
	o.acc.init(x, &o.acct)
	if err := x.child(&o.left, n.Left); err != nil {
		return nil, err
	}
	// What is below reads at the view of the probe.
	x.fresh = append(x.fresh, o.view)
	err := x.rightSide(&o.right, n.Right, o.arg)
	x.fresh = x.fresh[:len(x.fresh)-1]
	if err != nil {
		return nil, err
	}
	if o.check, err = o.compileProps(n.NullCheck); err != nil {
		return nil, err
	}
	for _, l := range n.Locks {
		p, err := o.compileProps(l.Keys)
		if err != nil {
			return nil, err
		}
		o.locks = append(o.locks, p)
		names, err := o.program(l.Names)
		if err != nil {
			return nil, err
		}
		o.names = append(o.names, names)
	}
	if err := o.w.init(&o.core, n.Create); err != nil {
		return nil, err
	}
	if err := o.create.init(&o.core, n.OnCreate); err != nil {
		return nil, err
	}
	return o, o.match.init(&o.core, n.OnMatch)
}

// poisoned hands out copies of an operator's batches and destroys each when the next one is asked for (E1).
type poisoned struct {
	operator
	width int
	copy  rows
}

func (o *poisoned) next() (*expr.Batch, error) {
	o.copy.own.each((*vec.Column).Poison)
	b, err := o.operator.next()
	if b == nil || err != nil {
		return nil, err
	}
	o.copy = rows{width: o.width}
	o.copy.start()
	for s, c := range b.Cols {
		if c != nil {
			o.copy.col(s).AppendRows(c, nil)
		}
	}
	o.copy.b.N, o.copy.b.Sel = b.N, nil
	if b.Sel != nil {
		o.copy.b.Sel = append([]uint16(nil), b.Sel...)
	}
	return &o.copy.b, nil
}

// keepOf returns the slots of an operator that go on; row ids always do.
func (x *run) keepOf(info *plan.Base) []plan.Slot {
	if info.Out == nil || len(x.rowIDs) == 0 {
		return info.Out
	}
	out := info.Out
	for _, s := range x.rowIDs {
		if !has(info.Out, s) {
			out = append(out[:len(out):len(out)], s)
		}
	}
	return out
}
