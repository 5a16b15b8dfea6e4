package spill

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// Sorter sorts records by the bytes of their keys: add them, call Sort, take them back by Next.
type Sorter struct {
	p     *Place
	arena []byte
	ents  []entry
	at    int // next entry of a sort in memory
	n     int64

	tiers []tier // runs by how often they were merged: later tiers hold earlier records

	start  int64 // where it began
	wbuf   []byte
	heap   []*reader
	sorted bool
	mem    charge
	steps  int
}

// entry is a record in memory; the first bytes of its key decide most comparisons.
type entry struct {
	prefix uint64
	off    int // of the key in the arena, the body follows
	key    uint32
	body   uint32
}

type tier struct {
	f    File
	size int64
	runs []span
}

type span struct{ pos, end int64 }

// Init makes an empty sorter of a zero one.
func (s *Sorter) Init(p *Place) { *s = Sorter{p: p} }

// Len returns the number of records added.
func (s *Sorter) Len() int64 { return s.n }

// Spilled reports whether records lie in files.
func (s *Sorter) Spilled() bool { return len(s.tiers) > 0 }

func (s *Sorter) bytes() int64 {
	n := int64(cap(s.arena)) + 24*int64(cap(s.ents)) + int64(cap(s.wbuf))
	for _, r := range s.heap {
		n += int64(cap(r.buf))
	}
	return n
}

func (s *Sorter) account() error { return s.mem.set(s.p.Mem, s.bytes()) }

// block is the size of a buffer, and fanIn how many runs are merged at once, so that all buffers fit the share.
func (s *Sorter) block() int { return int(min(max(s.p.Share/16, 1<<10), 64<<10)) }
func (s *Sorter) fanIn() int { return int(max(4, s.p.Share/int64(s.block())-1)) }

// Add adds a record. The bytes are copied.
func (s *Sorter) Add(key, body []byte) error { return s.AddParts(key, body, nil) }

// AddParts is Add of a body in two parts.
func (s *Sorter) AddParts(key, body, rest []byte) error {
	s.n++
	n := len(key) + len(body) + len(rest)
	grows := len(s.arena)+n > cap(s.arena) || len(s.ents) == cap(s.ents)
	if need := int64(len(s.arena)+n) + 24*int64(len(s.ents)+1); need > s.p.Share && s.p.Temp != nil && len(s.ents) > 0 {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.ents = append(s.ents, entry{prefix: prefixOf(key), off: len(s.arena), key: uint32(len(key)), body: uint32(len(body) + len(rest))})
	s.arena = append(append(append(s.arena, key...), body...), rest...)
	if grows {
		return s.account()
	}
	return nil
}

func prefixOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

func (s *Sorter) keyOf(e *entry) []byte { return s.arena[e.off : e.off+int(e.key)] }
func (s *Sorter) bodyOf(e *entry) []byte {
	at := e.off + int(e.key)
	return s.arena[at : at+int(e.body)]
}

// stopped ends a sort from inside its comparison.
type stopped struct{ err error }

func (s *Sorter) sortEntries() (err error) {
	defer func() {
		if p := recover(); p != nil {
			c, ok := p.(stopped)
			if !ok {
				panic(p)
			}
			err = c.err
		}
	}()
	slices.SortFunc(s.ents, func(a, b entry) int {
		if s.steps++; s.steps&4095 == 0 {
			if err := s.p.check(); err != nil {
				panic(stopped{err})
			}
		}
		if a.prefix != b.prefix {
			if a.prefix < b.prefix {
				return -1
			}
			return 1
		}
		if c := bytes.Compare(s.keyOf(&a), s.keyOf(&b)); c != 0 {
			return c
		}
		return a.off - b.off // S2
	})
	return nil
}

// flush writes what is in memory as a run.
func (s *Sorter) flush() error {
	if err := s.sortEntries(); err != nil {
		return err
	}
	if err := s.BeginRun(); err != nil {
		return err
	}
	for i := range s.ents {
		e := &s.ents[i]
		if err := s.put(0, s.keyOf(e), s.bodyOf(e)); err != nil {
			return err
		}
	}
	s.ents, s.arena = s.ents[:0], s.arena[:0]
	return s.EndRun()
}

// BeginRun begins a run of records that the caller has sorted; Put adds them, EndRun ends it.
func (s *Sorter) BeginRun() error { return s.beginRun(0) }

// Put adds a record to the run.
func (s *Sorter) Put(key, body []byte) error {
	s.n++
	return s.put(0, key, body)
}

// EndRun ends the run.
func (s *Sorter) EndRun() error {
	if err := s.endRun(0); err != nil {
		return err
	}
	for i := 0; i < len(s.tiers) && len(s.tiers[i].runs) >= s.fanIn(); i++ {
		if err := s.mergeTier(i); err != nil {
			return err
		}
	}
	return s.account()
}

func (s *Sorter) beginRun(i int) error {
	for len(s.tiers) <= i {
		s.tiers = append(s.tiers, tier{})
	}
	t := &s.tiers[i]
	if t.f == nil {
		f, err := s.p.Temp.Create()
		if err != nil {
			return err
		}
		t.f = f
	}
	s.start, s.wbuf = t.size, s.wbuf[:0]
	if cap(s.wbuf) == 0 {
		s.wbuf = make([]byte, 0, s.block())
	}
	return nil
}

func (s *Sorter) put(i int, key, body []byte) error {
	if len(s.wbuf)+8+len(key)+len(body) > s.block() && len(s.wbuf) > 0 {
		if err := s.write(i); err != nil {
			return err
		}
	}
	s.wbuf = binary.LittleEndian.AppendUint32(s.wbuf, uint32(len(key)))
	s.wbuf = binary.LittleEndian.AppendUint32(s.wbuf, uint32(len(body)))
	s.wbuf = append(append(s.wbuf, key...), body...)
	return nil
}

func (s *Sorter) write(i int) error {
	t := &s.tiers[i]
	if _, err := t.f.Write(s.wbuf); err != nil {
		return fileError(err)
	}
	t.size += int64(len(s.wbuf))
	s.wbuf = s.wbuf[:0]
	if cap(s.wbuf) > 4*s.block() { // a long record passed
		s.wbuf = nil
	}
	return s.p.check()
}

func (s *Sorter) endRun(i int) error {
	if err := s.write(i); err != nil {
		return err
	}
	t := &s.tiers[i]
	t.runs = append(t.runs, span{s.start, t.size})
	return nil
}

// mergeTier merges the runs of a tier into one of the next.
func (s *Sorter) mergeTier(i int) error {
	if err := s.openHeap(s.tiers[i : i+1]); err != nil {
		return err
	}
	if err := s.beginRun(i + 1); err != nil {
		return err
	}
	if err := s.account(); err != nil {
		return err
	}
	for len(s.heap) > 0 {
		r := s.heap[0]
		if err := s.put(i+1, r.key, r.body); err != nil {
			return err
		}
		if err := s.advance(); err != nil {
			return err
		}
	}
	if err := s.endRun(i + 1); err != nil {
		return err
	}
	err := s.tiers[i].f.Close()
	s.tiers[i] = tier{}
	if err != nil {
		return fileError(err)
	}
	return s.account()
}

// Sort ends adding.
func (s *Sorter) Sort() error {
	s.sorted, s.at = true, 0
	if !s.Spilled() {
		return s.sortEntries()
	}
	if len(s.ents) > 0 {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.ents, s.arena = nil, nil
	for i := 0; s.runs() > s.fanIn(); i++ {
		if len(s.tiers[i].runs) > 0 {
			if err := s.mergeTier(i); err != nil {
				return err
			}
		}
	}
	if err := s.openHeap(s.tiers); err != nil {
		return err
	}
	return s.account()
}

func (s *Sorter) runs() (n int) {
	for i := range s.tiers {
		n += len(s.tiers[i].runs)
	}
	return n
}

// Next returns the next record; ok is false at the end. The bytes live until the next call.
func (s *Sorter) Next() (key, body []byte, ok bool, err error) {
	if !s.Spilled() {
		if s.at >= len(s.ents) {
			return nil, nil, false, nil
		}
		e := &s.ents[s.at]
		s.at++
		return s.keyOf(e), s.bodyOf(e), true, nil
	}
	if len(s.heap) > 0 && s.heap[0].taken {
		if err := s.advance(); err != nil {
			return nil, nil, false, err
		}
	}
	if len(s.heap) == 0 {
		return nil, nil, false, nil
	}
	r := s.heap[0]
	r.taken = true
	return r.key, r.body, true, nil
}

// Close frees everything; idempotent.
func (s *Sorter) Close() {
	if s.p == nil {
		return
	}
	for i := range s.tiers {
		if s.tiers[i].f != nil {
			_ = s.tiers[i].f.Close()
		}
	}
	_ = s.mem.set(s.p.Mem, 0)
	*s = Sorter{p: s.p}
}

// reader reads a run.
type reader struct {
	f        File
	pos, end int64
	ord      int // age of the run: S2
	buf      []byte
	at       int
	key      []byte
	body     []byte
	taken    bool // the current record was handed out
}

func (s *Sorter) openHeap(tiers []tier) error {
	s.heap = s.heap[:0]
	for i := len(tiers) - 1; i >= 0; i-- {
		for _, r := range tiers[i].runs {
			x := &reader{f: tiers[i].f, pos: r.pos, end: r.end, ord: len(s.heap), buf: make([]byte, 0, s.block())}
			ok, err := x.next()
			if err != nil {
				return err
			}
			if ok {
				s.heap = append(s.heap, x)
			}
		}
	}
	for i := len(s.heap)/2 - 1; i >= 0; i-- {
		s.sink(i)
	}
	return nil
}

// advance moves the first reader on.
func (s *Sorter) advance() error {
	if s.steps++; s.steps&1023 == 0 {
		if err := s.p.check(); err != nil {
			return err
		}
	}
	r := s.heap[0]
	had := cap(r.buf)
	ok, err := r.next()
	if err != nil {
		return err
	}
	r.taken = false
	if !ok {
		n := len(s.heap) - 1
		s.heap[0], s.heap[n] = s.heap[n], nil
		s.heap = s.heap[:n]
	}
	s.sink(0)
	if cap(r.buf) != had || !ok {
		return s.account()
	}
	return nil
}

func (r *reader) before(q *reader) bool {
	if c := bytes.Compare(r.key, q.key); c != 0 {
		return c < 0
	}
	return r.ord < q.ord
}

func (s *Sorter) sink(i int) {
	for {
		c := 2*i + 1
		if c >= len(s.heap) {
			return
		}
		if c+1 < len(s.heap) && s.heap[c+1].before(s.heap[c]) {
			c++
		}
		if !s.heap[c].before(s.heap[i]) {
			return
		}
		s.heap[i], s.heap[c] = s.heap[c], s.heap[i]
		i = c
	}
}

// next reads the next record of the run; false at its end.
func (r *reader) next() (bool, error) {
	if r.at == len(r.buf) && r.pos >= r.end {
		return false, nil
	}
	if err := r.fill(8); err != nil {
		return false, err
	}
	k, b := int(binary.LittleEndian.Uint32(r.buf[r.at:])), int(binary.LittleEndian.Uint32(r.buf[r.at+4:]))
	if err := r.fill(8 + k + b); err != nil {
		return false, err
	}
	at := r.at + 8
	r.key, r.body = r.buf[at:at+k], r.buf[at+k:at+k+b]
	r.at = at + k + b
	return true, nil
}

// fill makes n bytes available at r.at. The buffer is reused, so what was read before is gone.
func (r *reader) fill(n int) error {
	if len(r.buf)-r.at >= n {
		return nil
	}
	left := copy(r.buf[:cap(r.buf)], r.buf[r.at:])
	r.buf, r.at = r.buf[:left], 0
	if n > cap(r.buf) {
		r.buf = append(make([]byte, 0, n), r.buf...)
	}
	m := int(min(int64(cap(r.buf)-left), r.end-r.pos))
	if left+m < n {
		return dberr.New(dberr.IOError, "a temporary file is shorter than what was written")
	}
	if got, err := r.f.ReadAt(r.buf[left:left+m], r.pos); got < m {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return fileError(err)
	}
	r.pos += int64(m)
	r.buf = r.buf[:left+m]
	return nil
}
