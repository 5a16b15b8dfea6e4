package exec

// idSet is a set of non-zero words with open addressing.
type idSet struct {
	slots []uint64
	n     int
}

func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0x9E3779B97F4A7C15
	return x ^ x>>29
}

func (s *idSet) reset() {
	if s.n > 0 {
		clear(s.slots)
		s.n = 0
	}
}

// add reports whether the id was not there yet.
func (s *idSet) add(id uint64) bool {
	if 4*(s.n+1) > 3*len(s.slots) {
		s.rehash()
	}
	m := uint64(len(s.slots) - 1)
	for i := mix(id) & m; ; i = (i + 1) & m {
		switch s.slots[i] {
		case id:
			return false
		case 0:
			s.slots[i] = id
			s.n++
			return true
		}
	}
}

func (s *idSet) has(id uint64) bool {
	if len(s.slots) == 0 {
		return false
	}
	m := uint64(len(s.slots) - 1)
	for i := mix(id) & m; ; i = (i + 1) & m {
		switch s.slots[i] {
		case id:
			return true
		case 0:
			return false
		}
	}
}

func (s *idSet) rehash() {
	old := s.slots
	s.slots = make([]uint64, max(16, 2*len(old)))
	m := uint64(len(s.slots) - 1)
	for _, id := range old {
		if id == 0 {
			continue
		}
		i := mix(id) & m
		for s.slots[i] != 0 {
			i = (i + 1) & m
		}
		s.slots[i] = id
	}
}
