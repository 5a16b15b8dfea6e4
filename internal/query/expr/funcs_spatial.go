package expr

import (
	"math"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/temporal"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

func init() {
	register(
		&Def{Name: "point", Category: "spatial", Raises: true,
			Description: "A point from a map: x, y [, z], or longitude, latitude [, height], and its reference system as crs or srid; null if an entry is null.",
			Sigs:        sigs(sig(TPoint, TMap)),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if a[0].Kind() != value.Map {
					return value.Value{}, wantKind("point", a[0], "a Map")
				}
				return pointFromMap(a[0])
			}},
		&Def{Name: "point.distance", Category: "spatial", Sigs: sigs(sig(TFloat, TPoint, TPoint)),
			Description: "The distance of two points of one reference system (in metres on the globe); null if their systems differ.",
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if d, ok := value.Distance(a[0], a[1]); ok {
					return value.NewFloat(d), nil
				}
				return value.Value{}, nil
			}},
		&Def{Name: "point.withinBBox", Category: "spatial", Sigs: sigs(sig(TBool, TPoint, TPoint, TPoint)),
			Description: "Whether a point lies in the box between a lower left and an upper right corner; null if their reference systems differ.",
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if in, ok := value.WithinBBox(a[0], a[1], a[2]); ok {
					return value.NewBool(in), nil
				}
				return value.Value{}, nil
			}},
	)
}

func badPoint(format string, args ...any) *dberr.Error {
	return dberr.New(dberr.ArgumentError, format, args...).WithToken("InvalidArgumentValue")
}

// pointFromMap makes a point. Keys are read without regard to case; unknown ones are ignored.
func pointFromMap(m value.Value) (value.Value, error) {
	num := map[string]float64{}
	var crs value.CRS
	given := false
	for i := range m.Len() {
		k, v := m.Entry(i)
		if v.IsNull() {
			return value.Value{}, nil
		}
		switch k = strings.ToLower(k); k {
		case "x", "y", "z", "longitude", "latitude", "height":
			if !v.IsNumber() {
				return value.Value{}, badPoint("point(): `%s` must be a number, found %s", k, KindName(v.Kind()))
			}
			if _, twice := num[k]; twice {
				return value.Value{}, badPoint("point(): `%s` is given twice", k)
			}
			num[k] = toFloat(v)
		case "crs", "srid":
			c, ok := crsOf(k, v)
			switch {
			case given:
				return value.Value{}, badPoint("point(): the reference system is given twice; leave out `crs` or `srid`")
			case !ok:
				return value.Value{}, badPoint("point(): unknown coordinate reference system %s", brief(v)).
					WithHint("Use cartesian (7203), cartesian-3d (9157), wgs-84 (4326) or wgs-84-3d (4979).")
			}
			crs, given = c, true
		}
	}
	coords, geographic, err := pointCoords(num)
	if err != nil {
		return value.Value{}, err
	}
	if !given {
		name := "cartesian"
		if geographic {
			name = "wgs-84"
		}
		if len(coords) == 3 {
			name += "-3d"
		}
		crs, _ = value.CRSByName(name)
	}
	if geographic && !crs.Geographic {
		return value.Value{}, badPoint("point(): longitude and latitude do not go with the reference system %s", crs.Name)
	}
	return value.MakePoint(crs.SRID, coords...)
}

// pointCoords picks the coordinates: x and y if they are there, else longitude and latitude.
func pointCoords(num map[string]float64) (coords []float64, geographic bool, err error) {
	third := []string{"z"}
	x, hasX := num["x"]
	y, hasY := num["y"]
	if !hasX || !hasY {
		x, hasX = num["longitude"]
		y, hasY = num["latitude"]
		geographic, third = true, []string{"z", "height"}
	}
	if !hasX || !hasY {
		return nil, false, badPoint("point() needs `x` and `y`, or `longitude` and `latitude`")
	}
	coords = []float64{x, y}
	for _, k := range third {
		if z, ok := num[k]; ok {
			return append(coords, z), geographic, nil
		}
	}
	return coords, geographic, nil
}

func crsOf(key string, v value.Value) (value.CRS, bool) {
	switch {
	case key == "crs" && v.Kind() == value.String:
		return value.CRSByName(v.Str())
	case key == "srid" && v.Kind() == value.Int && v.Int() >= 0 && v.Int() <= math.MaxUint32:
		return value.CRSBySRID(uint32(v.Int()))
	}
	return value.CRS{}, false
}

// pointComponent reads a coordinate or the reference system.
func pointComponent(v value.Value, key string) (value.Value, error) {
	crs, _ := value.CRSBySRID(v.SRID())
	i := strings.Index("xyz", key)
	switch key {
	case "x", "y", "z":
	case "longitude":
		i = 0
	case "latitude":
		i = 1
	case "height":
		i = 2
	case "srid":
		return value.NewInt(int64(crs.SRID)), nil
	case "crs":
		return value.NewString(crs.Name), nil
	default:
		return value.Value{}, temporal.NoComponent(v, key)
	}
	c := v.Coords()
	if i >= len(c) || len(key) > 1 && !crs.Geographic {
		return value.Value{}, badPoint("`%s` is not available on a point of %s", key, crs.Name)
	}
	return value.NewFloat(c[i]), nil
}
