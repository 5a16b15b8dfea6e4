package plancache

import (
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Variant is one plan of a form, and for which values it was chosen.
type Variant struct {
	Prep    *exec.Prepared
	Body    string // the text that it was made for: places in it are told by errors
	Version uint64 // of the catalog

	guards  []plan.Guard
	classes []plan.Class
	open    bool // made without values that would have had a guard
	made    time.Time
	checked atomic.Int64 // when the counts were last looked at for drift, in ns since made
	looked  atomic.Int64 // and for growth beyond what the plan was made for
	counts  []count
	used    atomic.Uint64
}

// count is the number of rows of a label that the planner heard.
type count struct {
	label schema.LabelID
	rel   bool
	n     float64
}

// Request says what a plan is to be made for.
type Request struct {
	Text    *Text
	Catalog plan.Catalog
	View    store.View
	Version uint64
	Procs   bind.Procs
	// Params are values in the order of plan.Query.Params, nil if they are not known yet.
	Params []value.Value
	// Without are indexes that the plan must not use.
	Without map[schema.IndexID]bool
	// Reference asks for the reference run's plan.
	Reference bool
	Plan      plan.Options // what else the planner is told
}

// Make parses, binds and plans a text. The error has places in Text.Body. It satisfies [NotLifted] if the form does not fit the text.
func (c *Cache) Make(r Request) (*Variant, error) {
	c.stats.plans.Add(1)
	v, err := compile(r)
	if err != nil {
		return nil, err
	}
	v.made = c.opt.Now()
	return v, nil
}

// compile is Make without a cache.
func compile(r Request) (*Variant, error) {
	t := r.Text
	st, err := cypher.Parse(t.Body, cypher.Options{Dialect: t.dialect()})
	if err != nil {
		return nil, err
	}
	o := bind.Options{AGE: t.AGE, Procs: r.Procs}
	if t.Entry.lifted {
		n := normalizers.Get().(*cypher.Normalizer)
		defer normalizers.Put(n)
		if !n.Run(t.Body, t.dialect()) {
			return nil, bind.ErrNotLifted
		}
		defer n.Free()
		o.Lifted = n
	}
	bound, err := bind.Bind(st, o)
	if err != nil {
		if o.Lifted != nil {
			return nil, bind.ErrNotLifted // as it is, the text may be sound, or have another fault
		}
		return nil, err
	}
	v := &Variant{Body: t.Body, Version: r.Version}
	w := &watched{Catalog: r.Catalog, without: r.Without, seen: map[count]bool{}}
	po := r.Plan
	po.View, po.Reference = r.View, r.Reference
	if g, ok := r.Catalog.(interface{ Name() string }); ok {
		po.Graph = g.Name()
	}
	if !r.Reference && !t.Entry.full(r.Version) {
		known := func(i int) (value.Value, bool) {
			switch {
			case i < len(t.Lifted):
				return t.Lifted[i], true
			case i-bound.Lifted < len(r.Params):
				return r.Params[i-bound.Lifted], true
			}
			return value.Value{}, false
		}
		po.Value = known
		for _, g := range plan.Guards(bound, w, r.View) {
			val, ok := known(g.Param)
			if !ok {
				v.open = true
				continue
			}
			v.guards, v.classes = append(v.guards, g), append(v.classes, g.Class(val))
		}
	}
	q, err := plan.Make(bound, w, po)
	if err != nil {
		if o.Lifted != nil {
			return nil, bind.ErrNotLifted
		}
		return nil, err
	}
	v.Prep, v.counts = exec.Prepare(q), w.counts
	return v, nil
}

// NotLifted reports whether a text has to be planned as it is.
func NotLifted(err error) bool { return errors.Is(err, bind.ErrNotLifted) }

// watched is a catalog that remembers what it was asked for.
type watched struct {
	plan.Catalog
	without map[schema.IndexID]bool
	counts  []count
	seen    map[count]bool
}

func (w *watched) note(label schema.LabelID, rel bool, n float64) float64 {
	if k := (count{label: label, rel: rel}); !w.seen[k] {
		w.seen[k] = true
		w.counts = append(w.counts, count{label, rel, n})
	}
	return n
}

func (w *watched) NodeCount(l schema.LabelID) float64 {
	return w.note(l, false, w.Catalog.NodeCount(l))
}

func (w *watched) RelCount(l schema.LabelID) float64 { return w.note(l, true, w.Catalog.RelCount(l)) }

func (w *watched) Indexes(v store.View) []schema.Index {
	all := w.Catalog.Indexes(v)
	if len(w.without) == 0 {
		return all
	}
	var out []schema.Index
	for _, ix := range all {
		if !w.without[ix.ID] {
			out = append(out, ix)
		}
	}
	return out
}

// Drifted reports whether the plan is due for another one: it is older than 10 seconds, and a label that it reads has grown or shrunk by more than
// a quarter. It looks once in 10 seconds.
func (c *Cache) Drifted(v *Variant, s store.Stats) bool {
	if !c.due(v, &v.checked, minAge) {
		return false
	}
	for _, k := range v.counts {
		if math.Abs(k.now(s)-k.n) > maxDrift*max(1, k.n) {
			return true
		}
	}
	return false
}

// Outgrown reports whether the plan was made for a graph so much smaller than today's that nothing should run by it any more: a scan of what
// were ten rows is cheap until there are a hundred thousand. It looks ten times a second.
func (c *Cache) Outgrown(v *Variant, s store.Stats) bool {
	if !c.due(v, &v.looked, minLook) {
		return false
	}
	for _, k := range v.counts {
		if k.now(s) > outgrown*max(smallGraph, k.n) {
			return true
		}
	}
	return false
}

// due reports whether a look is due that is taken once in an interval.
func (c *Cache) due(v *Variant, at *atomic.Int64, interval time.Duration) bool {
	now, last := int64(c.opt.Now().Sub(v.made)), at.Load()
	return now-last > int64(interval) && at.CompareAndSwap(last, now)
}

func (k *count) now(s store.Stats) float64 {
	if k.rel {
		return s.RelCount(k.label)
	}
	return s.NodeCount(k.label)
}

// Pick returns the variant that serves the values (those of lifted literals first), and its number from 1; nil if a plan has to be made. known
// says that the values of parameters are there.
func (e *Entry) Pick(version uint64, vals []value.Value, known bool) (v *Variant, number int) {
	list := e.variants.Load()
	if list == nil {
		return nil, 0
	}
	for i, v := range *list {
		if v.Version == version && (!known || !v.open) && v.fits(vals, known) {
			v.Use()
			return v, i + 1
		}
	}
	return nil, 0
}

// Use counts a run by the plan; Uses returns how many there were.
func (v *Variant) Use()         { v.used.Add(1) }
func (v *Variant) Uses() uint64 { return v.used.Load() }

func (v *Variant) fits(vals []value.Value, known bool) bool {
	for i := range v.guards {
		g := &v.guards[i]
		if g.Param >= len(vals) {
			if known {
				return false
			}
			continue
		}
		if g.Class(vals[g.Param]) != v.classes[i] {
			return false
		}
	}
	return true
}

// Any returns the plan that serves under a version whatever the values are: to tell what the statement is.
func (e *Entry) Any(version uint64) *Variant {
	if list := e.variants.Load(); list != nil {
		for _, v := range *list {
			if v.Version == version {
				return v
			}
		}
	}
	return nil
}

// full reports whether a form has as many plans as it may have: the next one is made for no values in particular.
func (e *Entry) full(version uint64) bool {
	list, n := e.variants.Load(), 0
	if list != nil {
		for _, v := range *list {
			if v.Version == version && !v.open {
				n++
			}
		}
	}
	return n >= MaxVariants
}

// Compile is [Cache.Make] for a text that is not to be kept.
func Compile(r Request) (*Variant, error) { return compile(r) }

// Add enters a plan, in place of another one if replaces is not nil. Plans for older versions of the catalog go, as does one for the same classes, and beyond MaxVariants the one used least.
func (c *Cache) Add(e *Entry, v, replaces *Variant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var kept []*Variant
	freed := int64(0)
	if list := e.variants.Load(); list != nil {
		for _, old := range *list {
			switch {
			case old.Version > v.Version:
				return // somebody knows better
			case old.Version < v.Version || old.open || old == replaces || old.sameClasses(v):
				freed += old.bytes()
			default:
				kept = append(kept, old)
			}
		}
	}
	if len(kept) >= MaxVariants {
		least := 0
		for i := range kept {
			if kept[i].used.Load() < kept[least].used.Load() {
				least = i
			}
		}
		freed += kept[least].bytes()
		kept = append(kept[:least], kept[least+1:]...)
	}
	kept = append(kept, v) // last: a plan for no values in particular fits always
	e.variants.Store(&kept)
	e.query.Store(v.Prep.Query)
	c.charge(e, v.bytes()-freed)
}

func (v *Variant) sameClasses(w *Variant) bool {
	if len(v.guards) != len(w.guards) {
		return false
	}
	for i := range v.guards {
		if v.guards[i].Param != w.guards[i].Param || v.classes[i] != w.classes[i] {
			return false
		}
	}
	return true
}

// bytes estimates what a plan takes.
func (v *Variant) bytes() int64 {
	q := v.Prep.Query
	return 2048 + 16*int64(len(v.Body)) + 1024*int64(q.Nodes) + 256*int64(len(q.Slots)) + 24*int64(len(v.counts))
}

// Guard tells for which values the plan was chosen, as EXPLAIN shows it; "" for all.
func (v *Variant) Guard() string {
	var b strings.Builder
	for i := range v.guards {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(v.guards[i].Text + ": " + v.classes[i].String())
	}
	return b.String()
}

// Begin reserves the making of a plan in the background; false if one is being made.
func (e *Entry) Begin() bool { return e.busy.CompareAndSwap(false, true) }

// End gives the reservation back.
func (c *Cache) End(e *Entry, made bool) {
	if made {
		c.stats.replans.Add(1)
	}
	e.busy.Store(false)
}

// Unfit reports whether the form is of no use; [Cache.Exact] gives the text another entry.
func (e *Entry) Unfit() bool { return e.unfit.Load() }

// Place moves the place of an error or notice in the text that the plan was made for to the text that runs. The error may belong to others who
// run the plan: it is copied.
func (t *Text) Place(err error, v *Variant) error {
	e := dberr.As(err)
	if e == nil || e.Pos < 0 {
		return err
	}
	pos, end := t.Span(e.Pos, e.End, v)
	if pos == e.Pos && end == e.End {
		return err
	}
	moved := *e
	moved.Pos, moved.End = pos, end
	return &moved
}

// Span is Place for a span of bytes.
func (t *Text) Span(pos, end int, v *Variant) (int, int) {
	if pos < 0 {
		return pos, end
	}
	if v != nil && v.Body != t.Body {
		s, ok := cypher.Place(v.Body, cypher.Span{Start: int32(pos), Stop: int32(max(pos, end))}, t.Body, t.dialect())
		if !ok {
			return -1, -1
		}
		pos, end = s.Pos(), s.End()
	}
	return pos + t.Offset, end + t.Offset
}
