package vec

import (
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/value"
)

func TestAppendWholeKeepsTheEntity(t *testing.T) {
	props := value.NewMap([]string{"name"}, []value.Value{value.NewString("Ada")})
	var c Column
	c.AppendWhole(value.NewNodeFull(7, []string{"Person"}, props))
	c.AppendWhole(value.NewInt(3))
	c.AppendWhole(value.NewRelFull(9, 7, 8, "KNOWS", props))
	var d Column
	d.Gather(&c, []uint16{2, 0, 1})
	for i, want := range []string{
		`{"id": 9, "label": "KNOWS", "end_id": 8, "start_id": 7, "properties": {"name": "Ada"}}::edge`,
		`{"id": 7, "label": "Person", "properties": {"name": "Ada"}}::vertex`, "3",
	} {
		if got := string(value.AppendAgtype(nil, d.Value(i))); got != want {
			t.Errorf("row %d is %s", i, got)
		}
	}
}
