package session

import (
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/query/exec"
)

// surroundings is what statements may ask about the session and the others.
type surroundings struct{ s *Session }

func (u surroundings) User() string    { return u.s.client.User }
func (u surroundings) Home() string    { return u.s.raw(settings["hedgerow.graph"]) }
func (u surroundings) Address() string { return u.s.client.Served }

func (u surroundings) Aliases() map[string]string { return u.s.client.Aliases }

func (u surroundings) Settings() []exec.Setting {
	var out []exec.Setting
	for _, name := range settingNames() {
		d := settings[strings.ToLower(name)]
		startup, given := u.s.base[d.key]
		if !given {
			startup = d.initial
		}
		_, set := u.s.set[d.key]
		valid := strings.Join(d.enum, ", ")
		if valid == "" {
			valid = [...]string{boolSetting: "on, off", intSetting: "an integer", textSetting: "a text", memorySetting: "an amount of memory", durationSetting: "a duration"}[min(d.kind, durationSetting)]
		}
		out = append(out, exec.Setting{Name: name, Value: u.s.Setting(name), Default: d.show(d.initial), Startup: d.show(startup), Description: d.help, Valid: valid,
			Dynamic: d.kind != internalSetting, Set: set || given})
	}
	return out
}

func (u surroundings) Transactions() []exec.Transaction {
	var out []exec.Transaction
	for _, r := range u.s.db.transactions() {
		c := r.s.client
		t := exec.Transaction{ID: r.name(), Graph: r.graph, User: c.User, Connection: c.Connection, Address: c.Address, Protocol: c.Protocol, Begun: r.begun, Metadata: r.meta, Terminated: r.fate() != nil}
		if r.outer != nil {
			t.Outer = r.outer.name()
		}
		r.s.mu.Lock()
		if n := len(r.s.active); n > 0 {
			i := r.s.active[n-1]
			t.Query, t.QueryID, t.QueryBegun = i.text, i.query, i.began
		}
		r.s.mu.Unlock()
		out = append(out, t)
	}
	return out
}

func (u surroundings) Terminate(names []string) map[string]string {
	out := map[string]string{}
	for name, r := range u.s.db.terminate(names) {
		out[name] = r.s.client.User
	}
	return out
}
