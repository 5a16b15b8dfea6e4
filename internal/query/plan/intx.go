package plan

import "github.com/hedgerowdb/hedgerow/internal/query/bind"

// callKind says what an Apply makes of the rows of a CALL { }.
func callKind(c *bind.CallSub) ApplyKind {
	switch {
	case c.Body.Columns == nil:
		return Unit
	case c.Optional:
		return Optional
	}
	return Inner
}

// bodyConflict returns why the body of a writing CALL { } runs one row at a time, or "" where it need not.
func (p *planner) bodyConflict(c *bind.CallSub) string {
	if p.barrierAll {
		return "reference run"
	}
	var body []bind.Clause
	for _, part := range c.Body.Parts {
		body = append(body, part.Clauses...)
	}
	return p.selfConflict(body)
}

// callInTransactions plans CALL { } IN TRANSACTIONS. The body has a segment of its own, since its command ids are those of other transactions; no
// barrier is needed around it: nothing was written before it, and what stands behind reads at a new snapshot.
func (p *planner) callInTransactions(s *stream, c *bind.CallSub) *stream {
	p.q.InTx = true
	rowID := p.slot("row", RowID)
	in := &stream{bound: slotSet{}, est: 1, keys: [][]int{{}}, one: true}
	for _, v := range c.Imports {
		in.bound.add(v.Slot)
	}
	n := &TransactionApply{Apply: Apply{Kind: callKind(c), RowID: rowID, Slot: NoSlot, From: NoSlot}, BatchRows: c.InTx.Rows, OnError: c.InTx.OnError}
	n.PerRow = c.Writes && (p.bodyConflict(c) != "" || len(c.Body.Parts) > 1)
	n.Base = p.base(s.est)
	n.Left = s.root
	if c.InTx.Status != nil {
		n.Slot = c.InTx.Status.Slot
	}

	locked := p.locked
	leave := p.enter(rowID)
	p.newSegment()
	n.Opens = p.cid.Seg
	p.locked = slotSet{}
	p.noBarrier = !n.PerRow
	p.outer = clone(in.bound)
	in.root = &Argument{Base: p.base(1), RowID: rowID}
	right, _ := p.query(in, c.Body, rowID)
	leave()
	p.locked = locked // locks end with the transactions that took them
	n.Right = right.root

	out := s.with(n)
	out.keys, out.bound = nil, clone(s.bound)
	for _, v := range c.Body.Cols {
		out.bound.add(v.Slot)
		n.Nulls = append(n.Nulls, v.Slot)
	}
	if n.Slot != NoSlot {
		out.bound.add(n.Slot)
	}
	if n.Kind != Unit {
		out.est = max(1, s.est*right.est)
		n.Est = out.est
	}
	p.newSegment()
	n.After = p.cid.Seg
	return out
}
