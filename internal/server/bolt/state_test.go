package bolt

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// TestChoose: what a version is chosen for, by the slots of the handshake.
func TestChoose(t *testing.T) {
	for _, c := range []struct {
		slots string
		want  string
	}{
		{"000001ff000808050002040400000003", "manifest"}, // the drivers of today
		{"00080805000204040000000300000000", "5.8"},
		{"00000404000000000000000000000000", "4.4"},
		{"00020404000808050000000000000000", "4.4"},  // the first wish that can be granted
		{"00000505000000000000000000000000", "none"}, // 5.5 never came to be
		{"00010505000000000000000000000000", "5.4"},
		{"00000905000000050000000000000000", "5.0"},
		{"00ff0905000000000000000000000000", "5.8"},
		{"00000003000000020000000100000000", "none"},
		{"0000000f0000000e0000000d0000000c", "none"},
		{"00000006000000000000000000000000", "none"},
		{"00000000000000000000000000000000", "none"},
	} {
		v, byManifest, ok := choose([16]byte(unhex(t, c.slots)))
		got := v.String()
		switch {
		case byManifest:
			got = "manifest"
		case !ok:
			got = "none"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.slots, got, c.want)
		}
	}
	if got := fmt.Sprintf("%x", offer()); got != "[00020805 00040405 00000404]" {
		t.Errorf("the manifest offers %s", got)
	}
}

// TestManifest: all versions are offered, the client chooses, and is told the version again.
func TestManifest(t *testing.T) {
	s := serve(t, Options{})
	for _, c := range []struct {
		answer string
		served bool
	}{{"0000080500", true}, {"0000040400", true}, {"0000050500", false}, {"0000000600", false}, {"00000805" + "ffffffffffffffffffff", false}} {
		cl := s.raw(t)
		cl.write(unhex(t, "6060b017"+"000001ff"+"00080805"+"0002040400000003"))
		got := make([]byte, 4+1+3*4+1)
		if _, err := io.ReadFull(cl.in, got); err != nil || fmt.Sprintf("%x", got) != "000001ff"+"03"+"000208050004040500000404"+"00" {
			t.Fatalf("the server offers %x, %v", got, err)
		}
		b := unhex(t, c.answer)
		cl.write(append(b, requestOf(t, "HELLO {user_agent: 'x/1', scheme: 'none'}")...))
		r := cl.recv()
		if want := fmt.Sprintf("%d.%d", b[3], b[2]); c.served != (r.tag == msgSuccess) || c.served && r.get("protocol_version").Text() != want {
			t.Errorf("%s: %v", c.answer, r)
		}
	}
	c := s.raw(t)
	c.write(unhex(t, "6060b017"+"0000000f0000000e0000000d0000000c"))
	if got, _ := io.ReadAll(c.in); fmt.Sprintf("%x", got) != "00000000" {
		t.Errorf("no version in common: %x", got)
	}
}

// paths lead into each state.
var paths = map[state][]string{
	negotiation:    nil,
	authentication: {"HELLO {user_agent: 'x/1'}"},
	ready:          {},
	streaming:      {"RUN 'UNWIND range(1, 9) AS x RETURN x', {}, {}"},
	txReady:        {"BEGIN {}"},
	txStreaming:    {"BEGIN {}", "RUN 'UNWIND range(1, 9) AS x RETURN x', {}, {}"},
	failed:         {"RUN 'nonsense', {}, {}"},
}

// TestStates: every message in every state of every version is answered, ignored, or ends the connection as a fault of the protocol.
func TestStates(t *testing.T) {
	s := serve(t, Options{})
	texts := map[string]string{
		"HELLO": "HELLO {user_agent: 'x/1', scheme: 'none'}", "LOGON": "LOGON {scheme: 'none'}", "LOGOFF": "LOGOFF", "TELEMETRY": "TELEMETRY 1", "RESET": "RESET",
		"RUN": "RUN 'RETURN 1 AS x', {}, {}", "BEGIN": "BEGIN {}", "COMMIT": "COMMIT", "ROLLBACK": "ROLLBACK", "PULL": "PULL {n: -1}", "DISCARD": "DISCARD {n: -1}",
		"ROUTE": "ROUTE {}, [], {}",
	}
	allowed := map[state]string{
		negotiation: "HELLO", authentication: "LOGON", ready: "LOGOFF TELEMETRY RESET RUN BEGIN ROUTE", streaming: "TELEMETRY RESET PULL DISCARD",
		txReady: "TELEMETRY RESET RUN COMMIT ROLLBACK", txStreaming: "TELEMETRY RESET RUN PULL DISCARD COMMIT ROLLBACK",
	}
	for _, v := range versions {
		for st := negotiation; st < numStates; st++ {
			if st == authentication && !v.logon() {
				continue
			}
			for name, text := range texts {
				c := s.raw(t)
				c.shake(v)
				if st >= ready {
					c.hello()
				}
				for _, p := range paths[st] {
					c.do(p)
				}
				known := v.logon() || name != "LOGON" && name != "LOGOFF"
				known = known && (v.telemetry() || name != "TELEMETRY")
				c.send(text)
				r, _ := c.summary()
				what := fmt.Sprintf("%v, %v: %s is answered by %v", v, st, name, r)
				switch {
				case !known || st < ready && !slices.Contains(strings.Fields(allowed[st]), name):
					if r.code() != dberr.ProtocolViolation.Neo4j() || !c.closed() {
						t.Error(what)
					}
				case st == failed && name == "RESET" || slices.Contains(strings.Fields(allowed[st]), name):
					if r.tag != msgSuccess {
						t.Error(what)
					}
				case st == failed:
					if r.tag != msgIgnored {
						t.Error(what)
					}
				default:
					if r.code() != dberr.ProtocolViolation.Neo4j() || !c.closed() {
						t.Error(what)
					}
				}
				c.conn.Close()
			}
		}
	}
}
