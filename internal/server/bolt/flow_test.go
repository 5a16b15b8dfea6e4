package bolt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/hedgerowdb/hedgerow/internal/server/bolt/packstream"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// TestFlows: whole conversations, message by message. Each file runs on one database; "conn VERSION" opens the connection that the next "flow"
// commands use. "hex" shows the bytes too.
func TestFlows(t *testing.T) {
	datadriven.Walk(t, "testdata/flow", func(t *testing.T, path string) {
		s := serve(t, Options{Agent: "Neo4j/5.26.0 compatible (Hedgerow/test)"})
		var c *client
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "conn":
				c = s.raw(t)
				var v version
				if _, err := fmt.Sscanf(d.CmdArgs[0].Key, "%d.%d", &v.major, &v.minor); err != nil {
					t.Fatal(err)
				}
				c.shake(v)
				if d.HasArg("ready") {
					c.hello()
				}
				return ""
			case "flow":
				return c.flow(d)
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func (c *client) flow(d *datadriven.TestData) string {
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
		c.send(line)
		if strings.HasPrefix(line, "GOODBYE") {
			fmt.Fprintf(&b, "S: %v\n", c.recv())
			continue
		}
		for {
			r := c.recv()
			r.field = steady(r.field)
			text := r.String()
			if d.HasArg("hex") && r.tag != 0 {
				body := packstream.AppendStruct(nil, int(r.raw[0]&0x0F), r.tag)
				if r.raw[0]&0x0F > 0 {
					body, _ = packstream.Append(body, r.field, packstream.Format{})
				}
				text += fmt.Sprintf("\n   %x", frame(body))
			}
			fmt.Fprintf(&b, "S: %s\n", text)
			if r.tag != msgRecord {
				break
			}
		}
	}
	return b.String()
}

// steady replaces what differs from run to run.
func steady(m value.Value) value.Value {
	if m.Kind() != value.Map {
		return m
	}
	out := value.NewMapBuilder()
	for i := range m.Len() {
		k, v := m.Entry(i)
		switch k {
		case "t_first", "t_last":
			v = value.NewInt(0)
		case "bookmark":
			v = value.NewString("…")
		}
		out.Put(k, v)
	}
	return out.Map()
}
