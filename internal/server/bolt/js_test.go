package bolt

import (
	"context"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"
	"time"
)

// jsScript drives the server with Neo4j's JavaScript driver and prints what it finds.
const jsScript = `
const neo4j = require('neo4j-driver');
const say = (...a) => console.log(...a);
const plain = v => JSON.stringify(v, (k, x) => neo4j.isInt(x) || Number.isInteger(x) ? x.toString() : x);
const same = (a, b) => plain(a) === plain(b);
const addr = process.argv[2];
(async () => {
  for (const scheme of ['bolt', 'neo4j']) {
    const d = neo4j.driver(scheme + '://' + addr, neo4j.auth.basic('ada', 'pw'));
    const info = await d.getServerInfo();
    say(scheme, info.agent, info.protocolVersion.major + '.' + info.protocolVersion.minor);
    const s = d.session({ database: 'neo4j' });
    await s.run('MATCH (n) DETACH DELETE n');
    const values = {
      nothing: null, yes: true, no: false, small: neo4j.int(-17), large: neo4j.int('9223372036854775807'), least: neo4j.int('-9223372036854775808'), float: 0.1,
      text: 'é😀', long: 'x'.repeat(70000), bytes: Int8Array.from([0, 1, -1]), list: [neo4j.int(1), 'a', null, [true]], map: { '': 'e', a: { b: [neo4j.int(1)] } },
      date: new neo4j.types.Date(2020, 2, 29), time: new neo4j.types.Time(12, 30, 1, 5, -3600), localtime: new neo4j.types.LocalTime(23, 59, 59, 999999999),
      localdatetime: new neo4j.types.LocalDateTime(1969, 12, 31, 23, 59, 59, 1), datetime: new neo4j.types.DateTime(2020, 7, 1, 12, 0, 0, 7, 5400),
      zoned: new neo4j.types.DateTime(2020, 7, 1, 12, 0, 0, 7, undefined, 'Europe/Paris'), duration: new neo4j.types.Duration(14, -3, 7, 999),
      point: new neo4j.types.Point(7203, 1, -2.5), point3: new neo4j.types.Point(4979, 12.5, 55.25, 100),
    };
    for (const [k, v] of Object.entries(values)) {
      const r = await s.run('RETURN $v AS v, [$v] AS l, {k: $v} AS m', { v });
      const rec = r.records[0];
      for (const got of [rec.get('v'), rec.get('l')[0], rec.get('m').k]) {
        let a = got, b = v;
        if (k === 'bytes') { a = Array.from(got); b = Array.from(v); }
        if (k === 'zoned') { a = got.toString(); b = '2020-07-01T12:00:00.000000007+02:00[Europe/Paris]'; }
        if (!same(a, b)) say('DIFFERENT', k, a, b);
      }
    }
    let r = await s.run('CREATE p = (a:A {k: 1})-[:R {w: 2}]->(b:B)<-[:Q]-(a) RETURN p, a, elementId(a) AS e');
    const p = r.records[0].get('p');
    say(p.length, p.start.labels, p.end.labels, p.segments.map(x => x.relationship.type).join(), p.start.elementId === r.records[0].get('e'));
    say(r.summary.counters.updates().nodesCreated, r.summary.counters.updates().relationshipsCreated, r.summary.queryType, r.summary.database.name);
    for (const [q, conf] of [['RETURN 1 +', {}], ['RETURN $nope AS x', {}], ['RETURN 1 / 0 AS x', {}]]) {
      try { await s.run(q, conf); say('NO ERROR', q); } catch (e) { say(e.code, e.gqlStatus, e.message.split('\n')[0]); }
    }
    const w = d.session({ database: 'nowhere' });
    try { await w.run('RETURN 1 AS x'); say('NO ERROR'); } catch (e) { say(e.code); }
    await w.close();
    // A managed transaction that loses a deadlock is run again by itself.
    await s.run('CREATE (:C {k: 1, n: 0}), (:C {k: 2, n: 0})');
    let tries = 0, at = {}, met = {};
    for (const k of [1, 2]) met[k] = new Promise(ok => { at[k] = ok; });
    const work = async (a, b) => {
      const t = d.session();
      await t.executeWrite(async tx => {
        tries++;
        for (const k of [a, b]) {
          await tx.run('MATCH (c:C {k: $k}) SET c.n = c.n + 1', { k });
          at[a]();
          await met[b];
        }
      });
      await t.close();
    };
    await Promise.all([work(1, 2), work(2, 1)]);
    r = await s.run('MATCH (c:C) RETURN sum(c.n) AS n');
    say('sum', r.records[0].get('n').toNumber(), tries >= 3);
    // 100,000 rows, pulled as they are used.
    let n = 0, bad = 0;
    for await (const rec of s.run('UNWIND range(1, 100000) AS x RETURN x')) {
      n++;
      if (rec.get('x').toNumber() !== n) bad++;
    }
    say('rows', n, bad);
    const marks = s.lastBookmarks();
    const t = d.session({ bookmarks: marks, defaultAccessMode: neo4j.session.READ });
    r = await t.executeRead(tx => tx.run('MATCH (c:C) RETURN count(c) AS n'));
    say('bookmark', marks.length, r.records[0].get('n').toNumber());
    try { await t.run('CREATE (:X)'); say('NO ERROR'); } catch (e) { say(e.code); }
    await t.close();
    // Several results of one transaction.
    const tx = s.beginTransaction();
    const one = tx.run('UNWIND range(1, 2000) AS x RETURN x'), two = tx.run('CREATE (n:T) RETURN 1 AS x');
    say('tx', (await one).records.length, (await two).records.length);
    await tx.rollback();
    r = await s.run('MATCH (n:T) RETURN count(n) AS n');
    say('rolled back', r.records[0].get('n').toNumber());
    r = await s.run('MATCH (n:Nope) RETURN n');
    say(r.summary.gqlStatusObjects.map(x => x.gqlStatus).join(), r.summary.notifications.map(x => x.code).join());
    r = await s.run('PROFILE MATCH (n:C) RETURN n.k AS k');
    say(r.records.length, r.summary.profile.operatorType, r.summary.profile.rows, r.summary.plan.operatorType);
    await s.close();
    await d.close();
  }
})().catch(e => { console.log('FAILED', e); process.exit(1); });
`

const jsWant = ` Neo4j/5.26.0 compatible (Hedgerow/devel) 5.8
2 [ 'A' ] [ 'A' ] R,Q true
2 2 rw main
Neo.ClientError.Statement.SyntaxError 42001 UnexpectedSyntax: unexpected end of the statement, expected an expression (line 1, column 11 (offset: 10))
Neo.ClientError.Statement.ParameterMissing 42N51 MissingParameter: expected parameter $nope
Neo.ClientError.Statement.ArithmeticError 22012 division by zero (line 1, column 8 (offset: 7))
Neo.ClientError.Database.DatabaseNotFound
sum 4 true
rows 100000 0
bookmark 1 2
Neo.ClientError.Statement.AccessMode
tx 2000 1
rolled back 0
02000,01N50 Neo.ClientNotification.Statement.UnknownLabelWarning
2 ProduceResults 2 ProduceResults
`

// nodeDriver returns a directory in which node finds the package neo4j-driver.
func nodeDriver(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := osexec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	dir := filepath.Join(os.TempDir(), "hedgerow-node-neo4j")
	if d := os.Getenv("HEDGEROW_NODE_NEO4J"); d != "" {
		dir = d
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "neo4j-driver", "package.json")); err == nil {
		return dir
	}
	if testing.Short() {
		t.Skip("node's neo4j-driver is not installed, and -short installs nothing")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	if out, err := osexec.CommandContext(run, "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "neo4j-driver@6").CombinedOutput(); err != nil {
		t.Skipf("npm cannot install neo4j-driver: %v\n%s", err, out)
	}
	return dir
}

// TestNodeDriver: Neo4j's JavaScript driver, with and without routing.
func TestNodeDriver(t *testing.T) {
	dir := nodeDriver(t)
	s := serve(t, Options{})
	script := filepath.Join(t.TempDir(), "t.js")
	if err := os.WriteFile(script, []byte(jsScript), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(s.addr)
	run, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	cmd := osexec.CommandContext(run, "node", script, "127.0.0.1:"+port)
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(dir, "node_modules"), "TZ=UTC")
	got, err := cmd.CombinedOutput()
	if want := "bolt" + jsWant + "neo4j" + jsWant; err != nil || string(got) != want {
		t.Errorf("node: %v\n got %s\nwant %s", err, got, want)
	}
}
