package pgwire

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// golden compares lines with a file.
func golden(t *testing.T, file string, lines []string) {
	t.Helper()
	got := strings.Join(lines, "\n") + "\n"
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) == got {
		return
	}
	w := strings.Split(string(want), "\n")
	for i, l := range strings.Split(got, "\n") {
		if i >= len(w) || w[i] != l {
			t.Fatalf("%s:%d: got\n%s\nwant\n%s\n(go test -rewrite writes it anew)", file, i+1, l, w[min(i, len(w)-1)])
		}
	}
	t.Fatalf("%s has more lines than there are answers", file)
}

func short(text string) string {
	s := strings.Join(strings.Fields(text), " ")
	if len(s) > 110 {
		s = s[:110] + "…"
	}
	return s
}

var record = regexp.MustCompile(`(?s)^C \*pgproto3\.(\w+) &\{(.*)\}$`)

// field reads one of the fields that the recorder printed with %+v.
func field(body, name, next string) string {
	_, rest, ok := strings.Cut(body, name+":")
	if !ok {
		return ""
	}
	if next != "" {
		if i := strings.LastIndex(rest, " "+next+":"); i >= 0 {
			rest = rest[:i]
		}
	}
	return rest
}

func ints(s string) []int64 {
	var out []int64
	for _, w := range strings.Fields(strings.Trim(s, "[]")) {
		n, _ := strconv.ParseInt(w, 10, 64)
		out = append(out, n)
	}
	return out
}

func codes(s string) (out []int16) {
	for _, n := range ints(s) {
		out = append(out, int16(n))
	}
	return out
}

func octets(s string) []byte {
	out := []byte{}
	for _, n := range ints(s) {
		out = append(out, byte(n))
	}
	return out
}

// recorded turns a record of the log into the message that the client sent.
func recorded(text string) pgproto3.FrontendMessage {
	m := record.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	body := m[2]
	switch m[1] {
	case "Query":
		return &pgproto3.Query{String: field(body, "String", "")}
	case "Parse":
		var oids []uint32
		for _, n := range ints(field(body, "ParameterOIDs", "")) {
			oids = append(oids, uint32(n))
		}
		return &pgproto3.Parse{Name: field(body, "Name", "Query"), Query: field(body, "Query", "ParameterOIDs"), ParameterOIDs: oids}
	case "Bind":
		b := &pgproto3.Bind{
			DestinationPortal: field(body, "DestinationPortal", "PreparedStatement"), PreparedStatement: field(body, "PreparedStatement", "ParameterFormatCodes"),
			ParameterFormatCodes: codes(field(body, "ParameterFormatCodes", "Parameters")), ResultFormatCodes: codes(field(body, "ResultFormatCodes", "")),
		}
		for _, p := range regexp.MustCompile(`\[[0-9 ]*\]`).FindAllString(strings.TrimPrefix(field(body, "Parameters", "ResultFormatCodes"), "["), -1) {
			b.Parameters = append(b.Parameters, octets(p))
		}
		return b
	case "Describe":
		return &pgproto3.Describe{ObjectType: byte(ints(field(body, "ObjectType", "Name"))[0]), Name: field(body, "Name", "")}
	case "Execute":
		return &pgproto3.Execute{Portal: field(body, "Portal", "MaxRows"), MaxRows: uint32(ints(field(body, "MaxRows", ""))[0])}
	case "Sync":
		return &pgproto3.Sync{}
	case "Flush":
		return &pgproto3.Flush{}
	case "CopyData":
		return &pgproto3.CopyData{Data: octets(field(body, "Data", ""))}
	case "CopyDone":
		return &pgproto3.CopyDone{}
	}
	return nil
}

// TestReplay says again what eight clients said to a PostgreSQL 15: every message gets an answer, and the answers are those of the golden file.
func TestReplay(t *testing.T) {
	for _, log := range []string{"clients-1", "clients-2"} {
		t.Run(log, func(t *testing.T) {
			s := serve(t, Options{})
			raw, err := os.ReadFile(filepath.Join("testdata", "wire", log+".log"))
			if err != nil {
				t.Fatal(err)
			}
			var records []string
			for _, line := range strings.Split(strings.TrimRight(string(raw), "\n"), "\n") {
				if strings.HasPrefix(line, "C ") || strings.HasPrefix(line, "  S ") || strings.HasPrefix(line, "----") || len(records) == 0 {
					records = append(records, line)
				} else {
					records[len(records)-1] += "\n" + line
				}
			}
			var out []string
			c := s.open(t)
			statement := ""
			for _, rec := range records {
				if strings.HasPrefix(rec, "---- conn") {
					c.Close()
					c = s.open(t)
					out = append(out, "-- connection")
				}
				m := recorded(rec)
				if m == nil {
					continue
				}
				c.SetDeadline(time.Now().Add(10 * time.Second))
				c.send(m)
				var got []string
				switch m := m.(type) {
				case *pgproto3.Parse:
					statement = m.Query
					continue
				case *pgproto3.Query:
					statement = m.String
					got = c.until("ReadyForQuery")
				case *pgproto3.Sync:
					got = c.until("ReadyForQuery")
				case *pgproto3.Flush:
					for len(got) < 3 {
						b, err := c.f.Receive()
						if err != nil {
							t.Fatalf("%s: %v", short(statement), err)
						}
						got = append(got, say(b))
						if n := name(b); n == "RowDescription" || n == "NoData" || n == "ErrorResponse" {
							break
						}
					}
				default:
					continue
				}
				kept := got[:0]
				for _, g := range got { // rows differ from run to run, and one that is there shows all
					if !strings.HasPrefix(g, "DataRow") {
						kept = append(kept, g)
					}
				}
				out = append(out, short(statement)+"\n    "+strings.Join(kept, ", "))
				if strings.Contains(fmt.Sprint(kept), "XX000") {
					t.Errorf("%s: %q\n%s", statement, kept, s.log.String())
				}
			}
			golden(t, filepath.Join("testdata", "wire", log+".golden"), out)
		})
	}
}

// TestCatalogQueries asks what psql, pgjdbc and the drivers of Apache AGE ask of the catalog. Each gets rows or a clear error, which the golden
// file records.
func TestCatalogQueries(t *testing.T) {
	s := serve(t, Options{})
	var texts []string
	raw, err := os.ReadFile("testdata/wire/psql-describe.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(raw), "********* QUERY **********\n")[1:] {
		text, _, _ := strings.Cut(part, "\n**************************")
		texts = append(texts, text)
	}
	if raw, err = os.ReadFile("testdata/wire/jdbc.log"); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(raw), "\n") {
		if _, text, ok := strings.Cut(line, "execute "); ok {
			if _, text, ok = strings.Cut(text, ": "); ok && !strings.Contains(text, "$1") {
				texts = append(texts, text)
			}
		}
	}
	texts = append(append(texts, "ROLLBACK"), ageTraffic...)
	c := s.open(t)
	c.query("SELECT create_graph('social')")
	var out []string
	for _, text := range texts {
		got := c.query(text)
		var kept []string
		n := 0
		for _, g := range got {
			if strings.HasPrefix(g, "DataRow") {
				n++
				continue
			}
			kept = append(kept, g)
		}
		out = append(out, short(text)+"\n    "+strings.Join(kept, ", "))
		if strings.Contains(fmt.Sprint(kept), "XX000") {
			t.Errorf("%s: %q\n%s", text, kept, s.log.String())
		}
		if strings.HasSuffix(kept[len(kept)-1], "E") {
			c.query("ROLLBACK")
		}
	}
	golden(t, "testdata/wire/catalog.golden", out)
}

// ageTraffic is what the drivers and tools of Apache AGE send of their own accord.
var ageTraffic = []string{
	"CREATE EXTENSION IF NOT EXISTS age; LOAD 'age'; SET search_path = ag_catalog, \"$user\", public;",
	"LOAD '$libdir/plugins/age';",
	"SET search_path = ag_catalog, '$user', public;",
	"SELECT typelem FROM pg_type WHERE typname = '_agtype';",
	"SELECT typname AS name, oid, typarray AS array_oid, oid::regtype::text AS alt_name, typdelim AS delimiter FROM pg_type t WHERE t.oid = 'agtype'::regtype ORDER BY t.oid",
	"SELECT typname AS name, oid, typarray AS array_oid, oid::regtype::text AS regtype, typdelim AS delimiter FROM pg_type t WHERE t.oid = to_regtype('agtype') ORDER BY t.oid",
	"SELECT count(*) FROM ag_graph WHERE name='social'",
	"SELECT * FROM age_prepare_cypher('social', 'CREATE (n:Person {name: ''Ada''}) RETURN n'); SELECT * from cypher(NULL,NULL) as (\"v\" agtype);",
	"SELECT * from cypher(NULL,NULL) as (v agtype);",
	"SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = 16472",
	"SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid FROM pg_catalog.pg_type LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r from pg_namespace as ns join ( select s.r, (current_schemas(false))[s.r] as nspname from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r using ( nspname ) ) as sp ON sp.nspoid = typnamespace WHERE pg_type.oid = 16472 ORDER BY sp.r, pg_type.oid DESC",
	"BEGIN READ WRITE; LOAD 'age'; COMMIT;",
	"show server_version;",
	"SELECT * FROM ag_catalog.ag_graph;",
	"ANALYZE;",
	"SELECT * FROM (SELECT c.relname AS label, n.oid as namespace_id, c.reltuples AS cnt FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname = 'social') as q1 JOIN ag_graph as g ON q1.namespace_id = g.namespace INNER JOIN ag_label as label ON label.name = q1.label AND label.graph = g.graphid;",
	"select * from (SELECT null as key, null as keytype) A limit 0;",
	"SELECT usename as user_name, CASE WHEN usesuper THEN CAST('admin' AS pg_catalog.text) ELSE CAST('user' AS pg_catalog.text) END role_name FROM pg_catalog.pg_user WHERE usename = 'raw'",
	"SELECT * from cypher('social', $$ MATCH (S)-[R]-(T) WHERE id(S) = 844424930131969 RETURN S,R,T $$) as (S agtype, R agtype, T agtype)",
	"SELECT graphid FROM ag_catalog.ag_graph WHERE name='social'",
	"SELECT * FROM cypher('social', $$ MATCH ()-[e]-() RETURN collect(distinct label(e)) $$) AS (a agtype)",
	"SELECT * FROM cypher('social', $$ MATCH (a)-[e:`L`]->(b) WITH a,e,b LIMIT 3000 RETURN DISTINCT labels(a) AS from, type(e) AS edge, labels(b) AS to LIMIT 10 $$) AS (f agtype, edge agtype, t agtype)",
	"SELECT extversion FROM pg_extension WHERE extname = 'age'",
	"SELECT default_version FROM pg_available_extensions WHERE name = 'age'",
	"SELECT name FROM ag_catalog.ag_label WHERE kind='v' AND graph=(SELECT graphid FROM ag_graph WHERE name = 'social')",
	"SELECT * FROM cypher($AGE1$social$AGE1$::name, $AGE1$MATCH (n) RETURN n$AGE1$::cstring) AS (n agtype)",
	"SELECT id, CAST(properties AS VARCHAR) FROM social.\"Person\"",
	"SELECT create_complete_graph('social', 5, 'E')",
	"SELECT drop_graph('social', true);",
}
