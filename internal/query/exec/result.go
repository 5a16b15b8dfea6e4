package exec

import (
	"encoding/binary"
	"io"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// produce is the root: it hands rows out, entities with all that belongs to them.
type produce struct {
	core
	in    input
	n     *plan.ProduceResults
	spool spool // of a statement with a write: ids, until everything is written
	bytes byteSpool
	cells []value.Value
	mat   materialiser
	full  bool // the statement has been evaluated to its end
	view  bool
}

func (o *produce) open() error { return o.in.op.open() }

func (o *produce) next() (*expr.Batch, error) { return o.in.next() }

func (o *produce) close() {
	o.spool.close()
	o.bytes.close()
	o.core.close()
}

// renew forgets the rows of the execution before.
func (o *produce) renew() {
	o.full = false
	clear(o.cells[:cap(o.cells)])
	b := &o.bytes
	*b = byteSpool{x: b.x, acct: b.acct, cur: b.cur[:0], off: b.off[:0]}
}

func (o *produce) row(i int) []value.Value {
	w := len(o.n.Cols)
	return o.cells[i*w : (i+1)*w : (i+1)*w]
}

// rows makes the next rows current.
func (o *produce) rows(started *bool) (int, error) {
	if !*started {
		*started = true
		if err := o.x.root.open(); err != nil {
			return 0, err
		}
		// The first segment opens with the statement (plan P4).
		if _, err := o.x.base(0); err != nil {
			return 0, err
		}
		if !o.x.q.ReadOnly {
			if err := o.evaluate(); err != nil {
				return 0, err
			}
		}
	}
	if o.full {
		return o.stored()
	}
	for {
		b, err := o.x.pull()
		if b == nil || err != nil {
			return 0, err
		}
		if len(o.n.Cols) == 0 {
			continue
		}
		if err := o.lastView(); err != nil {
			return 0, err
		}
		if err := o.fill(b); err != nil {
			return 0, err
		}
		return b.N, nil
	}
}

// pull takes the next dense batch of the root.
func (x *run) pull() (*expr.Batch, error) {
	if err := x.check(); err != nil {
		return nil, err
	}
	return x.root.next()
}

// lastView sets the view at which entities are encoded (rules C3); it serves what the statement deleted (rules C8).
func (o *produce) lastView() error {
	base, err := o.x.base(o.x.q.LastSeg)
	if err != nil {
		return err
	}
	o.env.View = o.x.stmt.View(base + uint32(o.x.q.LastRead))
	o.env.View.WithDeleted = true
	return nil
}

// fill turns a batch into cells.
func (o *produce) fill(b *expr.Batch) error {
	w := len(o.n.Cols)
	o.cells = grow(o.cells, b.N*w)
	entities := false
	for k, s := range o.n.Cols {
		col := b.Cols[s]
		if col == nil {
			return dberr.New(dberr.Internal, "column %q of the result is missing", o.n.Names[k])
		}
		for i := range b.N {
			v := col.Value(i)
			switch v.Kind() {
			case value.Node, value.Rel, value.Path, value.List, value.Map:
				entities = true
			}
			o.cells[i*w+k] = v
		}
	}
	if !entities || o.x.q.Raw {
		return nil
	}
	return o.mat.all(&o.core, o.cells)
}

// evaluate runs a statement with a write to its end, encodes all its rows, and ends the statement (rules C3).
func (o *produce) evaluate() error {
	for {
		b, err := o.x.pull()
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		if len(o.n.Cols) > 0 {
			if err := o.spool.add(b, o.n.Cols); err != nil {
				return err
			}
		}
	}
	o.full = true
	if err := o.lastView(); err != nil {
		return err
	}
	o.spool.rewind()
	for {
		ok, err := o.spool.read(&o.out, o.x.opt.BatchSize)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := o.x.check(); err != nil {
			return err
		}
		if err := o.fill(&o.out.b); err != nil {
			return err
		}
		if err := o.bytes.add(o.cells, o.out.b.N); err != nil {
			return err
		}
	}
	o.spool.reset()
	if err := o.spool.mem.set(&o.acct, 0); err != nil {
		return err
	}
	if err := o.x.stmt.Finish(o.x.ctx); err != nil {
		return err
	}
	return o.bytes.seal()
}

// stored makes the next rows of the byte spool current.
func (o *produce) stored() (int, error) {
	if err := o.x.check(); err != nil {
		return 0, err
	}
	return o.bytes.read(&o.cells, len(o.n.Cols), o.x.opt.BatchSize)
}

// byteSpool keeps encoded rows in chunks, in memory up to work_mem and then in a temporary file.
type byteSpool struct {
	x      *run
	acct   *account
	chunks [][]byte // in memory
	cur    []byte
	total  int64
	file   File
	off    []int64 // ends of the chunks in the file
	mem    charge

	at   int // next chunk
	buf  []byte
	rest []byte
	page []byte
}

const chunkBytes = 64 << 10

func (s *byteSpool) close() {
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
	_ = s.mem.set(s.acct, 0)
}

// add appends n rows of cells. Each row is preceded by its length.
func (s *byteSpool) add(cells []value.Value, n int) error {
	w := 0
	if n > 0 {
		w = len(cells) / n
	}
	for i := range n {
		at := len(s.cur)
		s.cur = append(s.cur, 0, 0, 0, 0)
		for _, v := range cells[i*w : (i+1)*w] {
			s.cur = value.AppendValue(s.cur, v)
		}
		binary.LittleEndian.PutUint32(s.cur[at:], uint32(len(s.cur)-at-4))
		if len(s.cur) >= chunkBytes {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return s.mem.set(s.acct, s.total+int64(cap(s.cur)))
}

func (s *byteSpool) flush() error {
	if s.file == nil && s.total+int64(len(s.cur)) > s.x.opt.WorkMem && s.x.opt.Temp != nil {
		f, err := (&countedTemp{s.x.opt.Temp, s.acct}).Create()
		if err != nil {
			return err
		}
		s.file = f
		for _, c := range s.chunks {
			if err := s.write(c); err != nil {
				return err
			}
		}
		s.chunks, s.total = nil, 0
	}
	if s.file != nil {
		err := s.write(s.cur)
		s.cur = s.cur[:0]
		return err
	}
	s.chunks = append(s.chunks, s.cur)
	s.total += int64(cap(s.cur))
	s.cur = nil
	return nil
}

func (s *byteSpool) write(c []byte) error {
	if _, err := s.file.Write(c); err != nil {
		return err
	}
	end := int64(len(c))
	if n := len(s.off); n > 0 {
		end += s.off[n-1]
	}
	s.off = append(s.off, end)
	return nil
}

// seal ends writing.
func (s *byteSpool) seal() error {
	if len(s.cur) == 0 {
		return nil
	}
	return s.flush()
}

// next returns the next chunk; nil at the end.
func (s *byteSpool) next() ([]byte, error) {
	i := s.at
	if s.file != nil {
		if i >= len(s.off) {
			return nil, nil
		}
		start := int64(0)
		if i > 0 {
			start = s.off[i-1]
		}
		s.at++
		s.buf = grow(s.buf, int(s.off[i]-start))
		if _, err := s.file.ReadAt(s.buf, start); err != nil && err != io.EOF {
			return nil, tempError(err)
		}
		return s.buf, nil
	}
	if i >= len(s.chunks) {
		return nil, nil
	}
	s.at++
	c := s.chunks[i]
	s.chunks[i] = nil // it is not read again
	return c, nil
}

// read decodes up to limit rows of w cells into cells.
func (s *byteSpool) read(cells *[]value.Value, w, limit int) (int, error) {
	n := 0
	out := (*cells)[:0]
	for n < limit {
		if len(s.rest) == 0 {
			if n > 0 {
				break // the views of these rows point into the chunk
			}
			c, err := s.next()
			if c == nil || err != nil {
				return n, err
			}
			s.rest = c
		}
		size := binary.LittleEndian.Uint32(s.rest)
		row := s.rest[4 : 4+size]
		s.rest = s.rest[4+size:]
		for range w {
			v, tail, err := value.DecodeValue(row)
			if err != nil {
				return 0, dberr.Wrap(dberr.Internal, err, "a spooled row is damaged")
			}
			out, row = append(out, v), tail
		}
		n++
	}
	*cells = out
	return n, nil
}

// materialiser gives entities their labels or type, ends and properties, also inside lists, maps and paths.
type materialiser struct {
	ids   [2][]uint64
	next  [2]int
	sets  []schema.LabelSetID
	ends  [2][]uint64
	props [2]vec.Column
	names map[schema.LabelSetID][]string
}

// all replaces every entity in cells.
func (m *materialiser) all(c *core, cells []value.Value) error {
	m.ids[0], m.ids[1] = m.ids[0][:0], m.ids[1][:0]
	for _, v := range cells {
		m.find(v)
	}
	if len(m.ids[0])+len(m.ids[1]) == 0 {
		return nil
	}
	x, v := c.x, c.env.View
	m.sets = grow(m.sets, len(m.ids[0]))
	m.ends[0], m.ends[1] = grow(m.ends[0], len(m.ids[1])), grow(m.ends[1], len(m.ids[1]))
	for e, list := range m.ids {
		m.props[e].Reset()
		for at := 0; at < len(list); at += vec.MaxRows {
			to := min(len(list), at+vec.MaxRows)
			if err := x.g.FetchMap(x.ctx, v, schema.Entity(e), list[at:to], nil, &m.props[e]); err != nil {
				return err
			}
			var err error
			if e == 0 {
				err = x.g.LabelSets(x.ctx, v, list[at:to], nil, m.sets[at:to])
			} else {
				err = x.g.Ends(x.ctx, v, list[at:to], nil, m.ends[0][at:to], m.ends[1][at:to])
			}
			if err != nil {
				return err
			}
		}
	}
	m.next = [2]int{}
	for i, v := range cells {
		cells[i] = m.build(x.g, v)
	}
	return nil
}

// find collects the ids of the entities in v, in the order in which build meets them.
func (m *materialiser) find(v value.Value) {
	if virtual(v) {
		return
	}
	switch v.Kind() {
	case value.Node:
		m.ids[0] = append(m.ids[0], v.ID())
	case value.Rel:
		m.ids[1] = append(m.ids[1], v.ID())
	case value.List, value.Path, value.Map:
		for _, e := range v.All() {
			m.find(e)
		}
	}
}

func (m *materialiser) holds(v value.Value) bool {
	switch v.Kind() {
	case value.Node, value.Rel, value.Path:
		return true
	case value.List, value.Map:
		for _, e := range v.All() {
			if m.holds(e) {
				return true
			}
		}
	}
	return false
}

func (m *materialiser) build(g store.Graph, v value.Value) value.Value {
	if virtual(v) {
		return v
	}
	switch v.Kind() {
	case value.Node:
		i := m.next[0]
		m.next[0]++
		return value.NewNodeFull(v.ID(), m.labels(g, m.sets[i]), m.props[0].Value(i))
	case value.Rel:
		i := m.next[1]
		m.next[1]++
		return value.NewRelFull(v.ID(), m.ends[0][i], m.ends[1][i], g.LabelName(schema.LabelOf(v.ID())), m.props[1].Value(i))
	case value.List, value.Path:
		if !m.holds(v) {
			return v
		}
		elems := make([]value.Value, 0, v.Len())
		for _, e := range v.All() {
			elems = append(elems, m.build(g, e))
		}
		if v.Kind() == value.Path {
			return value.NewPath(elems...)
		}
		return value.NewList(elems...)
	case value.Map:
		if !m.holds(v) {
			return v
		}
		b := value.NewMapBuilder()
		for i := range v.Len() {
			k, e := v.Entry(i)
			b.Put(k, m.build(g, e))
		}
		return b.Map()
	}
	return v
}

func (m *materialiser) labels(g store.Graph, set schema.LabelSetID) []string {
	if n, ok := m.names[set]; ok {
		return n
	}
	var names []string
	for _, l := range g.LabelSet(set) {
		names = append(names, g.LabelName(l))
	}
	if m.names == nil {
		m.names = map[schema.LabelSetID][]string{}
	}
	m.names[set] = names
	return names
}
