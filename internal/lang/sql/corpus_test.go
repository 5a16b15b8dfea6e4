package sql

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/testkit"
)

var (
	recordStart = regexp.MustCompile(`(?m)^(?:C |  S |---- |C EOF)`)
	queryField  = regexp.MustCompile(`(?s)^C \*pgproto3\.Query &\{String:(.*)\}\s*$`)
	parseField  = regexp.MustCompile(`(?s)^C \*pgproto3\.Parse &\{Name:\S* Query:(.*) ParameterOIDs:\[[^]]*\]\}\s*$`)
	jdbcStart   = regexp.MustCompile(`(?m)^\[jdbc\] `)
	jdbcExec    = regexp.MustCompile(`(?s)^\[jdbc\] LOG:  (?:execute [^:]*|statement): (.*)$`)
	psqlQuery   = regexp.MustCompile(`(?s)\*{9} QUERY \*{10}\n(.*?)\*{26}`)
)

// recorded returns the statements of a recorded flow.
func recorded(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	var out []string
	split := func(at [][]int, f func(string)) {
		for i, m := range at {
			end := len(text)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			f(text[m[0]:end])
		}
	}
	switch filepath.Base(path) {
	case "psql-describe.txt":
		for _, m := range psqlQuery.FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
	case "jdbc.log":
		split(jdbcStart.FindAllStringIndex(text, -1), func(s string) {
			if m := jdbcExec.FindStringSubmatch(s); m != nil {
				out = append(out, m[1])
			}
		})
	default:
		split(recordStart.FindAllStringIndex(text, -1), func(s string) {
			if m := queryField.FindStringSubmatch(s); m != nil {
				out = append(out, m[1])
			} else if m := parseField.FindStringSubmatch(s); m != nil {
				out = append(out, m[1])
			}
		})
	}
	return out
}

// TestRecordedClients parses every statement that psql, pgx, lib/pq, node pg, postgres.js, psycopg, pgcli, TypeORM and
// pgjdbc sent to a real server.
func TestRecordedClients(t *testing.T) {
	n := 0
	for _, file := range []string{"clients-1.log", "clients-2.log", "jdbc.log", "psql-describe.txt"} {
		for _, text := range recorded(t, testkit.Shared(t, "wire/"+file)) {
			for _, span := range Split(text) {
				n++
				one := text[span.Start:span.Stop]
				if _, err := Parse(one); err != nil {
					e := dberr.As(err)
					if len(one) > 1000 && strings.Contains(err.Error(), "unterminated") {
						t.Logf("%s: the record of a long statement is cut off", file)
						continue
					}
					line := strings.Count(one[:e.Pos], "\n") + 1
					t.Errorf("%s: %v at byte %d, line %d\n%s", file, err, e.Pos, line, one)
					continue
				}
				roundTrip(t, one)
			}
		}
	}
	if n < 150 {
		t.Errorf("only %d statements were found", n)
	}
	t.Logf("%d statements", n)
}
