package local

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Keys of the indexes that every label has: graphids in the order of their numbers.

func appendID(b []byte, id uint64) []byte { return binary.BigEndian.AppendUint64(b, id) }

func appendAdj(b []byte, near, far, edge uint64) []byte {
	return appendID(appendID(appendID(b, near), far), edge)
}

// adjKey splits a key of an out or in index.
func adjKey(k []byte) (near, far, edge uint64) {
	return binary.BigEndian.Uint64(k), binary.BigEndian.Uint64(k[8:]), binary.BigEndian.Uint64(k[16:])
}

const adjKeyLen = 24

// maxWhole is the longest key of a property index that is stored whole (rules B13).
const maxWhole = value.LongKey

// cutKey turns the key in b[from:] into what the index stores: itself, or its first bytes and a hash of all.
func cutKey(b []byte, from int) (key []byte, cut bool) {
	if len(b)-from <= maxWhole {
		return b, false
	}
	whole, tail := xxhash.Sum64(b[from:]), xxhash.Sum64(b[from+maxWhole:])
	b = binary.BigEndian.AppendUint64(b[:from+maxWhole], whole)
	return binary.BigEndian.AppendUint64(b, tail), true
}

// looseLen is how much of the key of a zoned datetime or time its instant takes: class, seconds, nanoseconds. Cypher's = and <
// look at no more (rules C9).
const looseLen = 1 + 8 + 4

// appendStored appends the key under which an index keeps v. Of a zoned value a unique index keeps the instant alone, so that values that Cypher
// calls equal meet in it (rules C9); readers look for the instant anyway and judge by the row.
func appendStored(b []byte, v value.Value, unique bool) []byte {
	from := len(b)
	b = value.AppendKey(b, v)
	if k := v.Kind(); unique && (k == value.DateTime || k == value.Time) {
		b = b[:from+looseLen]
	}
	return b
}

// appendLoose appends the key of v up to where values that Cypher calls equal may begin to differ, and tells if that is not all.
func appendLoose(b []byte, v value.Value) (key []byte, loose bool) {
	from := len(b)
	b = value.AppendKey(b, v)
	if k := v.Kind(); (k == value.DateTime || k == value.Time) && len(b)-from > looseLen {
		return b[:from+looseLen], true
	}
	if containsZoned(v) {
		return b[:from+1], true // lists, or maps
	}
	return b, false
}

// containsZoned reports whether a container holds a zoned value at any depth, so that equal containers may have different keys.
func containsZoned(v value.Value) bool {
	switch v.Kind() {
	case value.DateTime, value.Time:
		return true
	case value.List:
		for _, e := range v.All() {
			if containsZoned(e) {
				return true
			}
		}
	case value.Map:
		for i := range v.Len() {
			if _, e := v.Entry(i); containsZoned(e) {
				return true
			}
		}
	}
	return false
}
