package value

import (
	"math"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// Hash is over the coarse class of rules C9: equal for values that are Equivalent and for values that are Equal (numbers of one
// mathematical value, zoned times of one instant). Whoever finds by hash checks again by its own relation.
func Hash(v Value) uint64 { return hash(v, 0x9E3779B97F4A7C15) }

// HashSeed is Hash continued from an earlier one, for composite keys.
func HashSeed(v Value, seed uint64) uint64 { return hash(v, seed) }

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0xA0761D6478BD642F, b^0xE7037ED1A0B428DB)
	return hi ^ lo
}

func hash(v Value, seed uint64) uint64 {
	switch v.kind {
	case Int:
		return mix(seed^uint64(classNumber), math.Float64bits(intFloor(v.Int())))
	case Float:
		f := v.Float()
		if f != f {
			return mix(seed, uint64(classNaN))
		}
		if f == 0 {
			f = 0
		}
		return mix(seed^uint64(classNumber), math.Float64bits(f))
	case Numeric:
		if v.isNaN() {
			return mix(seed, uint64(classNaN))
		}
		f := numberFloor(v)
		if f == 0 {
			f = 0
		}
		return mix(seed^uint64(classNumber), math.Float64bits(f))
	case String, Bytes:
		return mix(seed^uint64(v.kind), xxhash.Sum64(v.Raw()))
	case Bool, Node, Rel, Date, LocalTime:
		return mix(seed^uint64(v.kind), v.word)
	case List:
		h := mix(seed, uint64(List))
		for _, e := range v.All() {
			h = hash(e, h)
		}
		return h
	case Path:
		h := mix(seed, uint64(Path))
		for _, e := range v.All() {
			h = mix(h, e.word)
		}
		return h
	case Map:
		t, _ := readTable(v.Raw())
		h := mix(seed, uint64(Map))
		for i := range t.n {
			k, b := splitEntry(t.at(i))
			h = hash(decodeAll(b), mix(h, xxhash.Sum64String(k)))
		}
		return h
	case DateTime, LocalDateTime, Time:
		s, n := instant(v)
		return mix(mix(seed^uint64(v.kind), uint64(s)), uint64(n))
	case Duration:
		m, d, s, n := v.DurationParts()
		return mix(mix(mix(mix(seed^uint64(Duration), uint64(m)), uint64(d)), uint64(s)), uint64(n))
	case Point:
		h := mix(seed^uint64(Point), uint64(v.SRID()))
		c, n := v.coords()
		for _, f := range c[:n] {
			if f != f {
				f = math.NaN()
			} else if f == 0 {
				f = 0
			}
			h = mix(h, math.Float64bits(f))
		}
		return h
	}
	return mix(seed, uint64(classNull))
}
