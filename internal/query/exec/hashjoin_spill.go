package exec

import (
	"encoding/binary"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/query/spill"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// spilledJoin is a hash join in files: both sides are sorted by the hash of their keys and merged; what joins is sorted back into the
// order of the left rows. The right rows of one hash are held in memory for the left rows of that hash. If they are too many they
// are taken in blocks, and the left rows are read again for each.
type spilledJoin struct {
	on     bool
	ready  bool        // out can be read
	left   *expr.Batch // first batch of the left side: its columns hide those of the right
	slots  []plan.Slot // of the left that go on
	right  []plan.Slot // of the right, if they go on
	hidden []bool      // of right: the left has the column too
	waste  vec.Column
	cols   []*vec.Column // scratch: columns to be encoded, or filled

	build, probe, out spill.Sorter
	group             joinGroup
	log               spill.Log
	n, seq            uint64
	key               [16]byte
	body              []byte
	leftKeys          []value.Value
	hits              []uint64 // of left rows of a group in blocks
}

// joinGroup is a block of right rows whose keys have one hash.
type joinGroup struct {
	arena []byte
	ends  []int         // of the rows in arena
	at    []int         // where the columns of each begin, behind the keys
	keys  []value.Value // of the rows, one after another
	limit int64
	whole bool // there are no more of this hash
}

func (g *joinGroup) bytes() int64 { return int64(cap(g.arena) + 16*cap(g.ends) + 24*cap(g.keys)) }

func (s *spilledJoin) close() {
	s.build.Close()
	s.probe.Close()
	s.out.Close()
	s.log.Close()
	s.on, s.ready = false, false
	s.n, s.seq = 0, 0
	s.group = joinGroup{}
}

// spillBuild moves the right side to files.
func (o *hashJoin) spillBuild() error {
	s := &o.sp
	s.on = true
	share := o.place(o.x.opt.WorkMem).Part(4)
	s.build.Init(share)
	s.probe.Init(share)
	s.out.Init(share)
	s.log.Init(share)
	s.group.limit = share.Share
	s.right = s.right[:0]
	if o.n.Kind <= plan.JoinLeft {
		s.right = append(s.right, o.build.slots...)
	}
	keys := make([]*vec.Column, len(o.cols))
	b := expr.Batch{Cols: make([]*vec.Column, o.out.width)}
	for e, h := range o.hashes {
		blk, i := o.build.at(e)
		for k, slot := range o.build.slots {
			b.Cols[slot] = &blk.cols[k]
		}
		kblk, _ := o.keys.at(e)
		for k := range keys {
			keys[k] = &kblk.cols[k]
		}
		if err := s.addBuild(h, keys, &b, i); err != nil {
			return err
		}
	}
	slots := o.build.slots
	o.build = rowStore{slots: slots, known: true}
	o.keys = rowStore{slots: o.keys.slots, known: true}
	o.hashes = nil
	return nil
}

// record encodes keys and columns of a row.
func (s *spilledJoin) record(keys []*vec.Column, b *expr.Batch, slots []plan.Slot, i int) {
	s.body = appendRow(append(s.body[:0], 0, 0, 0, 0), keys, i)
	binary.LittleEndian.PutUint32(s.body, uint32(len(s.body)))
	s.cols = s.cols[:0]
	for _, slot := range slots {
		s.cols = append(s.cols, b.Cols[slot])
	}
	s.body = appendRow(s.body, s.cols, i)
}

// rowOfRecord is what record put behind the keys.
func rowOfRecord(body []byte) []byte { return body[binary.LittleEndian.Uint32(body):] }

// keysOfRecord appends the keys.
func keysOfRecord(dst []value.Value, body []byte) ([]value.Value, error) {
	keys := body[4:binary.LittleEndian.Uint32(body)]
	for len(keys) > 0 {
		v, rest, err := value.DecodeValue(keys)
		if err != nil {
			return nil, dberr.Wrap(dberr.IOError, err, "a temporary file is damaged")
		}
		dst, keys = append(dst, v), rest
	}
	return dst, nil
}

func (s *spilledJoin) addBuild(hash uint64, keys []*vec.Column, b *expr.Batch, i int) error {
	s.record(keys, b, s.right, i)
	binary.BigEndian.PutUint64(s.key[:], hash)
	return s.build.Add(s.key[:8], s.body)
}

// choose fixes the columns of the result, now that there is a left batch: those of the left that go on hide those of the right.
func (s *spilledJoin) choose(o *hashJoin, b *expr.Batch) {
	s.slots, s.hidden = s.slots[:0], s.hidden[:0]
	for slot, c := range b.Cols {
		if c != nil && (has(o.keep, slot) || o.keep == nil && !has(s.right, slot)) {
			s.slots = append(s.slots, slot)
		}
	}
	for _, slot := range s.right {
		s.hidden = append(s.hidden, has(s.slots, slot))
	}
}

// joinSpilled reads the left side to its end, beginning with a batch that was read already, and joins.
func (o *hashJoin) joinSpilled(b *expr.Batch) error {
	s := &o.sp
	s.choose(o, b)
	for b != nil {
		if err := o.x.check(); err != nil {
			return err
		}
		if err := o.eval(o.leftProg, b); err != nil {
			return err
		}
		for i := range b.N {
			s.record(o.cols, b, s.slots, i)
			var err error
			if nullRow(o.cols, i) {
				err = s.alone(o, s.seq, rowOfRecord(s.body))
			} else {
				binary.BigEndian.PutUint64(s.key[:], hashRow(o.cols, i))
				binary.BigEndian.PutUint64(s.key[8:], s.seq)
				err = s.probe.Add(s.key[:], s.body)
			}
			if err != nil {
				return err
			}
			s.seq++
		}
		var err error
		if b, err = o.left.next(); err != nil {
			return err
		}
		if b != nil {
			if err := o.sync(); err != nil {
				return err
			}
		}
	}
	if err := s.build.Sort(); err != nil {
		return err
	}
	if err := s.probe.Sort(); err != nil {
		return err
	}
	if err := o.merge(); err != nil {
		return err
	}
	s.build.Close()
	s.probe.Close()
	s.group = joinGroup{}
	s.ready = true
	return s.out.Sort()
}

// head is the record of a side that comes next.
type head struct {
	hash uint64
	key  []byte
	body []byte
	ok   bool
}

func (h *head) next(s *spill.Sorter) (err error) {
	if h.key, h.body, h.ok, err = s.Next(); h.ok {
		h.hash = binary.BigEndian.Uint64(h.key)
	}
	return err
}

func (h *head) seq() uint64 { return binary.BigEndian.Uint64(h.key[8:]) }

// merge joins the two sorted sides.
func (o *hashJoin) merge() error {
	s := &o.sp
	var l, r head
	if err := l.next(&s.probe); err != nil {
		return err
	}
	if err := r.next(&s.build); err != nil {
		return err
	}
	for l.ok {
		for r.ok && r.hash < l.hash {
			if err := r.next(&s.build); err != nil {
				return err
			}
		}
		if !r.ok || r.hash > l.hash {
			if err := s.alone(o, l.seq(), rowOfRecord(l.body)); err != nil {
				return err
			}
			if err := l.next(&s.probe); err != nil {
				return err
			}
			continue
		}
		hash := l.hash
		if err := s.load(o, &r, hash); err != nil {
			return err
		}
		if !s.group.whole {
			if err := o.mergeBlocks(&l, &r, hash); err != nil {
				return err
			}
			continue
		}
		for l.ok && l.hash == hash {
			hit, err := s.match(o, l.seq(), 0, l.body)
			if err == nil && !hit {
				err = s.alone(o, l.seq(), rowOfRecord(l.body))
			}
			if err == nil {
				err = l.next(&s.probe)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// load reads right rows of a hash, a block of them at most.
func (s *spilledJoin) load(o *hashJoin, r *head, hash uint64) error {
	g := &s.group
	g.arena, g.ends, g.at, g.keys = g.arena[:0], g.ends[:0], g.at[:0], g.keys[:0]
	for r.ok && r.hash == hash && int64(len(g.arena)+40*len(g.ends)) < g.limit {
		g.at = append(g.at, len(g.arena)+int(binary.LittleEndian.Uint32(r.body)))
		g.arena = append(g.arena, r.body...)
		g.ends = append(g.ends, len(g.arena))
		if err := r.next(&s.build); err != nil {
			return err
		}
	}
	g.whole = !r.ok || r.hash != hash
	from := 0
	var err error
	for _, end := range g.ends {
		if g.keys, err = keysOfRecord(g.keys, g.arena[from:end]); err != nil {
			return err
		}
		from = end
	}
	return o.mem.set(&o.acct, g.bytes()+int64(8*cap(s.hits)))
}

// mergeBlocks joins left rows with more right rows of their hash than a block holds.
func (o *hashJoin) mergeBlocks(l, r *head, hash uint64) error {
	s := &o.sp
	n := 0
	for l.ok && l.hash == hash {
		s.body = append(append(s.body[:0], l.key[8:]...), l.body...)
		if err := s.log.Add(s.body); err != nil {
			return err
		}
		n++
		if err := l.next(&s.probe); err != nil {
			return err
		}
	}
	s.hits = grow(s.hits, (n+63)/64)
	clear(s.hits)
	// each calls f for every left row.
	each := func(f func(i int, seq uint64, body []byte) error) error {
		if err := s.log.Rewind(); err != nil {
			return err
		}
		for i := range n {
			b, _, err := s.log.Next()
			if err != nil {
				return err
			}
			if err := f(i, binary.BigEndian.Uint64(b), b[8:]); err != nil {
				return err
			}
		}
		return o.x.check()
	}
	hit := func(i int) bool { return s.hits[i/64]&(1<<(i%64)) != 0 }
	for base := uint64(0); ; {
		if err := each(func(i int, seq uint64, body []byte) error {
			if o.n.Kind > plan.JoinLeft && hit(i) {
				return nil
			}
			ok, err := s.match(o, seq, base, body)
			if ok {
				s.hits[i/64] |= 1 << (i % 64)
			}
			return err
		}); err != nil {
			return err
		}
		if s.group.whole {
			break
		}
		base += uint64(len(s.group.ends))
		if err := s.load(o, r, hash); err != nil {
			return err
		}
	}
	err := each(func(i int, seq uint64, body []byte) error {
		if hit(i) {
			return nil
		}
		return s.alone(o, seq, rowOfRecord(body))
	})
	s.log.Close()
	return err
}

// match joins a left row with the rows of the block, whose first one is the base-th of its hash.
func (s *spilledJoin) match(o *hashJoin, seq, base uint64, left []byte) (hit bool, err error) {
	if s.leftKeys, err = keysOfRecord(s.leftKeys[:0], left); err != nil {
		return false, err
	}
	g, w := &s.group, len(s.leftKeys)
	for i, end := range g.ends {
		if i&4095 == 4095 {
			if err := o.x.check(); err != nil {
				return hit, err
			}
		}
		if !o.joins(s.leftKeys, g.keys[i*w:(i+1)*w]) {
			continue
		}
		hit = true
		switch o.n.Kind {
		case plan.JoinAnti:
			return true, nil
		case plan.JoinSemi:
			return true, s.put(seq, 0, rowOfRecord(left), nil)
		}
		if err := s.put(seq, base+uint64(i), rowOfRecord(left), g.arena[g.at[i]:end]); err != nil {
			return true, err
		}
	}
	return hit, nil
}

// joins compares keys.
func (o *hashJoin) joins(left, right []value.Value) bool {
	for k, l := range left {
		if o.n.Equiv && !value.Equivalent(l, right[k]) || !o.n.Equiv && value.Equal(l, right[k]) != value.True {
			return false
		}
	}
	return true
}

// alone lets a left row pass that joins nothing, if the join is of that kind.
func (s *spilledJoin) alone(o *hashJoin, seq uint64, row []byte) error {
	switch o.n.Kind {
	case plan.JoinAnti:
		return s.put(seq, 0, row, nil)
	case plan.JoinLeft:
		s.cols = s.cols[:0]
		for range s.right {
			s.cols = append(s.cols, nil)
		}
		return s.put(seq, 0, row, appendRow(nil, s.cols, 0))
	}
	return nil
}

func (s *spilledJoin) put(seq, n uint64, left, right []byte) error {
	binary.BigEndian.PutUint64(s.key[:], seq)
	binary.BigEndian.PutUint64(s.key[8:], n)
	return s.out.AddParts(s.key[:], left, right)
}

// emit yields rows that were joined.
func (s *spilledJoin) emit(o *hashJoin) (*expr.Batch, error) {
	o.out.start()
	s.cols = s.cols[:0]
	for _, slot := range s.slots {
		s.cols = append(s.cols, o.out.col(slot))
	}
	s.waste.Reset()
	for i, slot := range s.right {
		if s.hidden[i] {
			s.cols = append(s.cols, &s.waste)
		} else {
			s.cols = append(s.cols, o.out.col(slot))
		}
	}
	n := 0
	for ; n < o.x.opt.BatchSize; n++ {
		_, body, ok, err := s.out.Next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if _, err := decodeRow(body, s.cols); err != nil {
			return nil, err
		}
	}
	if n == 0 {
		return nil, nil
	}
	for _, slot := range o.n.Nulls {
		if o.n.Kind <= plan.JoinLeft && o.out.b.Cols[slot] == nil {
			o.out.raw(slot).Nulls(n)
		}
	}
	o.out.b.N = n
	return &o.out.b, o.mem.set(&o.acct, o.out.bytes()+int64(cap(s.body)))
}
