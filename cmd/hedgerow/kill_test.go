//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// killRounds is how often the server is killed: HEDGEROW_KILL_ROUNDS, or the short form.
func killRounds(short int) int {
	if n, err := strconv.Atoi(os.Getenv("HEDGEROW_KILL_ROUNDS")); err == nil && n > 0 {
		return n
	}
	return short
}

// TestKill kills the real server under eight writing connections, again and again, and asks what is left. Each connection writes into
// a part of the graph of its own, beside keys that all share. Its transactions commit one after the other, so after a restart its part
// must be what some prefix of them leaves: one that has every transaction acknowledged under synchronous commit, also every asynchronous
// one acknowledged before anybody's synchronous commit was sent, and no transaction in part. What the prefixes did to the shared keys
// must add up to what those hold.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a server and kills it again and again: not with -short")
	}
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("HEDGEROW_KILL_SEED"), 10, 64); err == nil {
		seed = s
	}
	k := &killer{t: t, rng: rand.New(rand.NewPCG(seed, 1)), data: filepath.Join(t.TempDir(), "db"), shared: map[string]int{}}
	k.bin = filepath.Join(t.TempDir(), "hedgerow")
	if out, err := exec.Command("go", "build", "-o", k.bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if k.server != nil {
			k.kill()
		}
	})
	k.serve()
	k.setup()
	for i := range killWriters {
		k.writers = append(k.writers, &killWriter{k: k, i: i, rng: rand.New(rand.NewPCG(seed, uint64(i)+10)), base: killState{}})
	}
	rounds := killRounds(5)
	for round := range rounds {
		k.write(round)
		for k.rng.IntN(3) == 0 { // again, while it recovers
			k.cutShort()
		}
		if round%2 == 0 {
			k.check()
			k.serve()
			k.verify(round)
		} else {
			k.serve()
			k.verify(round)
			k.stop()
			k.check()
			k.serve()
		}
		if t.Failed() {
			t.Fatalf("seed %d, round %d", seed, round)
		}
	}
	k.stop()
	k.check()
	t.Logf("seed %d: %d rounds, %d starts cut short; %d transactions acknowledged, %d of them asynchronously; %d asynchronous ones lost, %d unacknowledged ones kept; %d given up to deadlocks",
		seed, rounds, k.cut, k.acked.Load(), k.async.Load(), k.lost, k.kept, k.deadlocks.Load())
}

const (
	killWriters = 8
	killShared  = 5 // keys that all writers merge
)

type killer struct {
	t         *testing.T
	rng       *rand.Rand
	bin, data string
	server    *exec.Cmd
	errs      *bytes.Buffer
	url       string
	writers   []*killWriter
	shared    map[string]int // what the shared counters held after the last restart

	acked, async, deadlocks atomic.Int64
	lost, kept, cut         int
}

func (k *killer) start() (ready func() bool) {
	k.t.Helper()
	k.errs = &bytes.Buffer{}
	cmd := exec.Command(k.bin, "serve", "--data", k.data, "--pg", "127.0.0.1:0", "--bolt", "", "--http", "", "--cache-mb", "2", "--log", "warn",
		"--checkpoint-interval", "150ms")
	cmd.Stderr = k.errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.server = cmd
	return func() bool {
		line, err := bufio.NewReader(out).ReadString('\n')
		_, addr, ok := strings.Cut(line, "pg=")
		if err != nil || !ok {
			return false
		}
		addr, _, _ = strings.Cut(addr, " ")
		k.url = "postgres://test@" + addr + "/main?sslmode=disable"
		return true
	}
}

func (k *killer) serve() {
	k.t.Helper()
	if ready := k.start(); !ready() {
		k.server.Wait()
		errs := k.errs.String()
		k.server = nil
		k.t.Fatalf("the server did not start:\n%s", errs)
	}
}

func (k *killer) kill() {
	k.server.Process.Kill()
	k.server.Wait()
	k.server = nil
}

// cutShort starts the server and kills it a moment later.
func (k *killer) cutShort() {
	k.start()
	time.Sleep(time.Duration(5+k.rng.IntN(60)) * time.Millisecond)
	k.kill()
	k.cut++
}

// stop ends the server in good order.
func (k *killer) stop() {
	k.t.Helper()
	k.server.Process.Signal(syscall.SIGTERM)
	if err := k.server.Wait(); err != nil {
		k.t.Errorf("stopped: %v\n%s", err, k.errs)
	}
	k.server = nil
}

func (k *killer) check() {
	k.t.Helper()
	if out, err := exec.Command(k.bin, "check", "--data", k.data).CombinedOutput(); err != nil {
		k.t.Errorf("check: %v\n%s", err, out)
	}
}

func (k *killer) connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.Connect(ctx, k.url)
	if err == nil {
		_, err = conn.Exec(ctx, "SET hedgerow.language = cypher")
	}
	return conn, err
}

func (k *killer) setup() {
	k.t.Helper()
	ctx := context.Background()
	conn, err := k.connect(ctx)
	if err != nil {
		k.t.Fatal(err)
	}
	defer conn.Close(ctx)
	texts := []string{"CREATE CONSTRAINT shared FOR (s:Shared) REQUIRE s.k IS UNIQUE", "CREATE CONSTRAINT writer FOR (w:Writer) REQUIRE w.w IS UNIQUE"}
	for i := range killWriters {
		texts = append(texts, fmt.Sprintf("CREATE CONSTRAINT own%d FOR (n:W%d) REQUIRE n.i IS UNIQUE", i, i), fmt.Sprintf("CREATE (:Writer {w: %d, n: 0})", i))
	}
	for _, text := range texts {
		if _, err := conn.Exec(ctx, text); err != nil {
			k.t.Fatalf("%s: %v", text, err)
		}
	}
}

// write lets all writers run for a moment and kills the server.
func (k *killer) write(round int) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for _, w := range k.writers {
		conn, err := k.connect(ctx)
		if err != nil {
			k.t.Fatalf("connect: %v\n%s", err, k.errs)
		}
		w.begin(conn)
	}
	for _, w := range k.writers {
		wg.Go(func() { w.run(ctx) })
	}
	time.Sleep(time.Duration(150+k.rng.IntN(700)) * time.Millisecond)
	if round%5 == 4 { // in the middle of an orderly end
		k.server.Process.Signal(syscall.SIGTERM)
		time.Sleep(time.Duration(k.rng.IntN(30)) * time.Millisecond)
	}
	k.kill()
	wg.Wait()
	for _, w := range k.writers {
		w.conn.Close(ctx)
	}
}

// killState is a part of the graph: "n 3" is node 3 and holds its value, "e 7" relationship 7 and its ends, "w" the writer's counter,
// "index" whether its index exists.
type killState map[string]string

// killChange is what one statement does to its writer's part and to a shared counter.
type killChange struct {
	set    map[string]string // "" removes
	gone   string            // a node removed with its relationships
	shared string
}

func (s killState) apply(c killChange) {
	if c.gone != "" {
		delete(s, "n "+c.gone)
		for key, ends := range s {
			if key[0] == 'e' && slices.Contains(strings.Fields(ends), c.gone) {
				delete(s, key)
			}
		}
	}
	for key, v := range c.set {
		if v == "" {
			delete(s, key)
		} else {
			s[key] = v
		}
	}
}

func (s killState) text() string {
	keys := slices.Sorted(maps.Keys(s))
	for i, k := range keys {
		keys[i] = k + " = " + s[k]
	}
	return strings.Join(keys, "\n")
}

func (s killState) list(kind string) (names []string) {
	for key := range s {
		if name, ok := strings.CutPrefix(key, kind+" "); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

type killWriter struct {
	k    *killer
	i    int
	rng  *rand.Rand
	conn *pgx.Conn
	next int // numbers nodes, relationships and values

	base  killState          // after the last restart
	state killState          // after all of txs
	txs   [][]killChange     // since then, in order; the last one may be unacknowledged
	acked atomic.Int64       // how many of txs were acknowledged
	safe  [killWriters]int64 // how many of each writer's must survive, as this one knows
	async bool
}

func (w *killWriter) begin(conn *pgx.Conn) {
	w.conn, w.async = conn, false
	w.state, w.txs, w.safe = maps.Clone(w.base), nil, [killWriters]int64{}
	w.acked.Store(0)
}

// killStatement is a statement with its effect.
type killStatement struct {
	text   string
	args   []string
	change killChange
}

// statement makes up a statement that is right in the state s.
func (w *killWriter) statement(s killState) killStatement {
	r := w.rng
	w.next++
	id, label := strconv.Itoa(w.next), "W"+strconv.Itoa(w.i)
	nodes := s.list("n")
	pick := func() string { return nodes[r.IntN(len(nodes))] }
	shared := "s" + strconv.Itoa(r.IntN(killShared))
	kind := r.IntN(20)
	if len(nodes) < 4 {
		kind = 0
	} else if len(nodes) > 150 {
		kind = 13
	}
	pad := func() string {
		switch r.IntN(12) {
		case 0:
			return ", pad: '" + strings.Repeat("out of line ", 300+r.IntN(500)) + "'"
		case 1, 2, 3:
			return ", pad: '" + strings.Repeat("x", r.IntN(900)) + "'"
		}
		return ""
	}
	one := func(key, v string) killChange { return killChange{set: map[string]string{key: v}} }
	switch {
	case kind < 4:
		return killStatement{text: "CREATE (:" + label + " {i: " + id + ", v: 1" + pad() + "})", change: one("n "+id, "1")}
	case kind == 4:
		return killStatement{text: fmt.Sprintf("CREATE (:%s:Both {i: %s, v: 2%s})-[:R {e: %s}]->(:%s {i: -%s, v: 3})", label, id, pad(), id, label, id),
			change: killChange{set: map[string]string{"n " + id: "2", "n -" + id: "3", "e " + id: id + " -" + id}}}
	case kind < 8:
		a, b := pick(), pick()
		return killStatement{text: fmt.Sprintf("MATCH (a:%s {i: $1}), (b:%s {i: $2}) CREATE (a)-[:R {e: %s}]->(b)", label, label, id), args: []string{a, b},
			change: one("e "+id, a+" "+b)}
	case kind == 8:
		a := pick()
		return killStatement{text: fmt.Sprintf("MATCH (a:%s {i: %s}) MERGE (s:Shared {k: '%s'}) ON CREATE SET s.c = 1 ON MATCH SET s.c = s.c + 1 CREATE (a)-[:S {e: %s}]->(s)", label, a, shared, id),
			change: killChange{set: map[string]string{"e " + id: a + " " + shared}, shared: "Shared " + shared}}
	case kind < 12:
		a := pick()
		return killStatement{text: fmt.Sprintf("MATCH (a:%s {i: $1}) SET a.v = %s", label, id), args: []string{a}, change: one("n "+a, id)}
	case kind == 12:
		a := pick()
		return killStatement{text: fmt.Sprintf("MATCH (a:%s {i: %s}) SET a += {v: %s%s}, a:Both", label, a, id, pad()), change: one("n "+a, id)}
	case kind < 16:
		a := pick()
		return killStatement{text: fmt.Sprintf("MATCH (a:%s {i: $1}) DETACH DELETE a", label), args: []string{a}, change: killChange{gone: a}}
	case kind == 16 && r.IntN(5) == 0:
		c, text := one("index", "yes"), fmt.Sprintf("CREATE INDEX byv%d FOR (n:%s) ON (n.v)", w.i, label)
		if s["index"] != "" {
			c, text = one("index", ""), fmt.Sprintf("DROP INDEX byv%d", w.i)
		}
		return killStatement{text: text, change: c}
	case kind < 19: // with a constraint, or without one
		on := []string{"Shared", "Loose"}[r.IntN(2)]
		return killStatement{text: fmt.Sprintf("MATCH (w:Writer {w: %d}) SET w.n = %s MERGE (s:%s {k: '%s'}) ON CREATE SET s.c = 1 ON MATCH SET s.c = s.c + 1", w.i, id, on, shared),
			change: killChange{set: map[string]string{"w": id}, shared: on + " " + shared}}
	default:
		a, b := pick(), pick()
		return killStatement{text: fmt.Sprintf("MATCH (a:%s {i: %s}), (b:%s {i: %s}) MERGE (a)-[r:M]->(b) ON CREATE SET r.e = %s ON MATCH SET r.x = %s SET a.v = %s", label, a, label, b, id, id, id),
			change: w.mergeRel(s, a, b, id)}
	}
}

// mergeRel is MERGE of a relationship: "m a b" holds the number that made it.
func (w *killWriter) mergeRel(s killState, a, b, id string) killChange {
	c := killChange{set: map[string]string{"n " + a: id}}
	for _, ends := range s.list("e") {
		if strings.HasPrefix(ends, "m") && s["e "+ends] == a+" "+b {
			return c
		}
	}
	c.set["e m"+id] = a + " " + b
	return c
}

func (w *killWriter) run(ctx context.Context) {
	for w.transaction(ctx) {
	}
}

// ends reports whether the connection is gone, or its server about to end; any other error that is not a lost race is the server's fault.
func (w *killWriter) ends(what string, err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || strings.HasPrefix(pg.Code, "57") || w.conn.IsClosed() {
		return true
	}
	if pg.Code == "40P01" || pg.Code == "40001" {
		w.k.deadlocks.Add(1)
		return false
	}
	w.k.t.Errorf("writer %d: %s: %v %s", w.i, what, err, pg.Hint)
	return true
}

func (w *killWriter) exec(ctx context.Context, s killStatement) error {
	if s.args == nil {
		_, err := w.conn.Exec(ctx, s.text)
		return err
	}
	args := make([][]byte, len(s.args))
	for i, a := range s.args {
		args[i] = []byte(a)
	}
	return w.conn.PgConn().ExecParams(ctx, s.text, args, nil, nil, nil).Read().Err
}

// transaction runs one; false means that the connection is gone.
func (w *killWriter) transaction(ctx context.Context) bool {
	r := w.rng
	if r.IntN(6) == 0 {
		w.async = !w.async
		if _, err := w.conn.Exec(ctx, "SET synchronous_commit = "+map[bool]string{true: "off", false: "on"}[w.async]); err != nil {
			return !w.ends("SET", err)
		}
	}
	state, tx := maps.Clone(w.state), []killChange(nil)
	add := func(s killStatement) {
		state.apply(s.change)
		tx = append(tx, s.change)
	}
	var before [killWriters]int64
	sent := func() { // the commit is on its way from here on
		for i, o := range w.k.writers {
			before[i] = o.acked.Load()
		}
		w.txs = append(w.txs, tx)
	}
	done := func(what string, err error) bool {
		if err != nil {
			if w.ends(what, err) {
				return false
			}
			w.txs = w.txs[:len(w.txs)-1]
			return true
		}
		w.state = state
		if !w.async {
			before[w.i] = int64(len(w.txs))
			for i, n := range before {
				w.safe[i] = max(w.safe[i], n)
			}
		} else {
			w.k.async.Add(1)
		}
		w.k.acked.Add(1)
		w.acked.Store(int64(len(w.txs)))
		return true
	}
	switch r.IntN(5) {
	case 0, 1, 2: // one statement
		s := w.statement(state)
		add(s)
		sent()
		return done(s.text, w.exec(ctx, s))
	case 3: // several in one message
		var texts []string
		for range 2 + r.IntN(3) {
			s := w.statement(state)
			for strings.Contains(s.text, " INDEX ") {
				s = w.statement(state)
			}
			for i, a := range s.args {
				s.text = strings.ReplaceAll(s.text, "$"+strconv.Itoa(i+1), a)
			}
			add(s)
			texts = append(texts, s.text)
		}
		sent()
		_, err := w.conn.Exec(ctx, strings.Join(texts, "; "))
		return done(strings.Join(texts, "; "), err)
	}
	undo := func(what string, err error) bool {
		if w.ends(what, err) {
			return false
		}
		_, err = w.conn.Exec(ctx, "ROLLBACK")
		return err == nil || !w.ends("ROLLBACK", err)
	}
	if _, err := w.conn.Exec(ctx, "BEGIN"); err != nil {
		return !w.ends("BEGIN", err)
	}
	for range 1 + r.IntN(5) {
		if r.IntN(6) == 0 { // what a savepoint takes back
			kept := maps.Clone(state)
			if _, err := w.conn.Exec(ctx, "SAVEPOINT s"); err != nil {
				return undo("SAVEPOINT", err)
			}
			s := w.statement(state)
			if err := w.exec(ctx, s); err != nil {
				return undo(s.text, err)
			}
			if _, err := w.conn.Exec(ctx, "ROLLBACK TO SAVEPOINT s"); err != nil {
				return undo("ROLLBACK TO", err)
			}
			state = kept
		}
		s := w.statement(state)
		if err := w.exec(ctx, s); err != nil {
			return undo(s.text, err)
		}
		add(s)
	}
	if r.IntN(8) == 0 {
		_, err := w.conn.Exec(ctx, "ROLLBACK")
		return err == nil || !w.ends("ROLLBACK", err)
	}
	sent()
	_, err := w.conn.Exec(ctx, "COMMIT")
	return done("COMMIT", err)
}

// verify holds what is there against what the writers did.
func (k *killer) verify(round int) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := k.connect(ctx)
	if err != nil {
		k.t.Fatal(err)
	}
	defer conn.Close(ctx)
	var asked string
	ask := func(text string) (rows [][]string) {
		k.t.Helper()
		asked = text
		res, err := conn.PgConn().Exec(ctx, text).ReadAll()
		if err != nil {
			k.t.Fatalf("%s: %v", text, err)
		}
		for _, r := range res[0].Rows {
			row := make([]string, len(r))
			for i, c := range r {
				row[i] = strings.Trim(string(c), `"`)
			}
			rows = append(rows, row)
		}
		return rows
	}
	var safe [killWriters]int64
	for _, w := range k.writers {
		for i, n := range w.safe {
			safe[i] = max(safe[i], n)
		}
	}
	indexes := map[string]bool{}
	for _, row := range ask("SHOW INDEXES") {
		for _, c := range row {
			indexes[c] = true
		}
	}
	shared := maps.Clone(k.shared)
	for _, w := range k.writers {
		got := killState{}
		put := func(key, v string) {
			if old, ok := got[key]; ok {
				k.t.Errorf("writer %d: %s is there twice: %s and %s (%s)", w.i, key, old, v, asked)
			}
			got[key] = v
		}
		for _, r := range ask(fmt.Sprintf("MATCH (n:W%d) RETURN n.i, n.v", w.i)) {
			put("n "+r[0], r[1])
		}
		for _, r := range ask(fmt.Sprintf("MATCH (a:W%d)-[r]->(b) RETURN type(r), r.e, a.i, coalesce(b.i, b.k)", w.i)) {
			put("e "+map[string]string{"M": "m"}[r[0]]+r[1], r[2]+" "+r[3])
		}
		if r := ask(fmt.Sprintf("MATCH (w:Writer {w: %d}) RETURN w.n", w.i)); len(r) == 1 && r[0][0] != "0" {
			put("w", r[0][0])
		}
		if indexes[fmt.Sprintf("byv%d", w.i)] {
			put("index", "yes")
			if n := ask(fmt.Sprintf("MATCH (n:W%d) WHERE n.v > 0 RETURN count(*)", w.i)); n[0][0] != strconv.Itoa(len(got.list("n"))) {
				k.t.Errorf("writer %d: %s nodes by the index, %d by the label", w.i, n[0][0], len(got.list("n")))
			}
		}
		text, state, found := got.text(), maps.Clone(w.base), -1
		var wants []string
		for n := 0; n <= len(w.txs); n++ {
			if n > 0 {
				for _, c := range w.txs[n-1] {
					state.apply(c)
				}
			}
			if int64(n) < safe[w.i] {
				continue
			}
			want := state.text()
			if want == text {
				found = n
			}
			wants = append(wants, want)
		}
		if found < 0 {
			k.t.Errorf("round %d, writer %d: of %d transactions %d were acknowledged and %d are promised; what is there is none of these states:\n%s", round, w.i, len(w.txs), w.acked.Load(), safe[w.i],
				killDiff(wants, text))
			continue
		}
		k.lost += max(0, int(w.acked.Load())-found)
		k.kept += max(0, found-int(w.acked.Load()))
		for _, tx := range w.txs[:found] {
			for _, c := range tx {
				if c.shared != "" {
					shared[c.shared]++
				}
			}
		}
		w.base = got
	}
	if k.t.Failed() {
		return
	}
	counted := map[string]int{}
	for _, label := range []string{"Shared", "Loose"} {
		for _, r := range ask("MATCH (s:" + label + ") RETURN s.k, s.c") {
			key := label + " " + r[0]
			if _, twice := counted[key]; twice {
				k.t.Errorf("%s was made twice", key)
			}
			counted[key], _ = strconv.Atoi(r[1])
		}
	}
	if !maps.Equal(shared, counted) {
		k.t.Errorf("round %d: shared counters should be\n%v and are\n%v", round, shared, counted)
	}
	k.shared = counted
}

// killDiff tells how what is there differs from the nearest states.
func killDiff(wants []string, got string) string {
	var b strings.Builder
	for i, want := range []string{wants[0], wants[len(wants)-1]} {
		w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
		fmt.Fprintf(&b, "against the %s:\n", []string{"promised one", "last one"}[i])
		for _, l := range w {
			if !slices.Contains(g, l) {
				fmt.Fprintf(&b, "- %s\n", l)
			}
		}
		for _, l := range g {
			if !slices.Contains(w, l) {
				fmt.Fprintf(&b, "+ %s\n", l)
			}
		}
	}
	return b.String()
}
