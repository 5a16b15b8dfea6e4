package txn

// detect looks for a cycle of waits through g and ends it by waking its youngest member as the victim.
//
// The table is held still while it looks: all partitions in ascending order, then the waits on xids, which are read through
// each group's waiting pointer. It runs only after somebody waited for some milliseconds.
func (t *lockTable) detect(g *Tx) {
	t.detector.Lock()
	defer t.detector.Unlock()
	for i := range t.parts {
		t.parts[i].mu.Lock()
	}
	defer func() {
		for i := range t.parts {
			t.parts[i].mu.Unlock()
		}
	}()
	d := search{goal: g, seen: map[*Tx]bool{}}
	if !d.from(g) {
		return
	}
	young := d.path[0]
	for _, m := range d.path {
		if m.seq > young.seq {
			young = m
		}
	}
	w := young.waiting.Load()
	if w == nil {
		return
	}
	if w.head != nil {
		if w.state == waiting {
			w.state = victim
			w.signal()
		}
		return
	}
	w.onTx.waitMu.Lock()
	defer w.onTx.waitMu.Unlock()
	if w.state == waiting {
		w.state = victim
		w.signal()
	}
}

type search struct {
	goal *Tx
	seen map[*Tx]bool
	path []*Tx
}

// from reports whether g waits, directly or not, for the goal; path then is the cycle.
func (d *search) from(g *Tx) bool {
	w := g.waiting.Load()
	if w == nil || d.seen[g] {
		return false
	}
	d.seen[g] = true
	d.path = append(d.path, g)
	found := false
	blockers(w, func(b *Tx) bool {
		found = b == d.goal || d.from(b)
		return !found
	})
	if !found {
		d.path = d.path[:len(d.path)-1]
	}
	return found
}

// blockers calls f with the groups that w waits for until it returns false.
func blockers(w *waiter, f func(*Tx) bool) {
	g := w.tx.group
	if w.head == nil {
		if b := w.onTx.group; b != g {
			f(b)
		}
		return
	}
	if w.state != waiting {
		return
	}
	for r := w.head.holders; r != nil; r = r.next {
		if b := r.tx.group; b != g && Conflicts(w.mode, r.mode) && !f(b) {
			return
		}
	}
	for _, q := range w.head.queue {
		if q == w {
			return
		}
		if b := q.tx.group; b != g && Conflicts(w.mode, q.mode) && !f(b) {
			return
		}
	}
}
