package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var snbParamRE = regexp.MustCompile(`\$(\w+)`)

// TestMetamorphicSNB runs the reads of the LDBC SNB data in ways that must not change an answer: batch sizes, the plan cache on and off, values in the
// text, indexes and statistics there and not. A short run takes the quick reads; HEDGEROW_METAMORPHIC=1 takes all, by the reference plan too.
func TestMetamorphicSNB(t *testing.T) {
	whole := os.Getenv("HEDGEROW_METAMORPHIC") != ""
	conn := servePG(t, snb(t))
	ctx := context.Background()
	do := func(text string) {
		t.Helper()
		for _, q := range strings.Split(strings.TrimSpace(text), ";") {
			if strings.TrimSpace(q) == "" {
				continue
			}
			if _, err := conn.Exec(ctx, q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
	}
	type way struct {
		name, begin, end string
		literals, all    bool
	}
	ways := []way{
		{name: "plain", all: true},
		{name: "batch 1", begin: "SET hedgerow.batch_size = 1", end: "RESET hedgerow.batch_size"},
		{name: "batch 7", begin: "SET hedgerow.batch_size = 7", end: "RESET hedgerow.batch_size"},
		{name: "plan cache off", begin: "SET hedgerow.plan_cache = off", end: "RESET hedgerow.plan_cache"},
		{name: "literals", literals: true, all: true},
		{name: "little memory", begin: "SET work_mem = '64kB'", end: "RESET work_mem"},
	}
	if whole {
		ways = append(ways, way{name: "reference", begin: "SET hedgerow.reference = on", end: "RESET hedgerow.reference"})
	}
	run := func(t *testing.T) {
		for _, w := range ways {
			t.Run(w.name, func(t *testing.T) {
				do(w.begin)
				defer do(w.end)
				for _, q := range snbQueries {
					if !whole && !(strings.HasPrefix(q, "is") || w.all && (q == "ic2" || q == "ic8" || q == "ic13")) {
						continue
					}
					snbCompare(t, q, func(text string, columns []string, params map[string]any) [][]any {
						if !w.literals {
							return snbAsk(t, conn, q, text, columns, params)
						}
						text = snbParamRE.ReplaceAllStringFunc(text, func(m string) string {
							v, ok := params[m[1:]]
							if !ok {
								t.Fatalf("%s: no value for %s", q, m)
							}
							return cypherLiteral(v)
						})
						return snbAsk(t, conn, q, text, columns, nil)
					})
				}
			})
		}
	}
	t.Run("as loaded", run)
	do(snbIndexes)
	t.Run("indexes", run)
	do("ANALYZE")
	t.Run("indexes and statistics", run)
}

// cypherLiteral writes a parameter of the answers as a literal.
func cypherLiteral(v any) string {
	switch v := v.(type) {
	case string:
		return "'" + strings.ReplaceAll(strings.ReplaceAll(v, `\`, `\\`), "'", `\'`) + "'"
	case []any:
		var parts []string
		for _, x := range v {
			parts = append(parts, cypherLiteral(x))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v)
}
