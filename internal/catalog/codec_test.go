package catalog

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

type row interface {
	encode() []byte
	decode([]byte) error
	key() []byte
}

func samples() []row {
	return []row{
		&graphRow{row: 1, id: 2, labelSeq: 16, keySeq: 17, setSeq: 18, chunks: 70, name: "social"},
		&labelRow{row: 3, graph: 2, id: 3, entity: schema.Edge, seq: 20, heap: 71, idx: 72, out: 73, in: 74, name: "KNOWS"},
		&labelRow{row: 3, graph: 2, id: 3, entity: schema.Vertex | hiddenBit, name: ""},
		&keyRow{row: 4, graph: 2, id: 9, name: "näme\x00"},
		&setRow{row: 5, graph: 2, id: 7, labels: []schema.LabelID{3, 4, 65535}},
		&heapLabelRow{row: 6, graph: 2, heap: 3, label: 4},
		&shownRow{row: 7, graph: 2, label: 4},
		&indexRow{row: 8, id: 1, graph: 2, entity: schema.Vertex, flags: indexUnique, label: 3, relfile: 80, keys: []schema.KeyID{1, 2}, name: "ix"},
		&indexHeapRow{row: 9, index: 1, ordinal: 3, label: 4, relfile: 71},
		&constraintRow{row: 10, graph: 2, entity: schema.Vertex, kind: schema.NotNull, label: 3, index: 0, keys: []schema.KeyID{5}, name: "c"},
		&constraintRow{row: 11, graph: 2, entity: schema.Edge, kind: schema.PropertyType, label: 3, keys: []schema.KeyID{5}, name: "t",
			typ: value.TypeSpec{Kinds: 1<<value.Null | 1<<value.Int, Lists: []value.TypeSpec{{Kinds: 1 << value.String}}}},
		&statsRow{row: 11, graph: 2, label: 3, part: 1, data: "\x01abc"},
	}
}

func TestRowsComeBack(t *testing.T) {
	for _, r := range samples() {
		b := r.encode()
		got := reflect.New(reflect.TypeOf(r).Elem()).Interface().(row)
		if err := got.decode(b); err != nil {
			t.Errorf("%T: %v", r, err)
			continue
		}
		if !reflect.DeepEqual(got, r) {
			t.Errorf("%+v came back as %+v", r, got)
		}
		if !bytes.Equal(got.key(), r.key()) {
			t.Errorf("%T: key changed", r)
		}
		for n := range b {
			if err := got.decode(b[:n]); !dberr.Is(err, dberr.DataCorrupted) {
				t.Errorf("%T: %d of %d bytes decode: %v", r, n, len(b), err)
			}
		}
	}
}

func FuzzRows(f *testing.F) {
	for _, r := range samples() {
		f.Add(r.encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, r := range samples() {
			if r.decode(b) == nil && !bytes.Equal(r.encode(), b) {
				if l, ok := r.(*labelRow); ok && l != nil {
					continue // one byte of padding
				}
				t.Errorf("%T: %x came back as %x", r, b, r.encode())
			}
		}
	})
}

func TestGraphNames(t *testing.T) { // D1
	for name, ok := range map[string]bool{
		"social": true, "g_1": true, "main": true, "Ünïcode": true, "a.b-c": true, "abc$": true,
		"ab": false, "": false, "1abc": false, "pg_graph": false, "public": false, "system": false, "ag_catalog": false, "information_schema": false,
		"a b c": false, "abc.": false, "abc-": false, "neo;j": false,
	} {
		if err := CheckGraphName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Every file of the catalog has a name, so that check reads it.
func TestTablesHaveNames(t *testing.T) {
	c := new(Catalog)
	if got, want := len(c.Tables()), len(c.tables()); got != want {
		t.Errorf("%d names for %d tables", got, want)
	}
	for _, r := range c.Tables() {
		if r.Name == "" {
			t.Errorf("file %d has no name", r.Heap)
		}
	}
}
