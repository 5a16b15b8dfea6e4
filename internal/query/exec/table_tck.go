//go:build tck

package exec

import (
	"strings"
	"sync"

	"github.com/hedgerowdb/hedgerow/internal/query/bind"
	"github.com/hedgerowdb/hedgerow/internal/query/expr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// registered are the procedures of one of the TCK's scenarios. They belong to the process: a runner works on one database at a time.
type registered struct {
	mu   sync.RWMutex // guards the field below
	made map[string]*Procedure
	own  map[string]*Procedure // tck.register and tck.clear
}

func init() {
	r := &registered{}
	r.own = map[string]*Procedure{
		"tck.register": {
			Proc: bind.Proc{Name: "tck.register", Void: true, In: []bind.Field{
				{Name: "signature", Type: expr.TString}, {Name: "columns", Type: expr.TList}, {Name: "rows", Type: expr.TList},
			}},
			Call: r.register,
		},
		"tck.clear": {
			Proc: bind.Proc{Name: "tck.clear", Void: true},
			Call: func(*expr.Env, []value.Value, func(...value.Value) error) error {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.made = nil
				return nil
			},
		},
	}
	extra = r
}

func (r *registered) Lookup(name string) (*Procedure, bool) {
	name = strings.ToLower(name)
	if p, ok := r.own[name]; ok {
		return p, true
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	p, ok := r.made[name]
	return p, ok
}

func (r *registered) register(_ *expr.Env, args []value.Value, _ func(...value.Value) error) error {
	var rows [][]value.Value
	for _, list := range args[2].All() {
		var row []value.Value
		for _, v := range list.All() {
			row = append(row, v.Clone())
		}
		rows = append(rows, row)
	}
	p, err := Table(strings.Clone(args[0].Text()), rows)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.made == nil {
		r.made = map[string]*Procedure{}
	}
	r.made[strings.ToLower(p.Name)] = p
	return nil
}
