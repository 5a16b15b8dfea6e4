package hedgerow_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow"
	"github.com/hedgerowdb/hedgerow/internal/query/qtest"
	"github.com/hedgerowdb/hedgerow/internal/testkit"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// house is a database that the cases of kind sessions run on, a fresh one for each.
type house struct {
	t   *testing.T
	db  *hedgerow.DB
	own *guest
}

func (h *house) Reset() error {
	if h.own != nil {
		h.own.Close()
		if err := h.db.Close(); err != nil {
			return err
		}
	}
	var err error
	if h.db, err = hedgerow.Open(h.t.TempDir(), &hedgerow.Options{CacheBytes: 8 << 20}); err != nil {
		return err
	}
	h.own = h.Client().(*guest)
	return nil
}

func (h *house) close() {
	faults, err := h.db.Check(context.Background())
	if err != nil || len(faults) > 0 {
		h.t.Errorf("check: %v, %q", err, faults)
	}
	h.own.Close()
	if err := h.db.Close(); err != nil {
		h.t.Error(err)
	}
}

func (h *house) Run(text string, params map[string]value.Value) (*qtest.Result, error) {
	return h.own.Run(text, params)
}

func (h *house) Client() qtest.Client { return &guest{h.db.Conn()} }

func (h *house) Begin(isolation string) string {
	if isolation == "" {
		return "BEGIN"
	}
	return "BEGIN ISOLATION LEVEL " + strings.ToUpper(isolation)
}

func (h *house) Vacuum() error {
	if _, err := h.db.ExecSQL(context.Background(), "VACUUM"); err != nil {
		return err
	}
	return h.db.Checkpoint(context.Background())
}

// guest is a client of the database.
type guest struct{ c *hedgerow.Conn }

func (g *guest) Close() { g.c.Close() }

func (g *guest) Run(text string, params map[string]value.Value) (*qtest.Result, error) {
	p := hedgerow.Params{}
	for k, v := range params {
		p[k] = v
	}
	rows, err := g.c.Run(context.Background(), text, hedgerow.Cypher, p)
	if err != nil {
		return nil, err
	}
	res := &qtest.Result{Columns: rows.Columns()}
	for rows.Next() {
		row := make([]value.Value, len(res.Columns))
		for i := range row {
			row[i] = rows.Value(i).(value.Value)
		}
		res.Rows = append(res.Rows, row)
	}
	if err := rows.Err(); err != nil {
		rows.Close()
		return nil, err
	}
	return res, rows.Close()
}

// TestSessionCases runs the shared cases that need several sessions, and some of our own.
func TestSessionCases(t *testing.T) {
	var cases []*qtest.Case
	for _, path := range []string{testkit.Shared(t, "cases/cases.yaml"), "testdata/sessions.yaml"} {
		more, err := qtest.LoadCases(path)
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, more...)
	}
	n := 0
	for _, c := range cases {
		if c.Kind != "sessions" {
			continue
		}
		n++
		t.Run(c.ID, func(t *testing.T) {
			h := &house{t: t}
			if err := qtest.RunSessions(h, c); err != nil {
				t.Error(err)
			}
			h.close()
		})
	}
	if n == 0 {
		t.Error("no case is of kind sessions")
	}
}
