package local

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// A change merged into a record is what the same change does to a map.
func TestMergeAgreesWithMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var m merged
		model := map[uint32]int64{}
		var rec value.Props
		for range rapid.IntRange(1, 6).Draw(rt, "changes") {
			p := store.PropRow{Replace: rapid.IntRange(0, 3).Draw(rt, "replace") == 0}
			n := rapid.IntRange(0, 80).Draw(rt, "entries") // also beyond longChange
			after := maps.Clone(model)
			if p.Replace {
				clear(after)
			}
			for range n {
				k := uint32(rapid.IntRange(1, 60).Draw(rt, "key"))
				v := rapid.Int64Range(-2, 40).Draw(rt, "value")
				p.Keys = append(p.Keys, schema.KeyID(k))
				if v < 0 {
					p.Vals = append(p.Vals, value.Value{})
					delete(after, k)
					continue
				}
				p.Vals = append(p.Vals, value.NewInt(v))
				after[k] = v
			}
			if err := m.apply(rec, &p); err != nil {
				rt.Fatal(err)
			}
			if !slices.IsSorted(m.keys) {
				rt.Fatal("keys are not in order")
			}
			rec = value.AppendProps(nil, m.keys, m.vals)
			model = after
			if rec.Len() != len(model) {
				rt.Fatalf("%d properties, want %d", rec.Len(), len(model))
			}
			for k, want := range model {
				if v, ok := rec.Get(k); !ok || v.Int() != want {
					rt.Fatalf("key %d is %v, want %d", k, v.Int(), want)
				}
				if m.get(schema.KeyID(k)).Int() != want {
					rt.Fatalf("merged key %d is not %d", k, want)
				}
			}
		}
	})
}

func TestOnlyValuesAreStored(t *testing.T) {
	var m merged
	for _, v := range []value.Value{value.NewNode(1), value.NewRel(1)} {
		err := m.apply(nil, &store.PropRow{Keys: []schema.KeyID{1}, Vals: []value.Value{v}})
		if !dberr.Is(err, dberr.TypeError) {
			t.Errorf("%v", err)
		}
	}
}

func TestRowHeads(t *testing.T) {
	b := appendVertexHead(nil, 1<<48|7, 9)
	if rowID(b) != 1<<48|7 || rowSet(b) != 9 || len(b) != vertexHead || checkRow(schema.Vertex, b) != nil || checkRow(schema.Edge, b) == nil {
		t.Errorf("%x", b)
	}
	b = appendEdgeHead(nil, 5, 6, 7)
	if s, e := rowEnds(b); rowID(b) != 5 || s != 6 || e != 7 || len(b) != edgeHead {
		t.Errorf("%x", b)
	}
}

// Cut keys (B13): order up to the cut stays, equal keys stay equal, and different ones with one beginning differ by hash.
func TestCutKeys(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		gen := rapid.Custom(func(rt *rapid.T) []byte {
			tail := rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(rt, "tail")
			return append(bytes.Repeat([]byte{rapid.ByteRange(1, 2).Draw(rt, "head")}, rapid.SampledFrom([]int{0, 10, 1980, 1984, 3000}).Draw(rt, "n")), tail...)
		})
		a, b := gen.Draw(rt, "a"), gen.Draw(rt, "b")
		ca, cutA := cutKey(slices.Clone(a), 0)
		cb, cutB := cutKey(slices.Clone(b), 0)
		if cutA != (len(a) > maxWhole) || len(ca) > maxWhole+16 {
			rt.Fatalf("%d bytes became %d", len(a), len(ca))
		}
		if bytes.Equal(a, b) != bytes.Equal(ca, cb) {
			rt.Fatal("equality changed")
		}
		same := cutA && cutB && bytes.Equal(a[:maxWhole], b[:maxWhole])
		if !same && !cutA && !cutB && bytes.Compare(a, b) != bytes.Compare(ca, cb) {
			rt.Fatal("order changed")
		}
	})
}
