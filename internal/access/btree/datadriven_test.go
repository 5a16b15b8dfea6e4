package btree

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/hedgerowdb/hedgerow/internal/sched"
)

// TestTree runs scripts and prints trees page by page. Keys are written x*N for x repeated N times, with an optional tail: x*N+tail.
func TestTree(t *testing.T) {
	datadriven.Walk(t, "testdata/tree", func(t *testing.T, path string) {
		env := newEnv(t)
		tr := env.tree(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "insert", "delete":
				for line := range strings.Lines(d.Input) {
					key, ptr := parseEntry(t, line)
					if d.Cmd == "insert" {
						if err := tr.Insert(t.Context(), nil, key, ptr); err != nil {
							return err.Error() + "\n"
						}
					} else if ok, err := tr.Delete(t.Context(), nil, key, ptr); err != nil || !ok {
						return fmt.Sprintln("not found", err)
					}
				}
				return ""
			case "crash": // stops the insert between a split and its downlink, as redo finds it
				key, ptr := parseEntry(t, d.Input)
				tr = crashInSplit(t, env, tr, key, ptr)
				return ""
			case "dump":
				return dump(t, tr)
			case "scan":
				var r Range
				var o Options
				for _, a := range d.CmdArgs {
					switch a.Key {
					case "from":
						r.Lower = parseKey(t, a.Vals[0])
					case "to":
						r.Upper = parseKey(t, a.Vals[0])
					case "reverse":
						o.Reverse = true
					}
				}
				var b strings.Builder
				for _, e := range entriesOf(t, tr, r, o) {
					fmt.Fprintf(&b, "%s %d\n", show(e.key), e.ptr)
				}
				return b.String()
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

// crashInSplit lets the insert run but returns the tree as the log had it right behind the first split.
func crashInSplit(t *testing.T, env *env, tr *Tree, key []byte, ptr uint64) *Tree {
	ctl := sched.Install(t)
	at := 0
	ctl.Call("btree.split.beforeParent", func() {
		if at == 0 {
			at = countRecords(t, env)
		}
	})
	if err := tr.Insert(t.Context(), nil, key, ptr); err != nil {
		t.Fatal(err)
	}
	if at == 0 {
		t.Fatal("nothing was split")
	}
	pool := replay(t, env, tr.Rel(), at, nil)
	return Open(pool, newEnv(t).log, tr.Rel())
}

func countRecords(t *testing.T, env *env) (n int) {
	if err := env.log.FlushTo(env.log.InsertedLSN()); err != nil {
		t.Fatal(err)
	}
	eachRecord(t, env, func() { n++ })
	return n
}

func parseEntry(t *testing.T, line string) ([]byte, uint64) {
	f := strings.Fields(line)
	if len(f) != 2 {
		t.Fatalf("bad line %q", line)
	}
	ptr, err := strconv.ParseUint(f[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return parseKey(t, f[0]), ptr
}

func parseKey(t *testing.T, s string) []byte {
	s, tail, _ := strings.Cut(s, "+")
	x, n, ok := strings.Cut(s, "*")
	if !ok {
		return []byte(s + tail)
	}
	k, err := strconv.Atoi(n)
	if err != nil {
		t.Fatal(err)
	}
	return append(bytes.Repeat([]byte(x), k), tail...)
}

// show is the inverse of parseKey for keys that repeat their first byte.
func show(k []byte) string {
	n := 0
	for n < len(k) && k[n] == k[0] {
		n++
	}
	switch {
	case n < 4:
		return string(k)
	case n == len(k):
		return fmt.Sprintf("%c*%d", k[0], n)
	}
	return fmt.Sprintf("%c*%d+%s", k[0], n, k[n:])
}

func showSep(s sepKey) string {
	if s.hasPtr {
		return fmt.Sprintf("%s %d", show(s.key), s.ptr)
	}
	return show(s.key)
}

// dump prints the tree level by level, from the root.
func dump(t *testing.T, tr *Tree) string {
	var b strings.Builder
	m, err := tr.readMeta(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := m.root
	for level := m.level; level >= 0; level-- {
		blk := first
		for blk != 0 {
			f, err := tr.latch(t.Context(), blk, level, false)
			if err != nil {
				t.Fatal(err)
			}
			n := node(f.Page())
			if level > 0 && blk == first {
				first = n.child(n.first())
			}
			fmt.Fprintf(&b, "level %d page %d", level, blk)
			if n.incomplete() {
				b.WriteString(" incomplete")
			}
			for i := n.first(); i < n.count(); i++ {
				b.WriteString("\n  ")
				if level == 0 {
					fmt.Fprintf(&b, "%s %d", show(itemKey(n.item(i))), itemPtr(n.item(i)))
				} else {
					fmt.Fprintf(&b, "[%s] → %d", showSep(n.sep(i)), n.child(i))
				}
			}
			if !n.rightmost() {
				fmt.Fprintf(&b, "\n  < %s", showSep(n.sep(0)))
			}
			b.WriteString("\n")
			blk = n.next()
			unlatch(f, false)
		}
	}
	mustVerify(t, tr)
	return b.String()
}
