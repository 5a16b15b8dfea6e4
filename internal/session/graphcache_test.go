package session

import (
	"slices"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// With the graph cache on, warm, cleared or off, within a transaction that has written too, every answer is the same; PROFILE and the procedures
// tell where it came from.
func TestGraphCacheChangesNoAnswer(t *testing.T) {
	db := database(t)
	s := open(t, db)
	do := func(text string) []string {
		t.Helper()
		out, err := run(s, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return out
	}
	profile := func() string {
		t.Helper()
		return strings.Join(do("PROFILE MATCH (a:P {id: 3})-[:R]->(b) RETURN count(b.id)"), "\n")
	}
	figure := func(name string) string {
		t.Helper()
		return do("CALL hedgerow.graphCache.status() YIELD name, value WHERE name = '" + name + "' RETURN value")[0]
	}
	do("SET hedgerow.language = cypher")
	for _, q := range statisticsData {
		do(q)
	}
	answers := func() (out []string) {
		t.Helper()
		for _, q := range statisticsQueries {
			out = append(out, do(q)...)
		}
		return append(out, do("MATCH (a:P {id: 3})-[r]-(b) RETURN type(r), b.id")...)
	}
	compare := func(when string, want []string) {
		t.Helper()
		if got := answers(); !slices.Equal(got, want) {
			t.Errorf("%s:\n%v\nwant\n%v", when, got, want)
		}
	}
	do("SET graph_cache = off")
	if got := do("SHOW hedgerow.graph_cache"); got[0] != "off" {
		t.Errorf("the setting is %v", got)
	}
	want := answers()
	if p := profile(); strings.Contains(p, "hops") {
		t.Errorf("switched off, it is asked:\n%s", p)
	}
	do("SET graph_cache = on")
	compare("on", want)
	if got := do("CALL hedgerow.graphCache.warm('R') YIELD segments RETURN segments > 0"); got[0] != "true" {
		t.Errorf("warm: %v", got)
	}
	compare("warm", want)
	if p := profile(); !strings.Contains(p, "hops 1") || strings.Contains(p, "hops_index") {
		t.Errorf("nothing came from memory:\n%s", p)
	}
	if figure("hops") == "0" || figure("edges_scanned") == "0" || figure("cache_bytes") == "0" {
		t.Error("the status does not tell")
	}
	if got := do("CALL hedgerow.graphCache.verify() YIELD lists, differences RETURN lists > 0, differences"); got[0] != "true|0" {
		t.Errorf("verify: %v", got)
	}
	do("BEGIN")
	do("MATCH (a:P {id: 3})-[r:R]->() DELETE r")
	do("MATCH (a:P {id: 3}), (b:Q {id: 8}) CREATE (a)-[:R {w: 9}]->(b), (b)-[:R {w: 9}]->(b)")
	changed := answers()
	do("SET hedgerow.graph_cache = off")
	compare("own changes, from the indexes", changed)
	do("SET hedgerow.graph_cache = on")
	do("ROLLBACK")
	compare("after the rollback", want)
	do("CALL hedgerow.graphCache.clear()")
	if figure("segments") != "0" {
		t.Error("it is not cleared")
	}
	compare("cleared", want)
	do("SET hedgerow.reference = on")
	if p := profile(); strings.Contains(p, "hops") {
		t.Errorf("the reference run asks it:\n%s", p)
	}
	do("SET hedgerow.reference = off")
	for text, code := range map[string]dberr.Code{
		"CALL hedgerow.graphCache.warm('Nothing')": dberr.UndefinedTable,
		"CALL hedgerow.graphCache.verify(-1)":      dberr.InvalidParameterValue,
	} {
		if _, err := run(s, text); !dberr.Is(err, code) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
