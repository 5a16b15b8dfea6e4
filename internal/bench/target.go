package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Kind is how a target is reached and what it is asked in.
type Kind string

const (
	Embedded Kind = "embedded" // Hedgerow in this process
	Wire     Kind = "hedgerow" // Hedgerow over PostgreSQL's protocol
	Bolt     Kind = "bolt"     // Hedgerow, Neo4j or another database over Bolt
	AGE      Kind = "age"      // Apache AGE on PostgreSQL
	SQL      Kind = "sql"      // hand-written SQL on PostgreSQL
)

// Target is a database to measure.
type Target interface {
	// Connect opens a connection of its own.
	Connect(ctx context.Context) (Conn, error)
	// Load fills an empty database with a network.
	Load(ctx context.Context, n *Network, progress LoadProgress) error
	// Version says what the target is, as it says itself.
	Version(ctx context.Context) string
	// text is how the target says a statement, "" if it cannot.
	text(st *Statement) string
	Close() error
}

// Conn is one client of a target; one goroutine uses it at a time.
type Conn interface {
	// Do runs a statement and reads its answer to the end. With keep the rows are returned, each value in one canonical text; else they are only counted.
	Do(ctx context.Context, st *Statement, p Params, keep bool) (Answer, error)
	Begin(ctx context.Context) error
	Rollback(ctx context.Context) error
	Close()
}

// Answer is what a statement answered.
type Answer struct {
	Rows [][]string
	N    int
}

// LoadProgress is told how far a load is; done and total count what of a file is loaded, in bytes or rows.
type LoadProgress func(file string, done, total int64)

// DSN says which target is meant and how it is measured.
type DSN struct {
	Name string `json:"name"` // in reports; unique
	Kind Kind   `json:"kind"`
	// Address is a URL of the server, or the directory of an embedded database ("" is memory).
	Address string `json:"address"`
	Graph   string `json:"graph,omitempty"`
	// Literals pastes parameters into the text and sends it by the simple protocol, as clients do that know no parameters.
	Literals bool `json:"literals,omitempty"`
	// PID is the process whose memory, with that of its children, is watched; 0 watches nothing, except for an embedded database.
	PID int `json:"pid,omitempty"`
	// Sync commits wait for the disk; else they do not, where the target can be told so.
	Sync bool `json:"sync"`

	password *url.Userinfo
}

// ParseDSN reads [NAME=]DSN. DSNs are embedded: and embedded:DIR, hedgerow://HOST:PORT/GRAPH, bolt://HOST:PORT/DATABASE (and neo4j://, bolt+s:// …),
// age://HOST:PORT/DATABASE?graph=NAME and postgres://HOST:PORT/DATABASE (or sql://). The options pid=N, literals=true and graph=NAME may follow
// a question mark; others are left for the driver.
func ParseDSN(s string) (DSN, error) {
	d := DSN{}
	if name, rest, ok := strings.Cut(s, "="); ok && !strings.ContainsAny(name, ":/?") && name != "" {
		d.Name, s = name, rest
	}
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok {
		return d, fmt.Errorf("%q is no target; targets are embedded:DIR, hedgerow://…, bolt://…, age://… and postgres://…", s)
	}
	address, query, _ := strings.Cut(rest, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return d, fmt.Errorf("%s: %w", s, err)
	}
	take := func(name string) string {
		v := values.Get(name)
		values.Del(name)
		return v
	}
	if pid := take("pid"); pid != "" {
		if d.PID, err = strconv.Atoi(pid); err != nil || d.PID < 1 {
			return d, fmt.Errorf("%s: pid is the number of a process, not %q", s, pid)
		}
	}
	switch l := take("literals"); l {
	case "", "false":
	case "true":
		d.Literals = true
	default:
		return d, fmt.Errorf("%s: literals is true or false, not %q", s, l)
	}
	d.Graph = take("graph")
	withQuery := func(scheme string) string {
		if q := values.Encode(); q != "" {
			address += "?" + q
		}
		return scheme + ":" + address
	}
	switch scheme {
	case "embedded":
		if d.Kind, d.Address = Embedded, address; len(values) > 0 || d.PID != 0 {
			return d, fmt.Errorf("%s: an embedded database has no options but graph", s)
		}
	case "hedgerow":
		d.Kind = Wire
		u, err := url.Parse("postgres:" + address)
		if err != nil {
			return d, err
		}
		if db := strings.Trim(u.Path, "/"); d.Graph == "" {
			d.Graph = db
		}
		d.Address = withQuery("postgres")
	case "bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc":
		d.Kind = Bolt
		u, err := url.Parse(scheme + ":" + address)
		if err != nil {
			return d, err
		}
		d.Graph, u.Path = orElse(d.Graph, strings.Trim(u.Path, "/")), ""
		d.password, u.User = u.User, nil
		address = strings.TrimPrefix(u.String(), scheme+":")
		d.Address = withQuery(scheme)
	case "age":
		d.Kind, d.Graph, d.Address = AGE, orElse(d.Graph, "bench"), withQuery("postgres")
	case "sql", "postgres", "postgresql":
		d.Kind, d.Address = SQL, withQuery("postgres")
	default:
		return d, fmt.Errorf("%s: no target has the scheme %s; targets are embedded:DIR, hedgerow://…, bolt://…, age://… and postgres://…", s, scheme)
	}
	if d.Literals && d.Kind != Wire && d.Kind != AGE {
		return d, fmt.Errorf("%s: literals=true is for hedgerow:// and age://", s)
	}
	if d.Kind == Embedded || d.Kind == Wire {
		d.Graph = orElse(d.Graph, "main")
	}
	if d.Name == "" {
		if d.Name = string(d.Kind); d.Literals {
			d.Name += "-literals"
		}
	}
	return d, nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// redacted is the address without a password, for reports.
func (d DSN) redacted() DSN {
	if u, err := url.Parse(d.Address); err == nil && d.Kind != Embedded {
		d.Address = u.Redacted()
	}
	d.password = nil
	return d
}

// Open opens a target. Nothing is connected yet, but an embedded database is opened.
func Open(d DSN) (Target, error) {
	switch d.Kind {
	case Embedded:
		return openEmbedded(d)
	case Bolt:
		return openBolt(d)
	}
	return openPostgres(d)
}

// cypherText is a statement's Cypher; "" if there is none.
func cypherText(st *Statement) string {
	if st.Cypher == None {
		return ""
	}
	return st.Cypher
}

// canon writes a value in the one text in which answers of all targets are compared.
func canon(x any) string {
	switch x := x.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(x)
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1e15 {
			return strconv.FormatInt(int64(x), 10) + ".0"
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	case string:
		b, _ := json.Marshal(x)
		return string(b)
	case []any:
		parts := make([]string, len(x))
		for i, e := range x {
			parts[i] = canon(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprintf("%v", x)
}

// sorted brings rows of an answer without order into one.
func sorted(rows [][]string) [][]string {
	rows = slices.Clone(rows)
	sort.SliceStable(rows, func(i, j int) bool { return slices.Compare(rows[i], rows[j]) < 0 })
	return rows
}

// literal writes a parameter as Cypher.
func literal(x any) string {
	switch x := x.(type) {
	case int64:
		return strconv.FormatInt(x, 10)
	case string:
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(x) + "'"
	case []int64:
		parts := make([]string, len(x))
		for i, e := range x {
			parts[i] = strconv.FormatInt(e, 10)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	panic(fmt.Sprintf("bench: a parameter of type %T", x))
}

// paste replaces $name by literals.
func paste(cypher string, p Params) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(cypher, '$')
		if i < 0 {
			b.WriteString(cypher)
			return b.String()
		}
		j := i + 1
		for j < len(cypher) && (cypher[j] >= 'a' && cypher[j] <= 'z' || cypher[j] >= 'A' && cypher[j] <= 'Z' || cypher[j] >= '0' && cypher[j] <= '9') {
			j++
		}
		b.WriteString(cypher[:i])
		if v, ok := p[cypher[i+1:j]]; ok {
			b.WriteString(literal(v))
		} else {
			b.WriteString(cypher[i:j])
		}
		cypher = cypher[j:]
	}
}
