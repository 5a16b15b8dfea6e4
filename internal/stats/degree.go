package stats

import "github.com/hedgerowdb/hedgerow/internal/schema"

// Direction of relationships as seen from a vertex; the numbers are those of package store.
type Direction uint8

const (
	Out Direction = iota
	In
	Both
)

// Degree says how many relationships of a type and direction the vertices of a label have. A nil Degree knows nothing.
type Degree struct {
	Type               schema.LabelID
	Dir                Direction
	Rows               float64 // vertices of the label when the sample was taken
	Zero               float64 // share of vertices without any
	P50, P90, P99, Max float64
	Mean               float64 // E[d]
	Second             float64 // E[d²]
	Neighbours         float64 // mean number of different vertices at the far ends of one vertex
	Joint              []Joint // the other types and directions of the same label, by type and direction
}

// Joint is E[d·d']: how the degree goes together with another one of the same vertices.
type Joint struct {
	Type    schema.LabelID
	Dir     Direction
	Product float64
}

// Biased is E[d²] / E[d]: the degree of a vertex that one of these very relationships led to, the one that led there included.
func (d *Degree) Biased() (float64, bool) {
	if d == nil || !(d.Mean > 0) {
		return 0, false
	}
	x := d.Second / d.Mean
	return amount(x, 0), x == x
}

// Then is E[d·d'] / E[d]: how many relationships of type t and direction dir a vertex has that one of these relationships led to.
func (d *Degree) Then(t schema.LabelID, dir Direction) (float64, bool) {
	if d == nil || !(d.Mean > 0) {
		return 0, false
	}
	if t == d.Type && dir == d.Dir {
		return d.Biased()
	}
	for i := range d.Joint {
		if j := &d.Joint[i]; j.Type == t && j.Dir == dir {
			x := j.Product / d.Mean
			return amount(x, 0), x == x
		}
	}
	return 0, false
}
