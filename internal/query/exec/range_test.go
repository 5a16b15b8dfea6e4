package exec_test

import (
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/qtest"
)

// A list that range() makes counts against the statement's memory, whatever its length; UNWIND never makes it.
func TestRangeIsAccounted(t *testing.T) {
	d := qtest.New(nil)
	d.Exec = exec.Options{MemLimit: 8 << 20}
	for text, ok := range map[string]bool{
		"RETURN size(range(1, 100000)) AS n": true, "RETURN size(range(1, 3000000)) AS n": false, "RETURN size(range(1, 100000000)) AS n": false,
		"RETURN size(range(1, 9223372036854775807)) AS n":                        false,
		"UNWIND range(1, 9223372036854775807) AS x WITH x LIMIT 3 RETURN sum(x)": true,
	} {
		res, err := d.Run(text, nil)
		if ok && err != nil || !ok && !dberr.Is(err, dberr.OutOfMemory) {
			t.Errorf("%s: %v", text, err)
		}
		if ok && res.Peak > 8<<20 {
			t.Errorf("%s: %d bytes", text, res.Peak)
		}
	}
	if got := d.Must(t, "RETURN 1 AS x", nil).Text(); got != "1\n" {
		t.Errorf("got %q", got)
	}
}
