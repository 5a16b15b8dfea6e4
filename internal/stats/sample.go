package stats

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Sampler collects the properties of sampled rows.
type Sampler struct {
	rows  int
	bytes int
	keys  map[schema.KeyID]*keySample
}

type keySample struct {
	n, wide int // rows with the key; of them, with a value that is not kept
	bytes   int
	vals    []sampled
}

// sampled is a value, or the beginning of a long string.
type sampled struct {
	v    value.Value
	hash uint64 // of the whole value
	cut  bool
}

const sampledBytes = 40

// Row adds the properties of a row. The record may change afterwards.
func (s *Sampler) Row(p value.Props) {
	s.rows++
	if s.keys == nil {
		s.keys = map[schema.KeyID]*keySample{}
	}
	for i := range p.Len() {
		id, v := p.At(i)
		s.Value(schema.KeyID(id), v)
	}
}

// Value adds one value to the row added last.
func (s *Sampler) Value(id schema.KeyID, v value.Value) {
	if v.IsNull() {
		return
	}
	k := s.keys[id]
	if k == nil {
		if len(s.keys) == MaxKeys {
			return
		}
		k = new(keySample)
		s.keys[id] = k
	}
	k.n++
	x, ok := sampled{v: v}, true
	switch v.Kind() {
	case value.String:
		text := v.Str()
		k.bytes += len(text)
		x.hash = value.Hash(v)
		if len(text) > MaxWidth {
			n := MaxWidth
			for n > MaxWidth-utf8.UTFMax && !utf8.RuneStart(text[n]) {
				n--
			}
			x.v, x.cut = value.NewString(text[:n]), true
		}
	case value.OutOfLine:
		k.bytes += 2048 // at least
		ok = false
	default:
		raw := len(v.Raw())
		k.bytes += 8 + raw
		if ok = raw <= MaxWidth; ok {
			x.hash = value.Hash(v)
		}
	}
	if !ok {
		k.wide++
		return
	}
	x.v = x.v.Clone()
	s.bytes += sampledBytes + len(x.v.Raw())
	k.vals = append(k.vals, x)
}

// Rows is the number of rows added.
func (s *Sampler) Rows() int { return s.rows }

// Full reports whether the sample should not grow further (S2).
func (s *Sampler) Full() bool { return s.bytes >= SampleBytes }

// Keys draws the conclusions for a label of so many rows.
func (s *Sampler) Keys(total float64) []*Key {
	var out []*Key
	for id, k := range s.keys {
		out = append(out, k.conclude(id, s.rows, max(total, float64(s.rows))))
	}
	slices.SortFunc(out, func(a, b *Key) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// run is a value of the sample and how often it was met.
type run struct {
	at, n int
}

func (k *keySample) conclude(id schema.KeyID, rows int, total float64) *Key {
	vals := k.vals
	slices.SortFunc(vals, func(a, b sampled) int {
		if c := value.Compare(a.v, b.v); c != 0 {
			return c
		}
		return cmp.Compare(a.hash, b.hash)
	})
	var runs []run
	once := k.wide
	for i := 0; i < len(vals); {
		j := i + 1
		for j < len(vals) && vals[j].hash == vals[i].hash && value.Compare(vals[j].v, vals[i].v) == 0 {
			j++
		}
		if runs = append(runs, run{i, j - i}); j == i+1 {
			once++
		}
		i = j
	}
	n := float64(k.n)
	out := &Key{ID: id, Rows: total, Null: share(1-n/float64(rows), 0), Wide: share(float64(k.wide)/float64(rows), 0), Width: float64(k.bytes) / max(1, n)}
	whole := float64(rows) >= total
	out.Distinct = distinct(float64(len(runs)+k.wide), float64(once), n, n/float64(rows)*total)

	common := k.common(runs, out.Distinct, whole)
	taken := make(map[int]bool, len(common))
	for _, r := range common {
		out.Common = append(out.Common, Common{vals[r.at].v, float64(r.n) / float64(rows)})
		taken[r.at] = true
	}
	rest := make([]value.Value, 0, len(vals))
	for _, r := range runs {
		if !taken[r.at] {
			for range r.n {
				rest = append(rest, vals[r.at].v)
			}
		}
	}
	if len(rest) > 1 {
		b := min(Buckets, len(rest)-1)
		for i := range b + 1 {
			out.Bounds = append(out.Bounds, rest[i*(len(rest)-1)/b])
		}
	}
	out.seal()
	return out
}

// distinct estimates the different values of total rows, when d were met in n of them, once of them a single time.
func distinct(d, once, n, total float64) float64 {
	if n >= total || n <= 0 || d <= 0 {
		return max(d, 0)
	}
	return min(total, max(d, n*d/max(1, n-once+once*n/total)))
}

// common picks the most common values: all of them if there are few, else those that are clearly more frequent than the mean.
func (k *keySample) common(runs []run, distinct float64, whole bool) []run {
	least := 2.0
	if len(runs)+k.wide > MaxCommon || !whole && float64(len(runs)) < distinct {
		least = max(2, 1.25*float64(k.n)/max(1, distinct))
	} else {
		least = 1
	}
	var out []run
	for _, r := range runs {
		if float64(r.n) >= least && !k.vals[r.at].cut {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b run) int { return cmp.Compare(b.n, a.n) })
	return out[:min(len(out), MaxCommon)]
}

// Kind is a type of relationships and a direction, as seen from the sampled vertices.
type Kind struct {
	Type schema.LabelID
	Dir  Direction
}

// DegreeSampler collects the degrees of sampled vertices.
type DegreeSampler struct {
	kinds []Kind
	deg   [][]float32 // by kind
	prod  []float64   // Σ d·d' by pair of kinds
	nbrs  []float64   // Σ different neighbours
	seen  []float64   // vertices whose neighbours were looked at
}

// NewDegreeSampler begins a sample of the kinds.
func NewDegreeSampler(kinds []Kind) *DegreeSampler {
	n := len(kinds)
	return &DegreeSampler{kinds: kinds, deg: make([][]float32, n), prod: make([]float64, n*n), nbrs: make([]float64, n), seen: make([]float64, n)}
}

// Add adds a vertex by its degrees, one a kind.
func (s *DegreeSampler) Add(deg []int64) {
	n := len(s.kinds)
	for i, d := range deg {
		s.deg[i] = append(s.deg[i], float32(d))
		if d != 0 {
			for j, e := range deg {
				s.prod[i*n+j] += float64(d) * float64(e)
			}
		}
	}
}

// Neighbours adds how many different vertices lie at the far ends of one vertex.
func (s *DegreeSampler) Neighbours(kind int, different int) {
	s.nbrs[kind] += float64(different)
	s.seen[kind]++
}

// Degrees draws the conclusions for a label of so many vertices.
func (s *DegreeSampler) Degrees(total float64) []*Degree {
	var out []*Degree
	n := len(s.kinds)
	for i, k := range s.kinds {
		deg := s.deg[i]
		if len(deg) == 0 {
			continue
		}
		rows := float64(len(deg))
		slices.Sort(deg)
		zero, _ := slices.BinarySearch(deg, 1)
		sum := 0.0
		for _, d := range deg {
			sum += float64(d)
		}
		at := func(q float64) float64 { return float64(deg[min(len(deg)-1, int(q*rows))]) }
		d := &Degree{Type: k.Type, Dir: k.Dir, Rows: total, Zero: float64(zero) / rows, P50: at(0.5), P90: at(0.9), P99: at(0.99), Max: float64(deg[len(deg)-1]),
			Mean: sum / rows, Second: s.prod[i*n+i] / rows}
		if s.seen[i] > 0 {
			d.Neighbours = s.nbrs[i] / s.seen[i]
		}
		for j, o := range s.kinds {
			if j != i && s.prod[i*n+j] > 0 {
				d.Joint = append(d.Joint, Joint{o.Type, o.Dir, s.prod[i*n+j] / rows})
			}
		}
		out = append(out, d)
	}
	return out
}
