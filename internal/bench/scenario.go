package bench

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path"
	"strings"
)

// Statement is one statement in the languages of the targets. A text that is missing means that a target cannot say it.
type Statement struct {
	Cypher string // with parameters as $name
	AGE    string // where Apache AGE needs other words than Cypher; None where it has none
	AGESQL string // SQL that AGE takes instead of Cypher
	SQL    string // hand-written for tables of a file each, with $1 … for Args
	Args   []string
	// Columns are the names of the answer's columns; none for a statement that answers nothing.
	Columns []string
	// Plain is a text that targets over PostgreSQL's protocol take as it is, without cypher() around it.
	Plain string
	// Probe reads, with the same parameters, what the statement has written.
	Probe *Statement
	// Ordered answers are compared with their order.
	Ordered bool
}

// None is the text of a statement that a dialect cannot say.
const None = "-"

// Params are the parameters of a request by name: int64, string or []int64.
type Params map[string]any

// Request is a statement of a scenario with its parameters.
type Request struct {
	Statement int
	Params    Params
}

// Scenario is something that a target is measured with.
type Scenario struct {
	Name       string
	Group      string
	Title      string
	Statements []Statement
	// Next draws the n-th request. It returns false when there is none any more.
	Next func(d *Draw, n int) (Request, bool)
	// Restore takes back what requests of this scenario have written. It is given $mark and $base.
	Restore []Statement
	// Setup prepares what requests need beyond the network.
	Setup []Statement
	// Friends says that requests need the network's friendships.
	Friends bool
	// Deletes says that the last statement deletes a friendship of the network; what was deleted is made again afterwards.
	Deletes bool
	// Bulk is set for a scenario whose request is one large statement over data of its own.
	Bulk *Bulk
}

// Writes reports whether requests change the data.
func (s *Scenario) Writes() bool {
	for i := range s.Statements {
		if s.Statements[i].Probe != nil {
			return true
		}
	}
	return false
}

// The groups of scenarios, in the order in which they run. The first three after the floor are the nineteen.
const (
	Floor = "floor"
	Short = "short"
	Heavy = "heavy"
	Write = "write"
	Extra = "extra"
	Mixed = "mixed"
	BulkG = "bulk"
)

// Groups lists the groups in the order in which they run.
var Groups = []string{Floor, Short, Heavy, Write, Extra, Mixed, BulkG}

const (
	// mark is the least moment of a friendship that a benchmark has made; the network's are earlier.
	mark = int64(1) << 50
	// base is the least id of a vertex that a benchmark has made.
	base = int64(1) << 40
)

// Draw makes the parameters of requests.
type Draw struct {
	*Network
	rnd     *rand.Rand
	pcg     *rand.PCG
	seed    uint64
	friends []friendship
	shift   int64 // of the ids of new vertices, so that targets that are two doors of one database do not make the same
}

// newDraw prepares to draw for a scenario; what it draws depends on the network's seed, the scenario's name and the number of the request. target
// numbers the target that makes vertices of the ids drawn.
func newDraw(n *Network, s *Scenario, target int) (*Draw, error) {
	h := fnv.New64a()
	h.Write([]byte(s.Name))
	d := &Draw{Network: n, pcg: rand.NewPCG(0, 0), seed: n.Seed ^ h.Sum64(), shift: int64(target) << 32}
	d.rnd = rand.New(d.pcg)
	if s.Friends {
		var err error
		if d.friends, err = n.friends(); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// request draws the n-th request (K1).
func (d *Draw) request(s *Scenario, n int) (Request, bool) {
	d.pcg.Seed(d.seed, uint64(n))
	return s.Next(d, n)
}

func (d *Draw) upto(n int) int64    { return int64(d.rnd.IntN(n)) + 1 }
func (d *Draw) person() int64       { return d.upto(d.Persons) }
func (d *Draw) post() int64         { return d.upto(d.Posts) }
func (d *Draw) forum() int64        { return d.upto(d.Forums) }
func (d *Draw) tag() int64          { return d.upto(d.Tags) }
func (d *Draw) city() int64         { return d.upto(d.Cities) }
func (d *Draw) organisation() int64 { return d.upto(d.Organisations) }

// pair draws two different persons.
func (d *Draw) pair() (a, b int64) {
	a, b = d.person(), d.person()
	if a == b {
		b = b%int64(d.Persons) + 1
	}
	return a, b
}

// friendship returns the n-th friendship to delete.
func (d *Draw) friendship(n int) (friendship, bool) {
	if n >= len(d.friends) {
		return friendship{}, false
	}
	return d.friends[n], true
}

// Scenarios returns all scenarios in the order in which they run. rows are the vertices or edges of a bulk scenario.
func Scenarios(rows int) []*Scenario {
	var out []*Scenario
	for _, list := range [][]*Scenario{floors(), shortReads(), heavyReads(), writes(), extras(), mixed(), bulk(rows)} {
		out = append(out, list...)
	}
	return out
}

// Select picks scenarios by names, patterns of names (h*) or groups, in the order in which they run. No selection picks the nineteen.
func Select(all []*Scenario, names []string) ([]*Scenario, error) {
	if len(names) == 0 {
		names = []string{Floor, Short, Heavy, Write}
	}
	picked := map[*Scenario]bool{}
	for _, n := range names {
		found := false
		for _, s := range all {
			ok, err := path.Match(n, s.Name)
			if err != nil {
				return nil, fmt.Errorf("bench: %q is no pattern: %w", n, err)
			}
			if ok || n == s.Group || n == "all" {
				picked[s], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("bench: there is no scenario or group %q; hedgerow bench list shows them, groups are %s", n, strings.Join(Groups, ", "))
		}
	}
	var out []*Scenario
	for _, s := range all {
		if picked[s] {
			out = append(out, s)
		}
	}
	return out, nil
}
