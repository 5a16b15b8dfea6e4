package exec

import (
	"encoding/binary"

	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/query/spill"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// aggregate groups rows; groups come out in the order of their first rows. When groups and states have reached work_mem no group is
// added and what grows within a group goes to files: rows of further groups are put by, sorted by hash so that those of a group
// meet, aggregated by and by when all others are out, and brought back into the order of first rows.
type aggregate struct {
	core
	in      input
	n       *plan.Aggregate
	keyProg []*expr.Program
	argProg [][]*expr.Program
	keyCol  []vec.Column
	argCol  [][]*vec.Column
	argBuf  [][]vec.Column
	keys    keyStore
	aggs    []expr.Aggregator
	group   []uint32
	arg     *argState // of the enclosing Apply
	done    bool
	pos     int

	late   lateGroups
	idx    []uint16 // rows of a batch whose groups are held
	picked [][]vec.Column
}

// lateGroups are the rows and results of groups that found no room.
type lateGroups struct {
	on    bool
	ready bool // results can be read
	rows  spill.Sorter
	out   spill.Sorter
	seq   uint64
	key   [16]byte
	body  []byte
	flat  []*vec.Column // of a row: keys and parts, then all arguments
	cols  []vec.Column  // of rows that are read back
	seqs  []uint64
	first []uint64 // ordinals of the groups' first rows
}

func (o *aggregate) open() error {
	o.done, o.pos = false, 0
	o.keys.reset()
	for _, a := range o.aggs {
		a.Reset()
	}
	o.late.close()
	return o.in.op.open()
}

// renew replaces the aggregators that have been charged for something: the charge was that of another statement.
func (o *aggregate) renew() {
	for i, a := range o.n.Aggs {
		if o.aggs[i].Size() != 0 {
			o.aggs[i] = expr.NewAggregator(a.Call)
		}
	}
}

func (l *lateGroups) close() {
	l.rows.Close()
	l.out.Close()
	l.on, l.ready, l.seq = false, false, 0
}

func (o *aggregate) close() {
	for _, a := range o.aggs {
		a.Close()
	}
	o.late.close()
	o.core.close()
}

// seed makes the groups that exist without a row: one, or one for each row that the enclosing Apply passed down.
func (o *aggregate) seed() {
	if len(o.n.Keys) > 0 {
		return
	}
	if len(o.n.Part) == 0 {
		o.keys.put(0)
		return
	}
	if o.arg == nil || o.arg.batch == nil {
		return
	}
	b := o.arg.batch
	for i, s := range o.n.Part {
		if s == o.arg.row {
			o.keys.cols[i] = &o.arg.rows
		} else {
			o.keys.cols[i] = b.Cols[s]
		}
	}
	for i := range b.N {
		o.keys.put(i)
	}
}

func (o *aggregate) load() error {
	o.seed()
	for {
		b, err := o.in.next()
		if err != nil {
			return err
		}
		if b == nil {
			for _, a := range o.aggs {
				a.Grow(o.keys.rows.n)
			}
			return nil
		}
		if err := o.x.check(); err != nil {
			return err
		}
		if err := o.sync(); err != nil {
			return err
		}
		if err := o.eval(b); err != nil {
			return err
		}
		if o.late.on {
			err = o.addKnown(b.N)
		} else {
			err = o.add(b.N)
		}
		if err != nil {
			return err
		}
		size := o.keys.bytes()
		if !o.late.on && o.full(size+o.stateBytes()) {
			if err := o.spill(); err != nil {
				return err
			}
		}
		if err := o.mem.set(&o.acct, size+o.ownBytes()); err != nil {
			return err
		}
	}
}

func (o *aggregate) stateBytes() (n int64) {
	for _, a := range o.aggs {
		n += int64(a.Size())
	}
	return n
}

// ownBytes is what the operator holds beside its groups.
func (o *aggregate) ownBytes() int64 {
	n := colBytes(o.keyCol) + colBytes(o.late.cols) + int64(4*cap(o.group)+cap(o.late.body)+8*cap(o.late.first))
	for i := range o.argBuf {
		n += colBytes(o.argBuf[i])
	}
	return n
}

// eval computes keys and arguments of a batch.
func (o *aggregate) eval(b *expr.Batch) error {
	for i, p := range o.keyProg {
		c, err := p.EvalRef(&o.env, b, nil, &o.keyCol[i])
		if err != nil {
			return err
		}
		o.keys.cols[i] = c
	}
	for i, s := range o.n.Part {
		o.keys.cols[len(o.keyProg)+i] = b.Cols[s]
	}
	for i := range o.aggs {
		for k, p := range o.argProg[i] {
			c, err := p.EvalRef(&o.env, b, nil, &o.argBuf[i][k])
			if err != nil {
				return err
			}
			o.argCol[i][k] = c
		}
	}
	return nil
}

// add takes n rows of keys.cols and argCol.
func (o *aggregate) add(n int) error {
	o.group = grow(o.group, n)
	if len(o.keys.cols) == 0 {
		clear(o.group)
	} else {
		for i := range n {
			g, _ := o.keys.put(i)
			o.group[i] = uint32(g)
		}
	}
	return o.states(o.argCol)
}

// states adds rows whose groups are known.
func (o *aggregate) states(args [][]*vec.Column) error {
	for i, a := range o.aggs {
		a.Grow(o.keys.rows.n)
		if err := a.Add(&o.env, o.group, args[i]); err != nil {
			return err
		}
	}
	return nil
}

// spill stops groups and states from growing.
func (o *aggregate) spill() error {
	work := o.x.opt.WorkMem
	for _, a := range o.aggs {
		if err := a.Spill(&o.env, o.place(work/2).Part(len(o.aggs))); err != nil {
			return err
		}
	}
	if len(o.keys.cols) == 0 {
		return nil // there is one group, and it is known
	}
	o.late.on = true
	o.late.rows.Init(o.place(work / 2))
	o.late.out.Init(o.place(work / 2))
	return nil
}

// addKnown takes n rows: those of groups that are held are added, the others are put by.
func (o *aggregate) addKnown(n int) error {
	l := &o.late
	o.idx, o.group = o.idx[:0], o.group[:0]
	l.flat = append(l.flat[:0], o.keys.cols...)
	for i := range o.aggs {
		l.flat = append(l.flat, o.argCol[i]...)
	}
	for i := range n {
		g, hash, _ := o.keys.find(i)
		if g >= 0 {
			o.idx, o.group = append(o.idx, uint16(i)), append(o.group, uint32(g))
			continue
		}
		binary.BigEndian.PutUint64(l.key[:], hash)
		binary.BigEndian.PutUint64(l.key[8:], l.seq)
		l.seq++
		l.body = appendRow(l.body[:0], l.flat, i)
		if err := l.rows.Add(l.key[:], l.body); err != nil {
			return err
		}
	}
	switch len(o.idx) {
	case 0:
		return nil
	case n:
		return o.states(o.argCol)
	}
	if o.picked == nil {
		o.picked = make([][]vec.Column, len(o.aggs))
	}
	for i := range o.aggs {
		if o.picked[i] == nil {
			o.picked[i] = make([]vec.Column, len(o.argCol[i]))
		}
		for k, c := range o.argCol[i] {
			o.picked[i][k].Gather(c, o.idx)
			o.argCol[i][k] = &o.picked[i][k]
		}
	}
	return o.states(o.argCol)
}

// finishLate aggregates what was put by. Rows come by hash, so that a group is complete when the hash changes.
func (o *aggregate) finishLate() error {
	l := &o.late
	o.drop()
	if err := l.rows.Sort(); err != nil {
		return err
	}
	// The columns of rows that are read back take the places of those that were computed.
	width := len(o.keys.cols)
	for i := range o.aggs {
		width += len(o.argCol[i])
	}
	l.cols = make([]vec.Column, width)
	l.flat = l.flat[:0]
	for i := range l.cols {
		l.flat = append(l.flat, &l.cols[i])
	}
	copy(o.keys.cols, l.flat)
	at := len(o.keys.cols)
	for i := range o.argCol {
		at += copy(o.argCol[i], l.flat[at:])
	}
	last, crowded := uint64(0), false
	for {
		key, body, ok, err := l.rows.Next()
		if err != nil {
			return err
		}
		hash := uint64(0)
		if ok {
			hash = binary.BigEndian.Uint64(key)
		}
		if len(l.seqs) > 0 && (!ok || len(l.seqs) == vec.MaxRows || crowded && hash != last) {
			if err := o.addLate(); err != nil {
				return err
			}
			size := o.keys.bytes() + o.stateBytes()
			if crowded && hash == last && o.full(size/2) {
				// One group alone is too much.
				for _, a := range o.aggs {
					if err := a.Spill(&o.env, o.place(o.x.opt.WorkMem/2).Part(len(o.aggs))); err != nil {
						return err
					}
				}
			}
			crowded = crowded || o.full(size*2)
		}
		if (crowded && hash != last || !ok) && o.keys.rows.n > 0 && len(l.seqs) == 0 {
			if err := o.flushLate(); err != nil {
				return err
			}
			crowded = false
		}
		if !ok {
			break
		}
		last = hash
		l.seqs = append(l.seqs, binary.BigEndian.Uint64(key[8:]))
		if _, err := decodeRow(body, l.flat); err != nil {
			return err
		}
	}
	l.rows.Close()
	return l.out.Sort()
}

// addLate aggregates the rows that were read back.
func (o *aggregate) addLate() error {
	l := &o.late
	if err := o.x.check(); err != nil {
		return err
	}
	n := len(l.seqs)
	o.group = grow(o.group, n)
	for i := range n {
		g, fresh := o.keys.put(i)
		o.group[i] = uint32(g)
		if fresh {
			l.first = append(l.first, l.seqs[i])
		}
	}
	if err := o.states(o.argCol); err != nil {
		return err
	}
	l.seqs = l.seqs[:0]
	for i := range l.cols {
		l.cols[i].Reset()
	}
	return o.mem.set(&o.acct, o.keys.bytes()+o.ownBytes())
}

// flushLate writes the results of complete groups.
func (o *aggregate) flushLate() error {
	l := &o.late
	results := make([]vec.Column, len(o.aggs))
	flat := make([]*vec.Column, len(results))
	for from := 0; from < o.keys.rows.n; from += vec.MaxRows {
		to := min(o.keys.rows.n, from+vec.MaxRows)
		for i, a := range o.aggs {
			results[i].Reset()
			flat[i] = &results[i]
			if err := a.Results(&o.env, from, to, flat[i]); err != nil {
				return err
			}
		}
		for g := from; g < to; g++ {
			blk, i := o.keys.rows.at(g)
			l.body = l.body[:0]
			for k := range o.keys.cols {
				l.body = appendRow(l.body, []*vec.Column{&blk.cols[k]}, i)
			}
			l.body = appendRow(l.body, flat, g-from)
			binary.BigEndian.PutUint64(l.key[:], l.first[g])
			if err := l.out.Add(l.key[:8], l.body); err != nil {
				return err
			}
		}
	}
	l.first = l.first[:0]
	o.drop()
	return nil
}

// drop forgets all groups and gives their memory back.
func (o *aggregate) drop() {
	o.keys.drop()
	for i, a := range o.aggs {
		a.Close()
		_ = o.acct.Grow(-int64(a.Size()))
		o.aggs[i] = expr.NewAggregator(o.n.Aggs[i].Call)
	}
}

func (o *aggregate) next() (*expr.Batch, error) {
	if !o.done {
		if err := o.load(); err != nil {
			return nil, err
		}
		o.done = true
		if err := o.sync(); err != nil {
			return nil, err
		}
	}
	if err := o.x.check(); err != nil {
		return nil, err
	}
	total := o.keys.rows.n
	if o.late.ready || o.pos >= total {
		return o.lateOut()
	}
	to := min(total, o.pos+o.x.opt.BatchSize)
	o.out.start()
	for k, it := range o.n.Keys {
		o.keyOut(it.Slot, k, to)
	}
	for k, s := range o.n.Part {
		o.keyOut(s, len(o.n.Keys)+k, to)
	}
	for i, a := range o.n.Aggs {
		if err := o.aggs[i].Results(&o.env, o.pos, to, o.out.col(a.Slot)); err != nil {
			return nil, err
		}
	}
	o.out.b.N = to - o.pos
	o.pos = to
	return &o.out.b, o.mem.set(&o.acct, o.keys.bytes()+o.ownBytes()+o.out.bytes())
}

// lateOut yields the groups that were put by.
func (o *aggregate) lateOut() (*expr.Batch, error) {
	l := &o.late
	if !l.on {
		return nil, nil
	}
	if !l.ready {
		if err := o.finishLate(); err != nil {
			return nil, err
		}
		l.ready = true
	}
	o.out.start()
	l.flat = l.flat[:0]
	for _, it := range o.n.Keys {
		l.flat = append(l.flat, o.out.col(it.Slot))
	}
	for _, s := range o.n.Part {
		l.flat = append(l.flat, o.out.col(s))
	}
	for _, a := range o.n.Aggs {
		l.flat = append(l.flat, o.out.col(a.Slot))
	}
	n := 0
	for ; n < o.x.opt.BatchSize; n++ {
		_, body, ok, err := l.out.Next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if _, err := decodeRow(body, l.flat); err != nil {
			return nil, err
		}
	}
	if n == 0 {
		return nil, nil
	}
	o.out.b.N = n
	return &o.out.b, o.mem.set(&o.acct, o.ownBytes()+o.out.bytes())
}

func (o *aggregate) keyOut(s plan.Slot, k, to int) {
	col := o.out.col(s)
	for g := o.pos; g < to; g++ {
		blk, i := o.keys.rows.at(g)
		col.AppendFrom(&blk.cols[k], i)
	}
}
