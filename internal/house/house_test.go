package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/hedgerowdb/hedgerow"

// layers lists the rooms from the ground up. A package may import packages of lower layers, and packages of its own layer
// that stand before it in the same line.
var layers = [][]string{
	{"internal/dberr", "internal/invariant", "internal/sched", "internal/csv", "internal/testkit"},
	{"internal/value", "internal/schema", "internal/vec", "internal/stats", "internal/temporal", "internal/sqltype"},
	{"internal/vfs"},
	{"internal/page"},
	{"internal/buffer", "internal/wal"},
	{"internal/recovery"},
	{"internal/txn"},
	{"internal/access/heap", "internal/access/btree", "internal/access/adjacency", "internal/access"},
	{"internal/catalog"},
	{"internal/check"},
	{"internal/query/spill"}, // sorts bytes, for index builds too
	{"internal/store", "internal/store/memstore", "internal/store/local"},
	{"internal/lang/cypher", "internal/lang/sql"},
	{"internal/graph/path"},
	{"internal/query/expr", "internal/query/bind", "internal/query/plan", "internal/query/exec", "internal/query/plancache", "internal/query/sqlbind", "internal/query/qtest", "internal/query"},
	{"internal/engine"},
	{"internal/session"},
	{"internal/server/pgwire", "internal/server/bolt/packstream", "internal/server/bolt", "internal/server/web", "internal/server"},
	{"."},
	{"sqldriver", "internal/load", "internal/social", "internal/bench", "internal/shell"},
	{"cmd/hedgerow"},
}

// banned adds to the order of layers; each ban has its reason.
var banned = []struct{ from, to, why string }{
	{"internal/query", "internal/access", "the executor asks store, so that a graph may live elsewhere"},
	{"internal/query", "internal/txn", "snapshots are opaque above store"},
	{"internal/query", "internal/store/local", "query knows the interfaces of store, not one implementation"},
	{"internal/server", "internal/store", "doors speak only to session"},
	{"internal/server", "internal/query", "doors speak only to session"},
	{"internal/server", "internal/engine", "doors speak only to session"},
	{"internal/lang", "internal/store", "a language is syntax: text in, tree out"},
	{"internal/lang", "internal/query", "a language is syntax: text in, tree out"},
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

type pkg struct {
	dir     string
	doc     bool
	imports map[string]bool // within the module, without test files
}

func packages(t *testing.T) map[string]*pkg {
	t.Helper()
	top, out := root(t), map[string]*pkg{}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != top && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		if ignored(file) {
			return nil
		}
		rel, _ := filepath.Rel(top, filepath.Dir(path))
		p := out[rel]
		if p == nil {
			p = &pkg{dir: rel, imports: map[string]bool{}}
			out[rel] = p
		}
		p.doc = p.doc || file.Doc != nil
		for _, im := range file.Imports {
			name, _ := strconv.Unquote(im.Path.Value)
			if name == module {
				p.imports["."] = true
			} else if strings.HasPrefix(name, module+"/") {
				p.imports[strings.TrimPrefix(name, module+"/")] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func ignored(f *ast.File) bool {
	for _, g := range f.Comments {
		for _, c := range g.List {
			if c.Pos() < f.Package && strings.HasPrefix(c.Text, "//go:build ignore") {
				return true
			}
		}
	}
	return false
}

func place(name string) (layer, seat int, ok bool) {
	for i, l := range layers {
		for j, n := range l {
			if n == name {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}

func TestImportsRunOneWay(t *testing.T) {
	for _, p := range packages(t) {
		if strings.HasPrefix(p.dir, "internal/house") || strings.HasPrefix(p.dir, "internal/testkit") || strings.HasPrefix(p.dir, "examples") {
			continue
		}
		layer, seat, ok := place(p.dir)
		if !ok {
			t.Errorf("%s has no place in the house: add it to layers, and to ARCHITECTURE.md", p.dir)
			continue
		}
		for to := range p.imports {
			l, s, ok := place(to)
			switch {
			case !ok:
				t.Errorf("%s imports %s, which has no place in the house", p.dir, to)
			case l > layer || l == layer && s >= seat:
				t.Errorf("%s imports %s, which does not lie below it", p.dir, to)
			}
			for _, b := range banned {
				if under(p.dir, b.from) && under(to, b.to) && !(b.to == "internal/store" && to != "internal/store" && b.from == "internal/query") {
					t.Errorf("%s imports %s: %s", p.dir, to, b.why)
				}
			}
		}
	}
}

func under(dir, top string) bool { return dir == top || strings.HasPrefix(dir, top+"/") }

func TestEveryPackageSaysWhatItPromises(t *testing.T) {
	for _, p := range packages(t) {
		if !p.doc {
			t.Errorf("%s has no package doc", p.dir)
		}
	}
}

var named = regexp.MustCompile("`((?:internal|cmd|docs|web|examples|sqldriver)/[A-Za-z0-9_./-]+)`")

func TestPathsInDocumentsExist(t *testing.T) {
	top := root(t)
	docs := []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"}
	more, _ := filepath.Glob(filepath.Join(top, "docs", "*.md"))
	for _, m := range more {
		rel, _ := filepath.Rel(top, m)
		docs = append(docs, rel)
	}
	sort.Strings(docs)
	for _, doc := range docs {
		text, err := os.ReadFile(filepath.Join(top, doc))
		if err != nil {
			t.Errorf("%s: %v", doc, err)
			continue
		}
		for _, m := range named.FindAllSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(top, string(m[1]))); err != nil {
				t.Errorf("%s names %s, which does not exist", doc, m[1])
			}
		}
	}
}

var setting = regexp.MustCompile(`HEDGEROW_[A-Z_]+`)

// TestMakefileAsksForWhatTestsRead: a long run that names a variable no test reads would be a short run in disguise.
func TestMakefileAsksForWhatTestsRead(t *testing.T) {
	top := root(t)
	text, err := os.ReadFile(filepath.Join(top, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]bool{}
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/house/") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, name := range setting.FindAllString(string(b), -1) {
			read[name] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range setting.FindAllString(string(text), -1) {
		if !read[name] {
			t.Errorf("the Makefile sets %s, which no test reads", name)
		}
	}
}
