package stats

import (
	"encoding/binary"
	"math"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// version is the first byte of encoded statistics. Others are as good as none.
const version = 1

// Append appends the statistics as docs/format/catalog.md draws them.
func (l *Label) Append(b []byte) []byte {
	b = append(b, version)
	b = appendFloats(b, l.Rows, l.Sampled)
	b = binary.LittleEndian.AppendUint64(b, uint64(l.Taken))
	b = binary.AppendUvarint(b, uint64(len(l.Keys)))
	for _, k := range l.Keys {
		b = binary.AppendUvarint(b, uint64(k.ID))
		b = appendFloats(b, k.Rows, k.Null, k.Distinct, k.Wide, k.Width)
		b = binary.AppendUvarint(b, uint64(len(k.Common)))
		for _, c := range k.Common {
			b = appendFloats(b, c.Share)
			b = value.AppendValue(b, c.Value)
		}
		b = binary.AppendUvarint(b, uint64(len(k.Bounds)))
		for _, v := range k.Bounds {
			b = value.AppendValue(b, v)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(l.Degrees)))
	for _, d := range l.Degrees {
		b = binary.AppendUvarint(b, uint64(d.Type))
		b = append(b, byte(d.Dir))
		b = appendFloats(b, d.Rows, d.Zero, d.P50, d.P90, d.P99, d.Max, d.Mean, d.Second, d.Neighbours)
		b = binary.AppendUvarint(b, uint64(len(d.Joint)))
		for _, j := range d.Joint {
			b = binary.AppendUvarint(b, uint64(j.Type))
			b = append(b, byte(j.Dir))
			b = appendFloats(b, j.Product)
		}
	}
	return b
}

func appendFloats(b []byte, fs ...float64) []byte {
	for _, f := range fs {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	}
	return b
}

type reader struct {
	b   []byte
	bad bool
}

func (r *reader) fail() { r.bad, r.b = true, nil }

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	x := r.b[0]
	r.b = r.b[1:]
	return x
}

func (r *reader) uint() uint64 {
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return x
}

// count reads a number of things that take at least size bytes each.
func (r *reader) count(size int) int {
	n := r.uint()
	if n > uint64(len(r.b)/size) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) float() float64 {
	if len(r.b) < 8 {
		r.fail()
		return 0
	}
	x := math.Float64frombits(binary.LittleEndian.Uint64(r.b))
	r.b = r.b[8:]
	return x
}

func (r *reader) floats(to ...*float64) {
	for _, p := range to {
		*p = r.float()
	}
}

func (r *reader) value() value.Value {
	v, rest, err := value.DecodeValue(r.b)
	if err != nil || value.Validate(v) != nil {
		r.fail()
		return value.Value{}
	}
	r.b = rest
	return v
}

// Decode reads what Append wrote. The result refers to b, which must not change.
func Decode(b []byte) (*Label, error) {
	r := &reader{b: b}
	l := new(Label)
	if r.byte() != version {
		return nil, malformed()
	}
	r.floats(&l.Rows, &l.Sampled)
	l.Taken = int64(math.Float64bits(r.float()))
	for n := r.count(43); n > 0 && !r.bad; n-- {
		k := &Key{ID: schema.KeyID(r.uint())}
		r.floats(&k.Rows, &k.Null, &k.Distinct, &k.Wide, &k.Width)
		for m := r.count(9); m > 0 && !r.bad; m-- {
			s := r.float()
			k.Common = append(k.Common, Common{r.value(), s})
		}
		for m := r.count(1); m > 0 && !r.bad; m-- {
			k.Bounds = append(k.Bounds, r.value())
		}
		if len(l.Keys) > 0 && l.Keys[len(l.Keys)-1].ID >= k.ID {
			return nil, malformed()
		}
		k.seal()
		l.Keys = append(l.Keys, k)
	}
	for n := r.count(75); n > 0 && !r.bad; n-- {
		d := &Degree{Type: schema.LabelID(r.uint()), Dir: Direction(r.byte())}
		r.floats(&d.Rows, &d.Zero, &d.P50, &d.P90, &d.P99, &d.Max, &d.Mean, &d.Second, &d.Neighbours)
		for m := r.count(10); m > 0 && !r.bad; m-- {
			j := Joint{Type: schema.LabelID(r.uint()), Dir: Direction(r.byte())}
			j.Product = r.float()
			d.Joint = append(d.Joint, j)
		}
		l.Degrees = append(l.Degrees, d)
	}
	if r.bad || len(r.b) > 0 {
		return nil, malformed()
	}
	return l, nil
}

func malformed() error { return dberr.New(dberr.DataCorrupted, "statistics are malformed") }
