package expr_test

import (
	"os"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/query/expr"
)

// The functions that the manual of Neo4j 5 lists, but for those that are syntax (all, any, none, single, reduce).
const neo4jFunctions = `
	abs acos asin atan atan2 avg btrim ceil char_length character_length coalesce collect cos cot count date date.realtime date.statement
	date.transaction date.truncate datetime datetime.fromepoch datetime.fromepochmillis datetime.realtime datetime.statement
	datetime.transaction datetime.truncate db.nameFromElementId degrees duration duration.between duration.inDays duration.inMonths
	duration.inSeconds e elementId endNode exists exp file floor genai.vector.encode graph.byElementId graph.byName graph.names
	graph.propertiesByName haversin head id isEmpty isNaN keys labels last left length linenumber localdatetime localdatetime.realtime
	localdatetime.statement localdatetime.transaction localdatetime.truncate localtime localtime.realtime localtime.statement
	localtime.transaction localtime.truncate log log10 lower ltrim max min nodes normalize nullIf percentileCont percentileDisc pi point
	point.distance point.withinBBox properties radians rand randomUUID range relationships replace reverse right round rtrim sign sin size
	split sqrt stDev stDevP startNode substring sum tail tan time time.realtime time.statement time.transaction time.truncate toBoolean
	toBooleanList toBooleanOrNull toFloat toFloatList toFloatOrNull toInteger toIntegerList toIntegerOrNull toLower toString toStringList
	toStringOrNull toUpper trim type upper valueType vector.similarity.cosine vector.similarity.euclidean`

// Those that are absent; docs/cypher.md says why.
var absent = map[string]bool{"db.nameFromElementId": true, "genai.vector.encode": true, "graph.byElementId": true, "graph.byName": true, "graph.names": true, "graph.propertiesByName": true}

func TestFunctionsOfNeo4j(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/cypher.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(neo4jFunctions) {
		_, ok := expr.Lookup(name)
		if ok == absent[name] {
			t.Errorf("%s: in the table %v, listed as absent %v", name, ok, absent[name])
		}
		if absent[name] && !strings.Contains(string(doc), "`"+name+"`") {
			t.Errorf("docs/cypher.md does not say that %s is absent", name)
		}
	}
}
