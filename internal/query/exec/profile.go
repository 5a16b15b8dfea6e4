package exec

import (
	"fmt"
	"strings"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

// OpProfile is what one operator did.
type OpProfile struct {
	Name          string
	Rows, Batches int64
	Opens         int64
	Time          time.Duration  // with its inputs
	Cost          store.Counters // with its inputs
	Memory        int64          // most bytes that it held at one time, without its inputs
	Spilled       int64          // bytes that it wrote to temporary files
	Files         int64          // temporary files that it made

	ledger *account
}

// measure wraps an operator so that what it does is counted.
func (x *run) measure(n plan.Node, o operator, of operator) operator {
	if x.profile == nil {
		x.profile = make([]*OpProfile, x.q.Nodes)
	}
	p := &OpProfile{Name: strings.TrimPrefix(fmt.Sprintf("%T", n), "*plan.")}
	if id := n.Info().ID; id < len(x.profile) && x.profile[id] != nil {
		p = x.profile[id] // the body of CALL { } IN TRANSACTIONS is made anew for each batch
	}
	if a, ok := of.(interface{ ledger() *account }); ok {
		p.ledger = a.ledger()
	}
	if id := n.Info().ID; id < len(x.profile) {
		x.profile[id] = p
	}
	return &profiled{op: o, x: x, p: p}
}

// profiled measures an operator.
type profiled struct {
	op operator
	x  *run
	p  *OpProfile
}

func (o *profiled) open() error {
	o.p.Opens++
	return o.op.open()
}

func (o *profiled) close() {}

func (o *profiled) next() (*expr.Batch, error) {
	start, before := time.Now(), *o.x.counters()
	b, err := o.op.next()
	o.p.Time += time.Since(start)
	o.p.Cost.AddDifference(o.x.counters(), &before)
	if b != nil {
		o.p.Batches++
		o.p.Rows += int64(b.Live())
	}
	return b, err
}

// root measures what the root does beyond its next: it encodes entities, and ends a statement that wrote.
func (x *run) measureRoot(f func() (int, error)) (int, error) {
	p := x.rootProfile
	start, before := time.Now(), *x.counters()
	had, time0, cost0 := p.Rows, p.Time, p.Cost
	n, err := f()
	p.Time, p.Cost = time0+time.Since(start), cost0
	p.Cost.AddDifference(x.counters(), &before)
	p.Rows = had + int64(n)
	return n, err
}

// Profile returns one entry for each operator by plan.Base.ID; nil entries were not run. It is nil without Options.Profile.
func (c *Cursor) Profile() []*OpProfile {
	for _, p := range c.x.profile {
		if p != nil && p.ledger != nil {
			p.Memory, p.Spilled, p.Files = p.ledger.peak, p.ledger.spilled, p.ledger.files
		}
	}
	return c.x.profile
}

// Spilled returns the bytes that the statement wrote to temporary files.
func (c *Cursor) Spilled() (n int64) {
	for _, o := range c.x.ops {
		if a, ok := o.(interface{ ledger() *account }); ok {
			n += a.ledger().spilled
		}
	}
	return n
}
