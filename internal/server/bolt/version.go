package bolt

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/hedgerowdb/hedgerow/internal/server/bolt/packstream"
)

// version is a version of the protocol.
type version struct{ major, minor byte }

func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

func (v version) from(major, minor byte) bool {
	return v.major > major || v.major == major && v.minor >= minor
}

// versions are those that are spoken, the best first. 5.5 was never released.
var versions = []version{{5, 8}, {5, 7}, {5, 6}, {5, 4}, {5, 3}, {5, 2}, {5, 1}, {5, 0}, {4, 4}}

// What the versions differ in.
func (v version) logon() bool          { return v.from(5, 1) } // credentials come apart from HELLO
func (v version) telemetry() bool      { return v.from(5, 4) }
func (v version) statuses() bool       { return v.from(5, 6) } // GQL statuses instead of notifications
func (v version) gqlErrors() bool      { return v.from(5, 7) }
func (v version) homeDatabase() bool   { return v.from(5, 8) } // the database that was chosen is told
func (v version) filters() bool        { return v.from(5, 2) } // clients choose notifications
func (v version) classification() bool { return v.from(5, 6) } // … by classification, which was called category
func (v version) format(utc bool) packstream.Format {
	return packstream.Format{ElementIDs: v.from(5, 0), UTC: v.from(5, 0) || utc}
}

const magic = 0x6060B017

// manifest is what a client puts in the place of a version to be told all versions.
var manifest = [4]byte{0, 0, 1, 0xFF}

// offer lists the versions in the manifest's form: ranges of minor versions.
func offer() [][4]byte {
	var out [][4]byte
	for _, v := range versions {
		if n := len(out); n > 0 && out[n-1][3] == v.major && out[n-1][2]-out[n-1][1]-1 == v.minor {
			out[n-1][1]++
			continue
		}
		out = append(out, [4]byte{0, 0, v.minor, v.major})
	}
	return out
}

// choose finds the version to speak among a client's four wishes, the first that can be granted. With manifest the client is to choose.
func choose(slots [16]byte) (v version, byManifest, ok bool) {
	for i := 0; i < len(slots); i += 4 {
		s := [4]byte(slots[i : i+4])
		if s == manifest {
			return version{}, true, true
		}
		for _, v := range versions {
			if s[0] == 0 && v.major == s[3] && v.minor <= s[2] && int(v.minor) >= int(s[2])-int(s[1]) {
				return v, false, true
			}
		}
	}
	return version{}, false, false
}

// handshake agrees on a version. ok is false if there is none in common, which the client has been told.
func handshake(in io.Reader, out io.Writer) (v version, byManifest, ok bool, err error) {
	var hello [20]byte
	if _, err := io.ReadFull(in, hello[:]); err != nil {
		return v, false, false, err
	}
	v, byManifest, ok = choose([16]byte(hello[4:]))
	if !ok {
		_, err = out.Write([]byte{0, 0, 0, 0})
		return v, false, false, err
	}
	if !byManifest {
		_, err = out.Write([]byte{0, 0, v.minor, v.major})
		return v, false, true, err
	}
	ranges := offer()
	b := append(manifest[:], byte(len(ranges)))
	for _, r := range ranges {
		b = append(b, r[:]...)
	}
	if _, err := out.Write(append(b, 0)); err != nil { // no capabilities
		return v, true, false, err
	}
	var answer [4]byte
	if _, err := io.ReadFull(in, answer[:]); err != nil {
		return v, true, false, err
	}
	if _, err := readVarint(in); err != nil {
		return v, true, false, err
	}
	v = version{answer[3], answer[2]}
	return v, true, binary.BigEndian.Uint16(answer[:]) == 0 && slices.Contains(versions, v), nil
}

// readVarint reads a number of seven bits a byte, the low ones first.
func readVarint(in io.Reader) (n uint64, err error) {
	var b [1]byte
	for shift := 0; shift < 64; shift += 7 {
		if _, err := io.ReadFull(in, b[:]); err != nil {
			return 0, err
		}
		n |= uint64(b[0]&0x7F) << shift
		if b[0] < 0x80 {
			return n, nil
		}
	}
	return 0, errLongVarint
}

var errLongVarint = fmt.Errorf("a number is longer than 64 bits")
