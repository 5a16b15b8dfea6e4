package path

// Segment is a part of a path pattern: rounds of Hops relationships each, Min to Max times (Max −1: without bound).
type Segment struct {
	Hops, Min, Max int
	Gate           bool // [Rounds.Passes] has something to say about the vertex in front of it
}

// Ways are ways through one round of a segment: of each, Hops relationships and the vertices that they lead to, one way after the other.
type Ways struct {
	Hops      int
	Row       []int32 // where the way begins: a position in the vertices asked for
	Rel, Node []uint64
}

// Reset empties w and keeps its memory.
func (w *Ways) Reset(hops int) { w.Hops, w.Row, w.Rel, w.Node = hops, w.Row[:0], w.Rel[:0], w.Node[:0] }

// Rounds yields what a [Product] walks.
type Rounds interface {
	// Rounds yields the ways through one round of a segment that begin at the vertices, in pieces. A way repeats no relationship.
	Rounds(seg int, src []uint64, yield func(*Ways) error) error
	// Passes clears ok[i] where nodes[i] may not stand in front of the segment.
	Passes(seg int, nodes []uint64, ok []bool) error
}

// Product finds the trails of a path pattern of several segments that begin at one vertex, by length. It walks the product of graph and pattern: a state
// is a vertex together with how far the pattern has been walked to it, and is expanded once.
//
// P1: trails come in the order of their lengths, and each match of the pattern once.
// P2: a state's rounds are asked for once, and only while somebody wants longer trails.
// P3: a trail repeats no relationship, though the walks that the product knows of may.
// P4: for one order of ways the order of trails is always the same.
type Product struct {
	// Account is told how many bytes the search holds; Check is asked now and then whether to go on. Both may be nil.
	Account func(n int64) error
	Check   func() error
	// Wanted reports whether a trail of that length to the vertex is of use; Done whether none of at least that length is, to any.
	Wanted func(end uint64, length int) bool
	Done   func(length int) bool

	x     Rounds
	segs  []Segment
	count []int    // so far are the rounds of a segment told apart
	base  []uint64 // number of a segment's first state
	max   int      // greatest length; −1: none
	hops  int      // most relationships in a round

	states states
	links  links
	level  [][]uint32 // states by least length; nil once expanded
	last   int        // greatest length in level

	length int // of the trails that are yielded now
	queue  []uint32
	late   []lateEnd // ends that want more than their shortest trails
	open   [][]uint32
	layer  [][]uint64 // layer[l]: states that a walk of exactly l relationships leads to, as bits
	idle   int        // empty layers at the end
	most   int        // bound of a trail's length once all is expanded; 0: not counted

	stack []frame
	used  map[uint64]struct{} // relationships of the stack, when it is long
	ticks int

	nodes, rels []uint64
	rounds      []int32
	chunk       []uint64
	ok          []bool
}

// states are the states met.
type states struct {
	index pairs
	node  []uint64
	num   []uint64 // base of the segment + rounds of it
	dist  []int32
	head  []uint32 // first way in, 0: none
	tail  []uint32
}

// links are the rounds walked: from one state to another. Link 0 is unused.
type links struct {
	next, from []uint32
	seg        []int32
	at         []uint64 // first of its relationships and vertices
	rel, node  []uint64
}

// lateEnd is an end that wants longer trails. One of at least until relationships exists; 0: it is not known that there is any.
type lateEnd struct {
	state uint32
	until int
}

// frame is a step of the enumeration, which goes from the end of a trail to its beginning.
type frame struct {
	state, link, via uint32 // link: next way in to be tried; via: the one by which the stack came here
	left             int    // relationships still to be found
}

// Begin starts the search from a vertex.
func (p *Product) Begin(x Rounds, segs []Segment, from uint64) error {
	p.x, p.segs = x, segs
	p.shape()
	s := &p.states
	s.index.reset()
	s.node, s.num, s.dist, s.head, s.tail = s.node[:0], s.num[:0], s.dist[:0], s.head[:0], s.tail[:0]
	l := &p.links
	l.next, l.from, l.seg, l.at, l.rel, l.node = append(l.next[:0], 0), append(l.from[:0], 0), append(l.seg[:0], 0), append(l.at[:0], 0), l.rel[:0], l.node[:0]
	p.level, p.last, p.length, p.idle, p.most = p.level[:0], 0, 0, 0, 0
	p.queue, p.late, p.layer, p.stack = p.queue[:0], p.late[:0], p.layer[:0], p.stack[:0]
	p.state(from, 0, 0)
	return p.settle()
}

// shape numbers the states of the pattern. Rounds need to be counted up to the least number only, if the length of the trail says
// the rest: where no more than one segment has a choice.
func (p *Product) shape() {
	free, fixed := 0, 0
	p.max, p.hops, p.count, p.base = 0, 0, p.count[:0], p.base[:0]
	for _, s := range p.segs {
		p.hops = max(p.hops, s.Hops)
		switch {
		case s.Max < 0:
			p.max = -1
			free++
		case s.Max != s.Min:
			free++
		}
		if s.Max >= 0 {
			fixed += s.Max * s.Hops
		}
	}
	if p.max == 0 {
		p.max = fixed
	}
	n := uint64(0)
	for _, s := range p.segs {
		c := s.Min
		if s.Max > s.Min && free > 1 {
			c = s.Max
		}
		p.count, p.base = append(p.count, c), append(p.base, n)
		n += uint64(c) + 1
	}
}

// at returns the segment and the rounds of a state's number.
func (p *Product) at(num uint64) (seg, rounds int) {
	seg = len(p.base) - 1
	for p.base[seg] > num {
		seg--
	}
	return seg, int(num - p.base[seg])
}

// state finds or makes a state that a walk of the length leads to.
func (p *Product) state(node, num uint64, length int) uint32 {
	s := &p.states
	i, fresh := s.index.put(node, num, uint32(len(s.node)))
	if fresh {
		s.node, s.num, s.dist = append(s.node, node), append(s.num, num), append(s.dist, int32(length))
		s.head, s.tail = append(s.head, 0), append(s.tail, 0)
		for len(p.level) <= length {
			p.level = append(p.level, nil)
		}
		p.level[length] = append(p.level[length], i)
		p.last = max(p.last, length)
	}
	return i
}

// settle looks at the states first met at the current length: which of them end the pattern, and by which segments they go on.
func (p *Product) settle() error {
	if p.length >= len(p.level) {
		return nil
	}
	for len(p.open) < len(p.segs) {
		p.open = append(p.open, nil)
	}
	for i := range p.open {
		p.open[i] = p.open[i][:0]
	}
	at := p.level[p.length]
	for from := 0; from < len(at); from += maxChunk {
		if err := p.settleSome(at[from:min(len(at), from+maxChunk)]); err != nil {
			return err
		}
	}
	p.level[p.length] = nil
	return nil
}

func (p *Product) settleSome(at []uint32) error {
	live := make([]uint32, 0, len(at)) // those that may cross into the next segment
	for seg := range p.segs {
		// States of the segment itself, and those that have come to it.
		s := p.segs[seg]
		next := live[:0:0]
		pass := live
		if s.Gate && len(live) > 0 {
			p.chunk, p.ok = p.chunk[:0], p.ok[:0]
			for _, i := range live {
				p.chunk, p.ok = append(p.chunk, p.states.node[i]), append(p.ok, true)
			}
			if err := p.x.Passes(seg, p.chunk, p.ok); err != nil {
				return err
			}
			pass = pass[:0:0]
			for k, i := range live {
				if p.ok[k] {
					pass = append(pass, i)
				}
			}
		}
		for _, i := range pass {
			p.open[seg] = append(p.open[seg], i)
			if s.Min == 0 {
				next = append(next, i)
			}
		}
		for _, i := range at {
			k, c := p.at(p.states.num[i])
			if k != seg {
				continue
			}
			if s.Max < 0 || c < s.Max || p.count[seg] < s.Max {
				p.open[seg] = append(p.open[seg], i)
			}
			if c >= s.Min {
				next = append(next, i)
			}
		}
		live = next
	}
	p.queue = append(p.queue, live...)
	return nil
}

// expand walks one more round from the states of the current length.
func (p *Product) expand() error {
	for seg, at := range p.open {
		s := p.segs[seg]
		if p.max >= 0 && p.length+s.Hops > p.max {
			continue
		}
		for from := 0; from < len(at); from += maxChunk {
			some := at[from:min(len(at), from+maxChunk)]
			p.chunk = p.chunk[:0]
			for _, i := range some {
				p.chunk = append(p.chunk, p.states.node[i])
			}
			err := p.x.Rounds(seg, p.chunk, func(w *Ways) error { return p.walked(seg, some, w) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Product) walked(seg int, from []uint32, w *Ways) error {
	l := &p.links
	k := w.Hops
	for i, r := range w.Row {
		f := from[r]
		rounds := 0
		if s, c := p.at(p.states.num[f]); s == seg {
			rounds = c
		}
		num := p.base[seg] + uint64(min(rounds+1, p.count[seg]))
		to := p.state(w.Node[(i+1)*k-1], num, p.length+k)
		n := uint32(len(l.next))
		l.next, l.from, l.seg, l.at = append(l.next, 0), append(l.from, f), append(l.seg, int32(seg)), append(l.at, uint64(len(l.rel)))
		l.rel, l.node = append(l.rel, w.Rel[i*k:(i+1)*k]...), append(l.node, w.Node[i*k:(i+1)*k]...)
		s := &p.states
		if s.head[to] == 0 {
			s.head[to] = n
		} else {
			l.next[s.tail[to]] = n
		}
		s.tail[to] = n
	}
	return p.account()
}

func (p *Product) account() error {
	if p.Account == nil {
		return nil
	}
	s, l := &p.states, &p.links
	n := s.index.bytes() + int64(cap(s.node)*28) + int64(cap(l.next)*20) + int64(cap(l.rel)*16) + int64(len(p.layer)*(len(s.node)/8+24)) + int64(cap(p.stack)*20)
	return p.Account(n)
}

// Next moves to the next trail.
func (p *Product) Next() (bool, error) {
	for {
		if len(p.stack) > 0 {
			end := p.stack[0].state
			ok, err := p.step()
			if ok || err != nil {
				return ok, err
			}
			if p.Wanted(p.states.node[end], p.length+1) {
				p.late = append(p.late, lateEnd{state: end})
			}
			continue
		}
		if len(p.queue) > 0 {
			i := p.queue[0]
			p.queue = p.queue[1:]
			if !p.Wanted(p.states.node[i], p.length) {
				if p.Wanted(p.states.node[i], p.length+1) {
					p.late = append(p.late, lateEnd{state: i})
				}
				continue
			}
			clear(p.used)
			p.stack = append(p.stack, frame{state: i, link: p.states.head[i], left: p.length})
			if p.length == 0 {
				// The trail of no relationship.
				p.stack[0].link = 0
				return true, nil
			}
			continue
		}
		if more, err := p.longer(); !more || err != nil {
			return false, err
		}
	}
}

// longer turns to the next length; false if there are no longer trails of use.
func (p *Product) longer() (bool, error) {
	if p.max >= 0 && p.length >= p.max || p.Done(p.length+1) {
		return false, nil
	}
	if p.length < len(p.level) {
		if err := p.expand(); err != nil {
			return false, err
		}
		for i := range p.open {
			p.open[i] = p.open[i][:0]
		}
	}
	p.length++
	if p.length > p.last {
		// Every state is known. What is left are longer ways to ends that want more.
		if len(p.late) == 0 {
			return false, nil
		}
		if p.most == 0 {
			p.most = p.distinct()
		}
		if p.length > p.most {
			return false, nil
		}
	}
	p.queue = p.queue[:0]
	if err := p.settle(); err != nil {
		return false, err
	}
	late := p.late[:0]
	for _, e := range p.late {
		if !p.Wanted(p.states.node[e.state], p.length) {
			continue
		}
		if p.length > p.last && p.length > e.until {
			any, err := p.exists(&e)
			if err != nil {
				return false, err
			}
			if !any {
				continue
			}
		}
		can, err := p.leads(e.state, p.length)
		if err != nil {
			return false, err
		}
		if can {
			p.queue = append(p.queue, e.state)
		} else {
			late = append(late, e)
		}
	}
	p.late = late
	if p.length > p.last && len(p.late) > 0 && p.idle > p.hops {
		return len(p.queue) > 0, nil
	}
	return true, p.check()
}

func (p *Product) check() error {
	if p.Check == nil {
		return nil
	}
	return p.Check()
}

// distinct counts the relationships met: no trail is longer.
func (p *Product) distinct() int {
	seen := map[uint64]struct{}{}
	for _, r := range p.links.rel {
		seen[r] = struct{}{}
	}
	return max(1, len(seen))
}

// exists looks, once every state is known, for any trail of the current length or more to an end, so that ends without one are not waited for
// through all lengths. It gives up, and answers yes, after some multiple of the relationships met.
func (p *Product) exists(e *lateEnd) (bool, error) {
	used := map[uint64]struct{}{}
	stack := []frame{{state: e.state, link: p.states.head[e.state]}}
	length := 0
	rels := func(via uint32) []uint64 {
		at := p.links.at[via]
		return p.links.rel[at : at+uint64(p.segs[p.links.seg[via]].Hops)]
	}
	for steps := 4*len(p.links.rel) + 1024; len(stack) > 0; steps-- {
		if steps == 0 {
			e.until = p.length // unknown: ask again at the next length
			return true, nil
		}
		if steps&1023 == 0 {
			if err := p.check(); err != nil {
				return false, err
			}
		}
		top := &stack[len(stack)-1]
		k := top.link
		if k == 0 {
			if top.via != 0 {
				for _, r := range rels(top.via) {
					delete(used, r)
				}
				length -= len(rels(top.via))
			}
			stack = stack[:len(stack)-1]
			continue
		}
		top.link = p.links.next[k]
		rs := rels(k)
		free := p.max < 0 || length+len(rs) <= p.max
		for _, r := range rs {
			_, taken := used[r]
			free = free && !taken
		}
		if !free {
			continue
		}
		for _, r := range rs {
			used[r] = struct{}{}
		}
		length += len(rs)
		from := p.links.from[k]
		if from == 0 && length >= p.length {
			e.until = length
			return true, nil
		}
		stack = append(stack, frame{state: from, link: p.states.head[from], via: k})
	}
	return false, nil
}

// leads reports whether a walk of exactly that length leads to a state. Layers are made when a way longer than the least is asked for.
func (p *Product) leads(i uint32, length int) (bool, error) {
	if d := int(p.states.dist[i]); length <= d {
		return length == d, nil
	}
	for len(p.layer) <= length {
		if err := p.check(); err != nil {
			return false, err
		}
		p.grow()
		if err := p.account(); err != nil {
			return false, err
		}
	}
	l := p.layer[length]
	return int(i/64) < len(l) && l[i/64]&(1<<(i%64)) != 0, nil
}

// grow makes the next layer. All that is needed for it is known: its walks begin with states of lesser lengths.
func (p *Product) grow() {
	length := len(p.layer)
	bits := make([]uint64, (len(p.states.node)+63)/64)
	if length == 0 {
		bits[0] = 1
		p.layer = append(p.layer, bits)
		return
	}
	some := false
	for to := range p.states.node {
		for k := p.states.head[to]; k != 0; k = p.links.next[k] {
			rest := length - p.segs[p.links.seg[k]].Hops
			if rest < 0 {
				continue
			}
			f := p.links.from[k]
			if l := p.layer[rest]; int(f/64) < len(l) && l[f/64]&(1<<(f%64)) != 0 {
				bits[to/64] |= 1 << (to % 64)
				some = true
				break
			}
		}
	}
	if p.idle++; some {
		p.idle = 0
	}
	p.layer = append(p.layer, bits)
}

// longStack is the length from which relationships are looked up in a set.
const longStack = 16

// step moves to the next trail to the state at the bottom of the stack; false, with an empty stack, if there is none of use.
func (p *Product) step() (bool, error) {
	for len(p.stack) > 0 {
		if p.ticks++; p.ticks&1023 == 0 {
			if err := p.check(); err != nil {
				return false, err
			}
		}
		top := &p.stack[len(p.stack)-1]
		if top.link == 0 || !p.Wanted(p.states.node[p.stack[0].state], p.length) {
			p.pop(top.via)
			continue
		}
		k := top.link
		top.link = p.links.next[k]
		n := p.segs[p.links.seg[k]].Hops
		left, from := top.left-n, p.links.from[k]
		if left < 0 {
			continue
		}
		can, err := p.leads(from, left)
		if err != nil {
			return false, err
		}
		if !can || p.repeats(k, n) {
			continue
		}
		f := frame{state: from, via: k, left: left}
		if left > 0 {
			f.link = p.states.head[from]
		}
		p.push(f, n)
		if left == 0 {
			return true, nil
		}
	}
	return false, nil
}

func (p *Product) push(f frame, n int) {
	p.stack = append(p.stack, f)
	if p.length > longStack {
		if p.used == nil {
			p.used = map[uint64]struct{}{}
		}
		at := p.links.at[f.via]
		for _, r := range p.links.rel[at : at+uint64(n)] {
			p.used[r] = struct{}{}
		}
	}
}

func (p *Product) pop(via uint32) {
	p.stack = p.stack[:len(p.stack)-1]
	if via != 0 && p.length > longStack {
		at := p.links.at[via]
		for _, r := range p.links.rel[at : at+uint64(p.segs[p.links.seg[via]].Hops)] {
			delete(p.used, r)
		}
	}
}

// repeats reports whether the stack has a relationship of the link (P3).
func (p *Product) repeats(k uint32, n int) bool {
	at := p.links.at[k]
	for _, r := range p.links.rel[at : at+uint64(n)] {
		if p.length > longStack {
			if _, ok := p.used[r]; ok {
				return true
			}
			continue
		}
		for _, f := range p.stack[1:] {
			b := p.links.at[f.via]
			for _, q := range p.links.rel[b : b+uint64(p.segs[p.links.seg[f.via]].Hops)] {
				if q == r {
					return true
				}
			}
		}
	}
	return false
}

// End returns the vertex that the current trail leads to.
func (p *Product) End() uint64 { return p.states.node[p.stack[0].state] }

// Length returns the number of its relationships.
func (p *Product) Length() int { return p.length }

// Trail returns the current trail: its relationships, its vertices, one more, and the segment of each round. The slices are valid until the
// next call.
func (p *Product) Trail() (nodes, rels []uint64, rounds []int32) {
	p.nodes, p.rels, p.rounds = append(p.nodes[:0], p.states.node[0]), p.rels[:0], p.rounds[:0]
	for i := len(p.stack) - 1; i > 0; i-- {
		k := p.stack[i].via
		at, n := p.links.at[k], uint64(p.segs[p.links.seg[k]].Hops)
		p.nodes, p.rels = append(p.nodes, p.links.node[at:at+n]...), append(p.rels, p.links.rel[at:at+n]...)
		p.rounds = append(p.rounds, p.links.seg[k])
	}
	return p.nodes, p.rels, p.rounds
}

// pairs maps (vertex, number) to positions.
type pairs struct {
	id, num []uint64
	at      []uint32
	n       int
}

func (t *pairs) reset() {
	if t.n > 0 {
		clear(t.id)
		t.n = 0
	}
}

func (t *pairs) bytes() int64 { return int64(cap(t.id) * 20) }

func (t *pairs) put(id, num uint64, at uint32) (uint32, bool) {
	if 4*(t.n+1) > 3*len(t.id) {
		t.rehash()
	}
	m := uint64(len(t.id) - 1)
	for i := hash(id+num*0x9E3779B97F4A7C15) & m; ; i = (i + 1) & m {
		switch {
		case t.id[i] == 0:
			t.id[i], t.num[i], t.at[i] = id, num, at
			t.n++
			return at, true
		case t.id[i] == id && t.num[i] == num:
			return t.at[i], false
		}
	}
}

func (t *pairs) rehash() {
	old := *t
	n := max(64, 2*len(old.id))
	t.id, t.num, t.at, t.n = make([]uint64, n), make([]uint64, n), make([]uint32, n), 0
	for i, id := range old.id {
		if id != 0 {
			t.put(id, old.num[i], old.at[i])
		}
	}
}
