package value

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// The payload of a Point is {srid u32, two or three coordinates f64}; which of the two the reference system says.

// CRS is a coordinate reference system of points.
type CRS struct {
	SRID       uint32
	Name       string // as p.crs gives it
	Dims       int    // 2 or 3
	Geographic bool   // longitude and latitude in degrees, height in metres, on WGS 84
}

// The reference systems that there are.
var crsTable = [...]CRS{
	{7203, "cartesian", 2, false},
	{9157, "cartesian-3d", 3, false},
	{4326, "wgs-84", 2, true},
	{4979, "wgs-84-3d", 3, true},
}

// SRIDs of the reference systems.
const (
	Cartesian   uint32 = 7203
	Cartesian3D uint32 = 9157
	WGS84       uint32 = 4326
	WGS843D     uint32 = 4979
)

// CRSBySRID finds a reference system by its number.
func CRSBySRID(srid uint32) (CRS, bool) {
	for _, c := range crsTable {
		if c.SRID == srid {
			return c, true
		}
	}
	return CRS{}, false
}

// CRSByName finds a reference system by its name, without regard to case.
func CRSByName(name string) (CRS, bool) {
	for _, c := range crsTable {
		if strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return CRS{}, false
}

// NewPoint makes a Point of a reference system, unchecked: coordinates must be as many as it has dimensions. Coordinates from outside go
// through [MakePoint].
func NewPoint(srid uint32, coords ...float64) Value {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 28), srid)
	for _, c := range coords {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(c))
	}
	return FromBytes(Point, 0, b)
}

// MakePoint makes a Point that is known to be one: an ArgumentError (InvalidArgumentValue) for an unknown reference system, a wrong number of
// coordinates, one that is not finite, or a latitude beyond ±90. A longitude beyond ±180 is wrapped into that range.
func MakePoint(srid uint32, coords ...float64) (Value, error) {
	bad := func(format string, args ...any) (Value, error) {
		return Value{}, dberr.New(dberr.ArgumentError, format, args...).WithToken("InvalidArgumentValue")
	}
	crs, ok := CRSBySRID(srid)
	if !ok {
		return bad("unknown coordinate reference system: srid %d", srid)
	}
	if len(coords) != crs.Dims {
		return bad("a point of %s has %d coordinates, not %d", crs.Name, crs.Dims, len(coords))
	}
	for _, c := range coords {
		if c != c || math.IsInf(c, 0) {
			return bad("the coordinates of a point must be finite, found %v", coords)
		}
	}
	if !crs.Geographic {
		return NewPoint(srid, coords...), nil
	}
	if math.Abs(coords[1]) > 90 {
		return bad("the latitude of a point must be from -90 to 90, found %v", coords[1])
	}
	if math.Abs(coords[0]) > 180 {
		coords = append([]float64(nil), coords...)
		coords[0] = wrapLongitude(coords[0])
	}
	return NewPoint(srid, coords...), nil
}

// wrapLongitude maps degrees into -180 … 180.
func wrapLongitude(x float64) float64 {
	switch x = math.Mod(x, 360); {
	case x > 180:
		return x - 360
	case x < -180:
		return x + 360
	}
	return x
}

// validPoint reports whether bytes are a point that MakePoint would have made.
func validPoint(v Value) bool {
	c, n := v.coords()
	p, err := MakePoint(v.SRID(), c[:n]...)
	return err == nil && string(p.Raw()) == string(v.Raw())
}

// SRID reads the reference system of a Point.
func (v Value) SRID() uint32 {
	if v.kind != Point || v.n < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(v.Raw())
}

func (v Value) coords() (c [3]float64, n int) {
	b := v.Raw()
	if v.kind != Point || len(b) < 4 {
		return
	}
	for b = b[4:]; len(b) >= 8 && n < 3; b = b[8:] {
		c[n] = math.Float64frombits(binary.LittleEndian.Uint64(b))
		n++
	}
	return
}

// Coords returns the coordinates of a Point.
func (v Value) Coords() []float64 {
	c, n := v.coords()
	return append([]float64(nil), c[:n]...)
}

// AppendPointText appends what toString gives for a Point: point({x: 1.0, y: 2.0, crs: 'cartesian'}).
func AppendPointText(dst []byte, v Value) []byte {
	dst = append(dst, "point({"...)
	c, n := v.coords()
	for i, f := range c[:n] {
		dst = append(append(dst, "xyz"[i]), ": "...)
		dst = append(AppendFloat(dst, f), ", "...)
	}
	crs, _ := CRSBySRID(v.SRID())
	return append(append(append(dst, "crs: '"...), crs.Name...), "'})"...)
}

const (
	// earthRadius is the radius in metres of the sphere on which distances are measured.
	earthRadius = 6378140.0
)

// Distance is the distance of two points of one reference system: by Pythagoras in a Cartesian one, in metres along the great circle (at the
// mean height, and from there in a straight line) in a geographic one. ok is false if their systems differ.
func Distance(a, b Value) (d float64, ok bool) {
	crs, known := CRSBySRID(a.SRID())
	if !known || b.SRID() != a.SRID() {
		return 0, false
	}
	p, np := a.coords()
	q, nq := b.coords()
	if np != crs.Dims || nq != crs.Dims {
		return 0, false
	}
	if !crs.Geographic {
		return math.Hypot(math.Hypot(p[0]-q[0], p[1]-q[1]), p[2]-q[2]), true
	}
	const rad = math.Pi / 180
	sinLat, sinLon := math.Sin((q[1]-p[1])*rad/2), math.Sin((q[0]-p[0])*rad/2)
	h := sinLat*sinLat + math.Cos(p[1]*rad)*math.Cos(q[1]*rad)*sinLon*sinLon
	arc := 2 * math.Atan2(math.Sqrt(h), math.Sqrt(max(1-h, 0)))
	return math.Hypot((earthRadius+(p[2]+q[2])/2)*arc, p[2]-q[2]), true
}

// WithinBBox reports whether p lies in the box between two corners, borders included. In a geographic system a box whose lower left corner lies
// east of its upper right one crosses the 180th meridian. ok is false if the three are not of one reference system.
func WithinBBox(p, lowerLeft, upperRight Value) (within, ok bool) {
	crs, known := CRSBySRID(p.SRID())
	if !known || lowerLeft.SRID() != crs.SRID || upperRight.SRID() != crs.SRID {
		return false, false
	}
	c, _ := p.coords()
	lo, _ := lowerLeft.coords()
	hi, _ := upperRight.coords()
	for i := range crs.Dims {
		if i == 0 && crs.Geographic && lo[0] > hi[0] {
			if c[0] < lo[0] && c[0] > hi[0] {
				return false, true
			}
			continue
		}
		if c[i] < lo[i] || c[i] > hi[i] {
			return false, true
		}
	}
	return true, true
}
