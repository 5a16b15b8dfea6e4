package bolt

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDocument: docs/bolt.md lists the versions and notices that there are, and shows an error as it is printed.
func TestDocument(t *testing.T) {
	b, err := os.ReadFile("../../../docs/bolt.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	var names []string
	for _, v := range versions {
		names = append(names, v.String())
	}
	var rows strings.Builder
	for _, n := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[n]
		fmt.Fprintf(&rows, "| %s | `%s` | %s | %s | %s |\n", n, k.code, k.severity, k.category, k.status)
	}
	s := serve(t, Options{})
	c := s.dial(t, version{5, 4})
	r := c.do(`RUN '  RETURN 1,\n  nope AS x', {}, {}`)
	example := "    " + strings.ReplaceAll(r.get("message").Text(), "\n", "\n    ") + "\n"
	for _, want := range []string{
		"<!-- versions -->" + strings.Join(names, ", ") + "<!-- /versions -->", "<!-- notices: begin -->\n" + rows.String() + "<!-- notices: end -->", example,
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("docs/bolt.md lacks\n%s", want)
		}
	}
	for _, m := range messages {
		if !strings.Contains(doc, "`"+m.name+"`") {
			t.Errorf("docs/bolt.md does not name %s", m.name)
		}
	}
}
