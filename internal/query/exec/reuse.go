package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// Limits of what an execution leaves for the next one of its plan (E7). One that has gone through more is no small statement: making
// operators anew is nothing beside what it does.
const (
	keptBytes  = 512 << 10 // accounted at one time, the rows of batches included
	keptArena  = 64 << 10  // of bytes in columns
	keptParams = 4 << 10   // bytes of the parameters
)

// reusable reports whether open makes an operator as good as new: whatever an earlier execution has left in it, it gives the rows of one
// that was just made. What an operator keeps beyond open it puts back in a function that it leaves in run.again.
func reusable(op operator) bool {
	switch o := op.(type) {
	case *singleRow, *argument, *nodeScan, *indexSeek, *byID, *countScan, *expand, *endpoints, *projectPath, *filter, *project, *propFetch, *unwind, *shortest,
		*window, *sorter, *distinct, *aggregate, *apply, *eager, *create, *set, *lock, *del, *produce, *external, *valuesRows:
		return true
	case *poisoned:
		return reusable(o.operator)
	}
	return false
}

// take returns the state that an earlier execution has left, or nil.
func (p *Prepared) take(o *Options) *run {
	if o.Profile {
		return nil
	}
	x, _ := p.idle.Get().(*run)
	if x == nil || x.opt.Poison != o.Poison {
		return nil
	}
	p.reused.Add(1)
	return x
}

// leave keeps the state of an execution that has ended well for the next one, without anything of the statement that it served. It reports
// whether it did: the state is nobody's then.
func (x *run) leave() bool {
	if !x.lasting || x.busy || x.mem.peak > keptBytes || x.mem.used != 0 || x.first != nil {
		return false
	}
	n := 0
	for i := range x.params {
		n += len(x.params[i].Raw())
	}
	if n > keptParams || x.arenas() > keptArena {
		return false
	}
	if x.opt.Poison {
		for _, r := range x.outs {
			r.own.each((*vec.Column).Poison)
		}
	}
	for _, f := range x.again {
		f()
	}
	for _, c := range x.cores {
		c.unbind()
	}
	clear(x.segs)
	clear(x.keys)
	x.ctx, x.stmt, x.g, x.params, x.cancel, x.detached = nil, nil, nil, nil, nil, false
	x.opt = Options{Poison: x.opt.Poison}
	*x.mem = tracker{}
	x.p.idle.Put(x)
	return true
}

// arenas returns the bytes of the columns that operators own, which are not accounted where they are those of a batch.
func (x *run) arenas() (n int) {
	for _, r := range x.outs {
		r.own.each(func(c *vec.Column) { n += cap(c.Arena) })
	}
	return n
}
