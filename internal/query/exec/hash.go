package exec

import (
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// table is an open-addressing hash table over entries numbered from 0. The caller compares entries of equal hash.
type table struct {
	slot []uint32 // entry + 1, 0: free
	hash []uint64 // of each entry
}

func (t *table) reset() {
	clear(t.slot)
	t.hash = t.hash[:0]
}

func (t *table) bytes() int64 { return int64(cap(t.slot)*4 + cap(t.hash)*8) }

// reserve makes room for one more entry.
func (t *table) reserve() {
	if 4*(len(t.hash)+1) <= 3*len(t.slot) {
		return
	}
	t.slot = make([]uint32, max(64, 2*len(t.slot)))
	m := uint64(len(t.slot) - 1)
	for i, h := range t.hash {
		p := mix(h) & m
		for t.slot[p] != 0 {
			p = (p + 1) & m
		}
		t.slot[p] = uint32(i + 1)
	}
}

// keyStore numbers the classes of equivalent keys.
type keyStore struct {
	table
	rows rowStore
	cols []*vec.Column // of the batch at hand
	b    expr.Batch
}

func (s *keyStore) init(width int) {
	s.rows.slots = make([]plan.Slot, width)
	for i := range width {
		s.rows.slots[i] = i
	}
	s.cols = make([]*vec.Column, width)
	s.rows.known = true
}

func (s *keyStore) reset() {
	s.table.reset()
	s.rows.reset()
	s.rows.known = true
}

func (s *keyStore) bytes() int64 { return s.table.bytes() + s.rows.size() }

func hashRow(cols []*vec.Column, row int) uint64 {
	h := uint64(0x9E3779B97F4A7C15)
	for _, c := range cols {
		h = mix(h ^ value.Hash(c.Value(row)))
	}
	return h
}

// put returns the number of the class of row of s.cols.
func (s *keyStore) put(row int) (n int, fresh bool) {
	s.reserve()
	h := hashRow(s.cols, row)
	m := uint64(len(s.slot) - 1)
	for p := mix(h) & m; ; p = (p + 1) & m {
		e := s.slot[p]
		if e == 0 {
			s.b.Cols = s.cols
			n = s.rows.addRow(&s.b, row)
			s.slot[p] = uint32(n + 1)
			s.hash = append(s.hash, h)
			return n, true
		}
		if s.hash[e-1] == h && s.same(int(e-1), row) {
			return int(e - 1), false
		}
	}
}

func (s *keyStore) same(n, row int) bool {
	blk, i := s.rows.at(n)
	for k, c := range s.cols {
		if !equivalent(&blk.cols[k], i, c, row) {
			return false
		}
	}
	return true
}

// equivalent compares two rows of columns under equivalence, fast where both live in words.
func equivalent(a *vec.Column, i int, b *vec.Column, j int) bool {
	if k := a.Kinds[i]; k == b.Kinds[j] {
		switch k {
		case value.Null:
			return true
		case value.Int, value.Bool, value.Node, value.Rel, value.Date:
			return a.Words[i] == b.Words[j]
		}
	}
	return value.Equivalent(a.Value(i), b.Value(j))
}

// distinct keeps the first row of every class.
type distinct struct {
	core
	in      input
	n       *plan.Distinct
	progs   []*expr.Program
	scratch []vec.Column
	keys    keyStore
	sel     []uint16
}

func (o *distinct) open() error {
	o.keys.reset()
	return o.in.op.open()
}

func (o *distinct) next() (*expr.Batch, error) {
	for {
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
		o.out.start()
		for i, p := range o.progs {
			c, err := p.EvalRef(&o.env, b, nil, &o.scratch[i])
			if err != nil {
				return nil, err
			}
			o.keys.cols[i] = c
			o.out.b.Cols[o.n.Keys[i].Slot] = c
		}
		for i, s := range o.n.Part {
			o.keys.cols[len(o.progs)+i] = b.Cols[s]
			o.out.b.Cols[s] = b.Cols[s]
		}
		o.sel = o.sel[:0]
		for i := range b.N {
			if _, fresh := o.keys.put(i); fresh {
				o.sel = append(o.sel, uint16(i))
			}
		}
		if err := o.mem.set(&o.acct, o.keys.bytes()+colBytes(o.scratch)); err != nil {
			return nil, err
		}
		if len(o.sel) == 0 {
			continue
		}
		o.out.b.N, o.out.b.Sel = b.N, o.sel
		return &o.out.b, nil
	}
}

// aggregate groups rows.
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
}

func (o *aggregate) open() error {
	o.done, o.pos = false, 0
	o.keys.reset()
	for _, a := range o.aggs {
		a.Reset()
	}
	return o.in.op.open()
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
		if err := o.add(b); err != nil {
			return err
		}
		if err := o.mem.set(&o.acct, o.keys.bytes()+colBytes(o.keyCol)); err != nil {
			return err
		}
	}
}

func (o *aggregate) add(b *expr.Batch) error {
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
	o.group = grow(o.group, b.N)
	if len(o.keys.cols) == 0 {
		clear(o.group)
	} else {
		for i := range b.N {
			g, _ := o.keys.put(i)
			o.group[i] = uint32(g)
		}
	}
	for i, a := range o.aggs {
		for k, p := range o.argProg[i] {
			c, err := p.EvalRef(&o.env, b, nil, &o.argBuf[i][k])
			if err != nil {
				return err
			}
			o.argCol[i][k] = c
		}
		a.Grow(o.keys.rows.n)
		if err := a.Add(&o.env, o.group, o.argCol[i]); err != nil {
			return err
		}
	}
	return nil
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
	total := o.keys.rows.n
	if o.pos >= total {
		return nil, nil
	}
	if err := o.x.check(); err != nil {
		return nil, err
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
	return &o.out.b, nil
}

func (o *aggregate) keyOut(s plan.Slot, k, to int) {
	col := o.out.col(s)
	for g := o.pos; g < to; g++ {
		blk, i := o.keys.rows.at(g)
		col.AppendFrom(&blk.cols[k], i)
	}
}

// hashJoin joins on equality; the right side is read into a table.
type hashJoin struct {
	core
	left      input
	right     input
	n         *plan.HashJoin
	leftProg  []*expr.Program
	rightProg []*expr.Program
	buf       []vec.Column
	cols      []*vec.Column
	build     rowStore
	keys      rowStore
	hashes    []uint64 // of the build rows
	head      []uint32 // first row of a bucket, row + 1
	chain     []uint32 // next row of the bucket, row + 1; rows of a bucket keep their order
	rightKeep []plan.Slot
	built     bool
	sieves    []*sieve // of n.Fills

	batch *expr.Batch
	row   int
	hash  uint64
	at    uint32 // candidate, row + 1
	fresh bool   // row has not been looked up
	hit   bool
	idx   []uint16
	match []uint32 // build row + 1, 0: none
}

func (o *hashJoin) open() error {
	o.built, o.batch = false, nil
	o.build.reset()
	o.keys.reset()
	o.hashes = o.hashes[:0]
	for _, s := range o.sieves {
		s.reset()
	}
	if err := o.left.op.open(); err != nil {
		return err
	}
	return o.right.op.open()
}

func (o *hashJoin) eval(progs []*expr.Program, b *expr.Batch) error {
	for i, p := range progs {
		c, err := p.EvalRef(&o.env, b, nil, &o.buf[i])
		if err != nil {
			return err
		}
		o.cols[i] = c
	}
	return nil
}

func nullRow(cols []*vec.Column, row int) bool {
	for _, c := range cols {
		if c.Kinds[row] == value.Null {
			return true
		}
	}
	return false
}

func (o *hashJoin) load() error {
	o.keys.slots = o.keys.slots[:0]
	for i := range o.rightProg {
		o.keys.slots = append(o.keys.slots, i)
	}
	o.keys.known = true
	kb := expr.Batch{Cols: o.cols}
	for {
		b, err := o.right.next()
		if err != nil {
			return err
		}
		if b == nil {
			o.link()
			for _, s := range o.sieves {
				s.full = true
			}
			return nil
		}
		if err := o.x.check(); err != nil {
			return err
		}
		if err := o.sync(); err != nil {
			return err
		}
		if err := o.eval(o.rightProg, b); err != nil {
			return err
		}
		for i, f := range o.n.Fills {
			c := o.cols[f.Key]
			o.sieves[i].add(value.Node, c.Words, c.Kinds)
		}
		o.build.choose(b, o.rightKeep)
		for i := range b.N {
			if nullRow(o.cols, i) {
				continue
			}
			o.build.addRow(b, i)
			o.keys.addRow(&kb, i)
			o.hashes = append(o.hashes, hashRow(o.cols, i))
		}
		if err := o.mem.set(&o.acct, o.held()); err != nil {
			return err
		}
	}
}

// held is the memory of the build side.
func (o *hashJoin) held() int64 {
	n := o.build.size() + o.keys.size() + int64(cap(o.hashes))*20
	for _, s := range o.sieves {
		n += s.size()
	}
	return n
}

// link makes the buckets.
func (o *hashJoin) link() {
	n := 64
	for n < len(o.hashes) {
		n *= 2
	}
	o.head, o.chain = grow(o.head, n), grow(o.chain, len(o.hashes))
	clear(o.head)
	m := uint64(n - 1)
	for i := len(o.hashes) - 1; i >= 0; i-- {
		p := o.hashes[i] & m
		o.chain[i], o.head[p] = o.head[p], uint32(i+1)
	}
}

// find moves to the next build row that equals the current left row.
func (o *hashJoin) find() bool {
	for o.at != 0 {
		e := int(o.at - 1)
		o.at = o.chain[e]
		if o.hashes[e] == o.hash && o.equal(e) {
			o.match = append(o.match, uint32(e+1))
			return true
		}
	}
	return false
}

func (o *hashJoin) equal(e int) bool {
	blk, i := o.keys.at(e)
	for k, c := range o.cols {
		l, r := c.Value(o.row), blk.cols[k].Value(i)
		if o.n.Equiv && !value.Equivalent(l, r) || !o.n.Equiv && value.Equal(l, r) != value.True {
			return false
		}
	}
	return true
}

func (o *hashJoin) next() (*expr.Batch, error) {
	for {
		if err := o.x.check(); err != nil {
			return nil, err
		}
		if o.batch == nil {
			if len(o.sieves) > 0 && !o.built {
				o.built = true
				if err := o.load(); err != nil {
					return nil, err
				}
			}
			b, err := o.left.next()
			if b == nil || err != nil {
				return nil, err
			}
			if err := o.sync(); err != nil {
				return nil, err
			}
			if !o.built {
				o.built = true
				if err := o.load(); err != nil {
					return nil, err
				}
				if err := o.sync(); err != nil {
					return nil, err
				}
			}
			if err := o.eval(o.leftProg, b); err != nil {
				return nil, err
			}
			o.batch, o.row, o.fresh = b, 0, true
		}
		o.probe()
		b := o.batch
		if o.row >= b.N {
			o.batch = nil
		}
		if len(o.idx) > 0 {
			return o.emit(b)
		}
	}
}

// probe looks left rows up until a batch of pairs is full.
func (o *hashJoin) probe() {
	o.idx, o.match = o.idx[:0], o.match[:0]
	for o.row < o.batch.N && len(o.idx) < o.x.opt.BatchSize {
		if o.fresh {
			o.fresh, o.hit, o.at = false, false, 0
			if !nullRow(o.cols, o.row) {
				o.hash = hashRow(o.cols, o.row)
				o.at = o.head[o.hash&uint64(len(o.head)-1)]
			}
		}
		found := o.find()
		row := uint16(o.row)
		switch {
		case found && o.n.Kind <= plan.JoinLeft:
			o.hit = true
			o.idx = append(o.idx, row)
			continue
		case found && o.n.Kind == plan.JoinSemi:
			o.idx = append(o.idx, row)
		case !found && o.n.Kind == plan.JoinLeft && !o.hit || !found && o.n.Kind == plan.JoinAnti:
			o.idx, o.match = append(o.idx, row), append(o.match, 0)
		}
		o.row, o.fresh = o.row+1, true
	}
}

func (o *hashJoin) emit(in *expr.Batch) (*expr.Batch, error) {
	o.out.start()
	o.out.gather(in, o.keep, o.idx)
	if o.n.Kind <= plan.JoinLeft {
		for k, s := range o.build.slots {
			if in.Cols[s] != nil && has(o.keep, s) {
				continue
			}
			col := o.out.col(s)
			for _, m := range o.match {
				if m == 0 {
					col.AppendNull()
					continue
				}
				blk, i := o.build.at(int(m - 1))
				col.AppendFrom(&blk.cols[k], i)
			}
		}
		for _, s := range o.n.Nulls {
			if o.out.b.Cols[s] == nil {
				o.out.raw(s).Nulls(len(o.idx))
			}
		}
	}
	o.out.b.N = len(o.idx)
	return &o.out.b, o.mem.set(&o.acct, o.out.bytes()+o.held())
}
