package exec

import (
	"encoding/binary"
	"io"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// blockRows is the number of rows of a full block.
const (
	blockRows  = vec.MaxRows
	blockShift = 10
)

// block is up to blockRows rows in columns of its own.
type block struct {
	n    int
	cols []vec.Column
}

// rowStore keeps rows in memory, in order.
type rowStore struct {
	slots  []plan.Slot
	known  bool
	blocks []*block
	free   []*block
	n      int
	bytes  int64 // of full blocks
}

func (s *rowStore) reset() {
	for _, b := range s.blocks {
		b.n = 0
		for i := range b.cols {
			b.cols[i].Reset()
		}
		// A few blocks are kept for the next time; a store that was large gives its memory back.
		if len(s.free) < 4 {
			s.free = append(s.free, b)
		}
	}
	s.blocks, s.n, s.bytes, s.known = s.blocks[:0], 0, 0, false
}

// choose fixes the slots that are kept: those that go on, or else those filled in the first batch.
func (s *rowStore) choose(b *expr.Batch, keep []plan.Slot) {
	if s.known {
		return
	}
	s.known = true
	s.slots = s.slots[:0]
	if keep != nil {
		s.slots = append(s.slots, keep...)
		return
	}
	for i, c := range b.Cols {
		if c != nil {
			s.slots = append(s.slots, i)
		}
	}
}

func (s *rowStore) last() *block {
	if n := len(s.blocks); n > 0 && s.blocks[n-1].n < blockRows {
		return s.blocks[n-1]
	}
	if n := len(s.blocks); n > 0 {
		s.bytes += blockBytes(s.blocks[n-1])
	}
	var b *block
	if n := len(s.free); n > 0 {
		b, s.free = s.free[n-1], s.free[:n-1]
	} else {
		b = &block{}
	}
	for len(b.cols) < len(s.slots) {
		b.cols = append(b.cols, vec.Column{})
	}
	s.blocks = append(s.blocks, b)
	return b
}

func blockBytes(b *block) (n int64) {
	for i := range b.cols {
		n += int64(b.cols[i].Size())
	}
	return n
}

// size is the memory held.
func (s *rowStore) size() int64 {
	if n := len(s.blocks); n > 0 {
		return s.bytes + blockBytes(s.blocks[n-1])
	}
	return 0
}

// addRow appends row i of b and returns its number.
func (s *rowStore) addRow(b *expr.Batch, i int) int {
	l := s.last()
	for k, slot := range s.slots {
		if c := b.Cols[slot]; c != nil {
			l.cols[k].AppendFrom(c, i)
		} else {
			l.cols[k].AppendNull()
		}
	}
	l.n++
	s.n++
	return s.n - 1
}

// add appends the live rows of b.
func (s *rowStore) add(b *expr.Batch) {
	if b.Sel == nil {
		if l := s.last(); l.n+b.N <= blockRows {
			for k, slot := range s.slots {
				if c := b.Cols[slot]; c != nil {
					l.cols[k].AppendRows(c, nil)
				} else {
					for range b.N {
						l.cols[k].AppendNull()
					}
				}
			}
			l.n += b.N
			s.n += b.N
			return
		}
		for i := range b.N {
			s.addRow(b, i)
		}
		return
	}
	for _, i := range b.Sel {
		s.addRow(b, int(i))
	}
}

// at returns the block and the position of a row.
func (s *rowStore) at(row int) (*block, int) { return s.blocks[row>>blockShift], row & (blockRows - 1) }

// spool keeps rows in order, in memory up to work_mem and then in a temporary file. It can be read more than once.
type spool struct {
	x    *run
	acct *account
	rows rowStore
	file File
	off  []int64 // where the blocks of the file begin; one more than blocks
	buf  []byte
	mem  charge

	cur  block // block read from the file
	blk  int
	pos  int
	curB *block
}

func (s *spool) init(x *run, a *account) { s.x, s.acct = x, a }

func (s *spool) reset() {
	s.rows.reset()
	s.drop()
	s.rewind()
}

func (s *spool) drop() {
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
	s.off = s.off[:0]
}

func (s *spool) close() {
	s.drop()
	_ = s.mem.set(s.acct, 0)
}

func (s *spool) len() int { return s.rows.n }

// add appends a batch.
func (s *spool) add(b *expr.Batch, keep []plan.Slot) error {
	s.rows.choose(b, keep)
	s.rows.add(b)
	size := s.rows.size()
	if size > s.x.opt.WorkMem && s.x.opt.Temp != nil {
		if err := s.spill(); err != nil {
			return err
		}
		size = s.rows.size()
	}
	return s.mem.set(s.acct, size+int64(cap(s.buf)))
}

// spill writes all blocks to the file.
func (s *spool) spill() error {
	if s.file == nil {
		f, err := (&countedTemp{s.x.opt.Temp, s.acct}).Create()
		if err != nil {
			return err
		}
		s.file = f
		s.off = append(s.off[:0], 0)
	}
	for _, b := range s.rows.blocks {
		s.buf = encodeBlock(s.buf[:0], b)
		if _, err := s.file.Write(s.buf); err != nil {
			return err
		}
		s.off = append(s.off, s.off[len(s.off)-1]+int64(len(s.buf)))
	}
	n := s.rows.n
	s.rows.reset()
	s.rows.n, s.rows.known = n, true
	return nil
}

func tempError(err error) error {
	if dberr.As(err).Code != dberr.Internal {
		return err
	}
	return dberr.Wrap(dberr.IOError, err, "could not use a temporary file")
}

func encodeBlock(dst []byte, b *block) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(b.n))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(b.cols)))
	for i := range b.cols {
		c := &b.cols[i]
		for _, k := range c.Kinds {
			dst = append(dst, byte(k))
		}
		for _, w := range c.Words {
			dst = binary.LittleEndian.AppendUint64(dst, w)
		}
		dst = binary.LittleEndian.AppendUint64(dst, uint64(len(c.Arena)))
		dst = append(dst, c.Arena...)
	}
	return dst
}

func decodeBlock(src []byte, b *block) {
	b.n = int(binary.LittleEndian.Uint32(src))
	n := int(binary.LittleEndian.Uint32(src[4:]))
	src = src[8:]
	for len(b.cols) < n {
		b.cols = append(b.cols, vec.Column{})
	}
	for i := range n {
		c := &b.cols[i]
		c.Reset()
		for _, k := range src[:b.n] {
			c.Kinds = append(c.Kinds, value.Kind(k))
		}
		src = src[b.n:]
		for range b.n {
			c.Words = append(c.Words, binary.LittleEndian.Uint64(src))
			src = src[8:]
		}
		a := binary.LittleEndian.Uint64(src)
		c.Arena = append(c.Arena, src[8:8+a]...)
		src = src[8+a:]
		c.Retype()
	}
}

// rewind begins to read from the start.
func (s *spool) rewind() { s.blk, s.pos, s.curB = 0, 0, nil }

// read fills out with the next rows, at most limit; false at the end. The rows are views that live until the next call.
func (s *spool) read(out *rows, limit int) (bool, error) {
	stored := 0
	if s.file != nil {
		stored = len(s.off) - 1
	}
	for {
		if s.curB == nil {
			switch {
			case s.blk < stored:
				n := int(s.off[s.blk+1] - s.off[s.blk])
				s.buf = grow(s.buf, n)
				if _, err := s.file.ReadAt(s.buf, s.off[s.blk]); err != nil && err != io.EOF {
					return false, tempError(err)
				}
				decodeBlock(s.buf, &s.cur)
				s.curB = &s.cur
			case s.blk-stored < len(s.rows.blocks):
				s.curB = s.rows.blocks[s.blk-stored]
			default:
				return false, nil
			}
			s.blk++
			s.pos = 0
		}
		if s.pos >= s.curB.n {
			s.curB = nil
			continue
		}
		to := min(s.curB.n, s.pos+limit)
		out.start()
		for k, slot := range s.rows.slots {
			out.raw(slot).Alias(&s.curB.cols[k], s.pos, to)
		}
		out.b.N = to - s.pos
		s.pos = to
		return true, nil
	}
}

// eager is the barrier: it reads its input to the end, opens a segment and yields the rows.
type eager struct {
	core
	child operator
	n     *plan.Eager
	spool spool
	full  bool
}

func (o *eager) open() error {
	o.full = false
	o.spool.reset()
	return o.child.open()
}

func (o *eager) close() { o.spool.close(); o.core.close() }

func (o *eager) next() (*expr.Batch, error) {
	if !o.full {
		for {
			b, err := o.child.next()
			if err != nil {
				return nil, err
			}
			if b == nil {
				break
			}
			if err := o.x.check(); err != nil {
				return nil, err
			}
			if err := o.spool.add(b, o.keep); err != nil {
				return nil, err
			}
		}
		if err := o.x.openSegment(o.n.Opens); err != nil {
			return nil, err
		}
		o.full = true
		o.spool.rewind()
	}
	if err := o.x.check(); err != nil {
		return nil, err
	}
	ok, err := o.spool.read(&o.out, o.x.opt.BatchSize)
	if !ok || err != nil {
		return nil, err
	}
	return &o.out.b, nil
}
