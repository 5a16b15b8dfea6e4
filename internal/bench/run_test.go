package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"os/user"
	"strconv"

	"github.com/hedgerowdb/hedgerow/internal/engine"
	boltserver "github.com/hedgerowdb/hedgerow/internal/server/bolt"
	"github.com/hedgerowdb/hedgerow/internal/server/pgwire"
	"github.com/hedgerowdb/hedgerow/internal/session"
)

// serve starts a server of an empty database with both doors, which ends with the test.
func serve(t testing.TB) (pg, neo string) {
	t.Helper()
	ctx := context.Background()
	eng, err := engine.Open(ctx, engine.Options{CacheBytes: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	db := session.New(eng.Store(), session.Options{})
	p := pgwire.New(db, pgwire.Options{Auth: pgwire.Trust})
	b := boltserver.New(db, boltserver.Options{})
	listen := func(serve func(net.Listener) error) net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go serve(l)
		return l
	}
	pl, bl := listen(p.Serve), listen(b.Serve)
	t.Cleanup(func() {
		pl.Close()
		bl.Close()
		wait, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		p.Shutdown(wait)
		b.Shutdown(wait)
		db.Close()
		if err := eng.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return pl.Addr().String(), bl.Addr().String()
}

// open opens targets and loads the network into them.
func open(t testing.TB, n *Network, texts ...string) []Opened {
	t.Helper()
	var dsns []DSN
	for _, s := range texts {
		d, err := ParseDSN(s)
		if err != nil {
			t.Fatal(err)
		}
		dsns = append(dsns, d)
	}
	list, err := OpenAll(dsns)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { CloseAll(list) })
	for _, o := range list {
		files := map[string]bool{}
		if err := o.Load(t.Context(), n, func(file string, done, total int64) {
			if files[file] = true; done > total {
				t.Errorf("%s: %s is at %d of %d", o.Name, file, done, total)
			}
		}); err != nil {
			t.Fatalf("%s: %v", o.Name, err)
		}
		if len(files) != 22 {
			t.Errorf("%s: %d files were told of", o.Name, len(files))
		}
	}
	return list
}

// quick is a run of every scenario that is as short as can be.
func quick(t testing.TB, names ...string) RunOptions {
	t.Helper()
	list, err := Select(Scenarios(300), names)
	if err != nil {
		t.Fatal(err)
	}
	return RunOptions{Scenarios: list, Duration: 4 * time.Millisecond, Rounds: 2, Warmup: -1, Verify: 6, Connections: []int{1, 2}}
}

// census counts what a target holds, to see whether a run left anything.
func census(t testing.TB, o Opened) string {
	t.Helper()
	c, err := o.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var out []string
	for _, st := range []Statement{
		{Cypher: "MATCH (p:Person) RETURN count(p) AS n, sum(p.visits) AS v, count(p.nickname) AS k", SQL: "SELECT count(*), sum(visits), count(nickname) FROM person", Columns: []string{"n", "v", "k"}},
		{Cypher: "MATCH (:Person)-[k:KNOWS]->(:Person) RETURN count(k) AS n, sum(k.since) AS s", SQL: "SELECT count(*), sum(since) FROM knows", Columns: []string{"n", "s"}},
		{Cypher: "MATCH (p:Person)-[r:HAS_INTEREST]->(:Tag) RETURN count(r) AS n", SQL: "SELECT count(*) FROM has_interest", Columns: []string{"n"}},
		{Cypher: "MATCH (m:Post) RETURN count(m) AS n, count(m.note) AS k", SQL: "SELECT count(*), count(note) FROM post", Columns: []string{"n", "k"}},
	} {
		a, err := c.Do(t.Context(), &st, nil, true)
		if err != nil {
			t.Fatalf("%s: %v", o.Name, err)
		}
		out = append(out, show(a.Rows))
	}
	return strings.Join(out, "; ")
}

// whole checks a report in which everything must have been measured, and nothing left behind.
func whole(t *testing.T, list []Opened, opt RunOptions) *Report {
	t.Helper()
	before := make([]string, len(list))
	for i, o := range list {
		if before[i] = census(t, o); before[i] != before[0] {
			t.Fatalf("%s holds %s, %s holds %s", list[0].Name, before[0], o.Name, before[i])
		}
	}
	n, err := OpenNetwork(networkDir)
	if err != nil {
		t.Fatal(err)
	}
	last := Progress{}
	opt.Progress = func(p Progress) { last = p }
	rep, err := Run(t.Context(), n, list, opt)
	if err != nil {
		t.Fatal(err)
	}
	cells := 0
	for _, s := range opt.Scenarios {
		if cells += len(list) * 2; s.Bulk != nil {
			cells -= len(list)
		}
	}
	if len(rep.Cells) != cells || last.Done != last.Total || last.Total != 2*cells {
		t.Errorf("%d cells of %d, progress %+v", len(rep.Cells), cells, last)
	}
	for _, c := range rep.Cells {
		if c.Skipped != "" || c.Errors > 0 || c.Requests == 0 || c.P50 <= 0 || c.Ratio <= 0 {
			t.Errorf("%+v", c)
		}
	}
	for i, o := range list {
		if after := census(t, o); after != before[0] {
			t.Errorf("%s held %s and holds %s", o.Name, before[i], after)
		}
	}
	return rep
}

// networkDir is the network that the tests of this file share.
var networkDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "hedgerow-bench-")
	if err == nil {
		networkDir = filepath.Join(dir, "net")
		_, err = Generate(networkDir, 0.05, 3, nil)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func shared(t testing.TB) *Network {
	t.Helper()
	n, err := OpenNetwork(networkDir)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestEqualAnswers runs every scenario over all doors of this database: the answers are the same, nothing fails, and nothing is left behind (K2, K4).
func TestEqualAnswers(t *testing.T) {
	pg, _ := serve(t)
	literal, _ := serve(t)
	_, neo := serve(t)
	list := open(t, shared(t), "embedded:", "hedgerow://test@"+pg+"/main?sslmode=disable&pid="+strconv.Itoa(os.Getpid()), "hedgerow://test@"+literal+"/main?literals=true&sslmode=disable", "bolt://"+neo+"/main")
	rep := whole(t, list, quick(t, "all"))
	for _, c := range rep.Cells {
		if c.Target != "bolt" && c.Target != "hedgerow-literals" && c.Memory == 0 {
			t.Errorf("%s of %s tells no memory", c.Scenario, c.Target)
		}
	}
	for i, want := range []string{"embedded", "Hedgerow", "Hedgerow", "Bolt"} {
		if !strings.Contains(rep.Targets[i].Version, want) {
			t.Errorf("%s says it is %q", list[i].Name, rep.Targets[i].Version)
		}
	}
}

// TestPostgreSQL compares this database with hand-written SQL on PostgreSQL, where that is installed.
func TestPostgreSQL(t *testing.T) {
	url := postgresServer(t)
	list := open(t, shared(t), "embedded:", url)
	if err := list[1].Load(t.Context(), shared(t), nil); err == nil || !strings.Contains(err.Error(), "without tables of such names") {
		t.Errorf("tables that are there are loaded over: %v", err)
	}
	rep := whole(t, list, quick(t, "all"))
	if !strings.HasPrefix(rep.Targets[1].Version, "PostgreSQL") {
		t.Errorf("PostgreSQL says it is %q", rep.Targets[1].Version)
	}
}

// TestAGE compares this database with Apache AGE, where PostgreSQL has it. AGE's own gaps are known: they are left out, and nothing else is.
func TestAGE(t *testing.T) {
	url := strings.Replace(postgresServer(t), "postgres://", "age://", 1)
	d, err := ParseDSN(url)
	if err != nil {
		t.Fatal(err)
	}
	age, err := Open(d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := age.Connect(t.Context()); err != nil && strings.Contains(err.Error(), "CREATE EXTENSION") {
		t.Skipf("PostgreSQL has no Apache AGE here: %v", err)
	}
	list := open(t, shared(t), "embedded:", url)
	before := census(t, list[1])
	opt := quick(t, "all")
	opt.KeepGoing, opt.Timeout, opt.Connections = true, 2*time.Second, nil
	rep, err := Run(t.Context(), shared(t), list, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range rep.Differences {
		if d.Scenario != "s05_person_range" {
			t.Error(d.Error())
		}
	}
	gaps := map[string]bool{"s05_person_range": true, "h02f_shortest_path": true, "h08_count_all": true, "b07_merge_set": true, "b07_merge_set_100": true}
	for _, c := range rep.Cells {
		if c.Target == "age" && (c.Skipped != "" || c.Errors > 0) && !gaps[c.Scenario] {
			t.Errorf("%s: %s, %v", c.Scenario, c.Skipped, c.ErrorTexts)
		}
	}
	if after := census(t, list[1]); after != before {
		t.Errorf("AGE held %s and holds %s", before, after)
	}
}

// postgresServer starts a PostgreSQL of its own, or skips the test.
func postgresServer(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		t.Skip("PostgreSQL is not installed (apt-get install postgresql)")
	}
	bin := filepath.Dir(found[len(found)-1])
	dir, err := os.MkdirTemp("", "hedgerow-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	attr := &syscall.SysProcAttr{}
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Skip("PostgreSQL does not run as root, and there is no user postgres")
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-A", "trust", "-U", "test", "--no-sync")
	initdb.SysProcAttr, initdb.Dir = attr, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Skipf("PostgreSQL's initdb fails here: %v\n%s", err, out)
	}
	server := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=20")
	server.SysProcAttr, server.Dir = attr, dir
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Signal(syscall.SIGINT) // a fast stop
		server.Wait()
	})
	text := "postgres://test@/postgres?host=" + dir + "&pid=" + strconv.Itoa(server.Process.Pid)
	d, err := ParseDSN(text)
	if err != nil {
		t.Fatal(err)
	}
	o, err := Open(d)
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		var c Conn
		if c, err = o.Connect(t.Context()); err == nil {
			c.Close()
			return text
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("PostgreSQL does not start: %v", err)
	return ""
}

// TestDifference: another answer ends the run before anything of its scenario is timed, and says what was asked and what both answered.
func TestDifference(t *testing.T) {
	list := open(t, shared(t), "a=embedded:", "b=embedded:")
	c, err := list[1].Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(t.Context(), &Statement{Cypher: "MATCH (p:Person) SET p.firstName = 'Nobody'"}, nil, false); err != nil {
		t.Fatal(err)
	}
	c.Close()
	opt := quick(t, "s04*", "h03_hop2_count")
	rep, err := Run(t.Context(), shared(t), list, opt)
	var d *Difference
	if !errors.As(err, &d) || len(rep.Cells) != 0 {
		t.Fatalf("%v, %d cells", err, len(rep.Cells))
	}
	for _, want := range []string{"s04_person_by_id", "$id = ", "a: 1 rows (", "b: 1 rows (\"Nobody\"", "MATCH (p:Person {id: $id})"} {
		if !strings.Contains(d.Error(), want) {
			t.Errorf("the difference does not tell %q:\n%v", want, d)
		}
	}
	opt.KeepGoing = true
	rep, err = Run(t.Context(), shared(t), list, opt)
	if err != nil || len(rep.Differences) != 1 || len(rep.Cells) != 8 {
		t.Fatalf("%v, %+v", err, rep)
	}
	for _, c := range rep.Cells {
		if skipped := c.Scenario == "s04_person_by_id" && c.Target == "b"; (c.Skipped != "") != skipped {
			t.Errorf("%+v", c)
		}
	}
	opt.KeepGoing, opt.Verify = false, -1
	if rep, err = Run(t.Context(), shared(t), list, opt); err != nil || len(rep.Differences) != 0 {
		t.Errorf("without verification: %v", err)
	}
}

// fake is a target that fails every third request, and waits when it is told to.
type fake struct {
	n     atomic.Int64
	every int64
	ask   func(n int64)
}

func (f *fake) Connect(context.Context) (Conn, error)              { return f, nil }
func (f *fake) Load(context.Context, *Network, LoadProgress) error { return nil }
func (f *fake) Version(context.Context) string                     { return "fake" }
func (f *fake) text(st *Statement) string                          { return cypherText(st) }
func (f *fake) Begin(context.Context) error                        { return nil }
func (f *fake) Rollback(context.Context) error                     { return nil }
func (f *fake) Do(ctx context.Context, st *Statement, p Params, keep bool) (Answer, error) {
	n := f.n.Add(1)
	if f.ask != nil {
		f.ask(n)
	}
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	if f.every > 0 && n%f.every == 0 {
		return Answer{}, fmt.Errorf("request %d failed", 1000+n)
	}
	return Answer{}, nil
}

type fakeTarget struct{ *fake }

func (f fakeTarget) Close() error { return nil }
func (f *fake) Close()            {}

// TestErrorsAreCounted: errors end neither the turn nor the run, and are shown with the numbers that differ taken out (K6).
func TestErrorsAreCounted(t *testing.T) {
	f := &fake{every: 3}
	opt := quick(t, "s04*")
	opt.Verify = -1
	rep, err := Run(t.Context(), shared(t), []Opened{{DSN{Name: "fake"}, fakeTarget{f}}}, opt)
	if err != nil {
		t.Fatal(err)
	}
	c := rep.Cells[0]
	if c.Errors == 0 || c.Requests < c.Errors || len(c.ErrorTexts) != 1 || c.ErrorTexts["request … failed"] != c.Errors {
		t.Errorf("%+v", c)
	}
	if text := string(rep.Markdown()); !strings.Contains(text, "request … failed") || !strings.Contains(text, fmt.Sprint(c.Errors, " errors")) {
		t.Errorf("the report does not show the errors:\n%s", text)
	}
	f = &fake{every: 1}
	if rep, err = Run(t.Context(), shared(t), []Opened{{DSN{Name: "fake"}, fakeTarget{f}}}, opt); err != nil || rep.Cells[0].Requests != 0 || rep.Cells[0].Errors == 0 {
		t.Errorf("a target that answers nothing: %v %+v", err, rep.Cells[0])
	}
}

// TestInterrupt: a cancelled run returns what was measured before, and takes back what it has written (K4, K6).
func TestInterrupt(t *testing.T) {
	list := open(t, shared(t), "embedded:")
	before := census(t, list[0])
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opt := quick(t, "s04*", "w01*", "s01*")
	opt.Duration, opt.Rounds, opt.Connections = 40*time.Millisecond, 4, nil
	opt.Progress = func(p Progress) {
		if p.Scenario == "w01_insert_edge" {
			cancel()
		}
	}
	rep, err := Run(ctx, shared(t), list, opt)
	if err != nil || !rep.Interrupted {
		t.Fatalf("%v, interrupted %v", err, rep.Interrupted)
	}
	if len(rep.Cells) != 3 || rep.Cells[0].Requests == 0 || rep.Cells[2].Scenario != "w01_insert_edge" || len(rep.Cells[2].Rates) != 1 {
		t.Errorf("%d cells: %+v", len(rep.Cells), rep.Cells)
	}
	for _, form := range []func() ([]byte, error){rep.HTML, func() ([]byte, error) { return rep.Markdown(), nil }} {
		if text, err := form(); err != nil || !strings.Contains(string(text), "interrupted") {
			t.Errorf("a report does not say that it was interrupted: %v", err)
		}
	}
	if after := census(t, list[0]); after != before {
		t.Errorf("held %s, holds %s", before, after)
	}
}

// TestTimeLimit: a request that hangs is an error of its target.
func TestTimeLimit(t *testing.T) {
	f := &fake{}
	f.ask = func(n int64) {
		if n == 3 {
			time.Sleep(30 * time.Millisecond)
		}
	}
	opt := quick(t, "s04*")
	opt.Verify, opt.Timeout, opt.Rounds, opt.Connections = -1, time.Millisecond, 1, nil
	rep, err := Run(t.Context(), shared(t), []Opened{{DSN{Name: "fake"}, fakeTarget{f}}}, opt)
	if err != nil || rep.Cells[0].Errors != 1 || rep.Cells[0].Requests != 2 {
		t.Errorf("%v, %+v", err, rep.Cells[0])
	}
}
