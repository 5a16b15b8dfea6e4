package expr

import (
	"bytes"
	"encoding/binary"

	"github.com/hedgerowdb/hedgerow/internal/query/spill"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// distinct lets each value of the first argument pass once a group, under equivalence: an open-addressing table over
// hash(group, value) whose entries point into an arena.
type distinct struct {
	inner  states
	groups int
	slots  []uint32 // 1 + index of an entry
	hash   []uint64
	group  []uint32
	off    []uint64
	arena  []byte

	// Once spilled, the table grows no more: what it does not hold waits in ext, and reaches inner in the order of arrival at the end.
	ext  *spill.Dedup
	done bool
	body []byte
}

func (s *distinct) grow(n int) { s.inner.grow(n); s.groups = n }
func (s *distinct) reset() {
	s.inner.reset()
	clear(s.slots)
	s.hash, s.group, s.off, s.arena = s.hash[:0], s.group[:0], s.off[:0], s.arena[:0]
}
func (s *distinct) size() int {
	return s.inner.size() + 4*cap(s.slots) + 20*cap(s.hash) + cap(s.arena)
}

func (s *distinct) entry(e uint32) value.Value { return ownValue(s.arena[s.off[e]:]) }

// spill implements external.
func (s *distinct) spill(p *spill.Place) error {
	if s.ext == nil {
		s.ext, s.done = new(spill.Dedup), false
		s.ext.Init(p.Part(2))
	}
	if x, ok := s.inner.(external); ok {
		return x.spill(p.Part(2))
	}
	return nil
}

func (s *distinct) finish(env *Env) error {
	if s.ext != nil && !s.done {
		s.done = true
		// A record is the group and the arguments.
		if err := s.ext.Finish(func(a, b []byte) (bool, error) {
			return bytes.Equal(a[:4], b[:4]) && value.Equivalent(ownValue(a[4:]), ownValue(b[4:])), nil
		}); err != nil {
			return err
		}
		var args []value.Value
		for {
			b, ok, err := s.ext.Next()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			g := binary.BigEndian.Uint32(b)
			args = args[:0]
			for b = b[4:]; len(b) > 0; {
				v, rest, err := value.DecodeValue(b)
				if err != nil {
					return err
				}
				args, b = append(args, v), rest
			}
			if err := s.inner.one(env, g, args); err != nil {
				return err
			}
		}
		s.ext.Close()
	}
	if x, ok := s.inner.(external); ok {
		return x.finish(env)
	}
	return nil
}

func (s *distinct) close() {
	if s.ext != nil {
		s.ext.Close()
		s.ext = nil
	}
	if x, ok := s.inner.(external); ok {
		x.close()
	}
}

// wait keeps a value that may be new for the end.
func (s *distinct) wait(g uint32, hash uint64, args []value.Value) error {
	s.body = binary.BigEndian.AppendUint32(s.body[:0], g)
	for _, a := range args {
		s.body = value.AppendValue(s.body, a)
	}
	return s.ext.Add(hash, s.body)
}

// put reports whether the value is new in its group; a table that was spilled does not know, and returns the hash.
func (s *distinct) put(g uint32, v value.Value) (fresh bool, hash uint64) {
	if 4*len(s.hash) >= 3*len(s.slots) && (s.ext == nil || len(s.slots) == 0) {
		s.rehash(max(16, 2*len(s.slots)))
	}
	h := value.HashSeed(v, uint64(g)*0x9E3779B97F4A7C15+1)
	mask := uint64(len(s.slots) - 1)
	i := h & mask
	for ; s.slots[i] != 0; i = (i + 1) & mask {
		e := s.slots[i] - 1
		if s.hash[e] == h && s.group[e] == g && value.Equivalent(s.entry(e), v) {
			return false, h
		}
	}
	if s.ext != nil {
		return true, h
	}
	s.hash, s.group, s.off = append(s.hash, h), append(s.group, g), append(s.off, uint64(len(s.arena)))
	s.arena = value.AppendValue(s.arena, v)
	s.slots[i] = uint32(len(s.hash))
	return true, h
}

func (s *distinct) rehash(n int) {
	s.slots = make([]uint32, n)
	mask := uint64(n - 1)
	for e, h := range s.hash {
		i := h & mask
		for s.slots[i] != 0 {
			i = (i + 1) & mask
		}
		s.slots[i] = uint32(e + 1)
	}
}

func (s *distinct) one(env *Env, g uint32, args []value.Value) error {
	switch {
	case len(args) == 0:
	case args[0].IsNull():
		if len(args) < 2 {
			return nil
		}
	default:
		fresh, hash := s.put(g, args[0])
		if !fresh {
			return nil
		}
		if s.ext != nil {
			return s.wait(g, hash, args)
		}
	}
	return s.inner.one(env, g, args)
}

func (s *distinct) result(env *Env, g int, out *vec.Column) error { return s.inner.result(env, g, out) }

func (s *distinct) merge(env *Env, g uint32, from states, fg uint32) error {
	o := from.(*distinct)
	var args [2]value.Value
	n := 1
	if p, ok := s.inner.(*percentileStates); ok {
		n = 2
		args[1] = value.NewFloat(o.inner.(*percentileStates).p[fg])
		_ = p
	}
	for e := range o.hash {
		if o.group[e] != fg {
			continue
		}
		args[0] = o.entry(uint32(e))
		if err := s.one(env, g, args[:n]); err != nil {
			return err
		}
	}
	return nil
}
