package bolt

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/session"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// transaction is what BEGIN opened, or an auto-commit statement.
type transaction struct {
	db       string // as the client is told
	system   bool   // the database is the one for administration
	explicit bool
	readOnly bool
	filter   filter
	ctx      context.Context
	cancel   context.CancelFunc
}

func (t *transaction) end() { t.cancel() }

// system is the name of the database that answers administration alone; alias is another name of the default graph (rules D2).
const (
	system = "system"
	alias  = "neo4j"
)

// A graph with one of these names could not be reached.
var aliases = map[string]string{alias: session.DefaultGraph, system: ""}

// graphOf returns the graph that a database name means, and the name that the client is told.
func graphOf(db string) (graph, name string) {
	switch strings.ToLower(db) {
	case "", alias, session.DefaultGraph:
		return session.DefaultGraph, session.DefaultGraph
	case system:
		return session.DefaultGraph, system
	}
	return db, db
}

// open begins a transaction by the extra map of BEGIN or RUN.
func (c *conn) openTx(extra value.Value, explicit bool) (*transaction, error) {
	db, err := textEntry(extra, "db")
	if err != nil {
		return nil, err
	}
	mode, err := textEntry(extra, "mode")
	if err != nil {
		return nil, err
	}
	if mode != "" && mode != "r" && mode != "w" {
		return nil, dberr.New(dberr.ProtocolViolation, "mode %q is neither r nor w", mode)
	}
	other, err := textEntry(extra, "imp_user")
	if err != nil {
		return nil, err
	}
	if other != "" && other != c.user {
		return nil, dberr.New(dberr.PermissionDenied, "user %q may not act as user %q", c.user, other).WithHint("Impersonation is not supported.")
	}
	ms, limited, err := entry(extra, "tx_timeout", value.Int)
	if err != nil {
		return nil, err
	}
	if ms.Int() < 0 {
		return nil, dberr.New(dberr.ProtocolViolation, "tx_timeout %d is negative", ms.Int())
	}
	metadata, _, err := entry(extra, "tx_metadata", value.Map)
	if err != nil {
		return nil, err
	}
	marks, err := textsEntry(extra, "bookmarks")
	if err != nil {
		return nil, err
	}
	t := &transaction{explicit: explicit, readOnly: mode == "r", filter: c.filter}
	if c.version.filters() {
		if t.filter, err = c.filter.with(extra, c.version); err != nil {
			return nil, err
		}
	}
	graph, name := graphOf(db)
	t.db, t.system = name, name == system
	t.ctx, t.cancel = context.WithCancel(c.context())
	var timeout time.Duration
	if limited {
		timeout = time.Duration(min(ms.Int(), int64(time.Duration(1<<62)/time.Millisecond))) * time.Millisecond
	}
	c.sess.SetTimeout(timeout)
	c.sess.SetMetadata(metadata)
	if err := c.start(t, graph, marks, timeout); err != nil {
		t.end()
		return nil, err
	}
	return t, nil
}

// start brings the session into the transaction.
func (c *conn) start(t *transaction, graph string, marks []string, timeout time.Duration) error {
	wait := t.ctx
	if timeout > 0 { // a wait for bookmarks is part of the transaction's time
		var done context.CancelFunc
		wait, done = context.WithTimeout(wait, timeout)
		defer done()
	}
	if err := c.awaitBookmarks(wait, marks); err != nil {
		return err
	}
	if t.explicit {
		if err := c.sess.Begin(session.Modes{ReadOnly: &t.readOnly}); err != nil {
			return err
		}
	} else if err := c.sess.Set("default_transaction_read_only", strconv.FormatBool(t.readOnly), false); err != nil {
		return err
	}
	err := c.sess.UseGraph(t.ctx, graph)
	if dberr.Is(err, dberr.InvalidSchema) {
		return dberr.New(dberr.InvalidSchema, "there is no database %q", graph).WithHint("SHOW DATABASES lists those that exist.")
	}
	return err
}

func (c *conn) begin(f []value.Value) error {
	t, err := c.openTx(f[0], true)
	if err != nil {
		return err
	}
	c.tx, c.state, c.nextQID = t, txReady, 0
	out := newMeta()
	if c.version.homeDatabase() {
		out.text("db", t.db)
	}
	c.success(out.value())
	return nil
}

// commit answers COMMIT. Statements that nobody has pulled from are executed first: what is written does not depend on what is read.
func (c *conn) commit([]value.Value) error {
	for qid := int64(0); qid < c.nextQID; qid++ {
		if r := c.results[qid]; r != nil {
			c.current = r
			if err := c.execute(r); err != nil {
				return err
			}
		}
	}
	c.current = nil
	clear(c.results)
	t := c.tx
	c.tx = nil
	t.end()
	if _, err := c.sess.Commit(context.Background()); err != nil {
		return err
	}
	c.state = ready
	out := newMeta()
	out.text("bookmark", c.bookmark())
	c.success(out.value())
	return nil
}

func (c *conn) rollback([]value.Value) error {
	c.abandon()
	c.state = ready
	c.success(noMeta)
	return nil
}

// ---- bookmarks --------------------------------------------------------------------------------------------------------

const bookmarkPrefix = "hedgerow:1:"

// bookmark names the point that the database's commits have come to.
func (c *conn) bookmark() string { return fmt.Sprintf("%s%x", bookmarkPrefix, c.srv.db.Position()) }

// awaitBookmarks waits until the database has come to all of them.
func (c *conn) awaitBookmarks(ctx context.Context, marks []string) error {
	var far uint64
	for _, m := range marks {
		hex, ok := strings.CutPrefix(m, bookmarkPrefix)
		n, err := strconv.ParseUint(hex, 16, 64)
		if !ok || err != nil {
			return dberr.New(dberr.InvalidBookmark, "%q is no bookmark of this database", m).WithHint("Bookmarks are given out by COMMIT and by auto-commit statements.")
		}
		far = max(far, n)
	}
	if far <= c.srv.db.Position() {
		return nil
	}
	deadline := time.NewTimer(c.srv.opt.BookmarkTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for far > c.srv.db.Position() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return dberr.As(ctx.Err())
		case <-deadline.C:
			return dberr.New(dberr.BookmarkTimeout, "the database has not come to the bookmark %s%x within %v", bookmarkPrefix, far, c.srv.opt.BookmarkTimeout).
				WithHint("The bookmark may be another database's.")
		}
	}
	return nil
}

// ---- routing ----------------------------------------------------------------------------------------------------------

const routeTTL = 300 // seconds

// route answers ROUTE: one server plays all roles.
func (c *conn) route(f []value.Value) error {
	marks, err := listOfTexts(f[1])
	if err != nil {
		return err
	}
	db, err := textEntry(f[2], "db")
	if err != nil {
		return err
	}
	asked, err := textEntry(f[0], "address")
	if err != nil {
		return err
	}
	if err := c.awaitBookmarks(c.context(), marks); err != nil {
		return err
	}
	graph, name := graphOf(db)
	if graph != session.DefaultGraph {
		t, err := c.openTx(value.NewMap([]string{"db"}, []value.Value{value.NewString(db)}), true)
		if err != nil {
			return err
		}
		t.end()
		c.sess.Rollback()
	}
	address := cmp.Or(c.srv.opt.Address, asked, c.sock.LocalAddr().String())
	var servers value.ListBuilder
	for _, role := range []string{"WRITE", "READ", "ROUTE"} {
		s := newMeta()
		s.text("role", role)
		s.put("addresses", texts([]string{address}))
		servers.Add(s.value())
	}
	rt := newMeta()
	rt.int("ttl", routeTTL)
	rt.text("db", name)
	rt.put("servers", servers.List())
	out := newMeta()
	out.put("rt", rt.value())
	c.success(out.value())
	return nil
}
