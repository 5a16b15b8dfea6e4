package bolt

import (
	"context"
	"strconv"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/server/bolt/packstream"
	"github.com/hedgerowdb/hedgerow/internal/session"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// result is a statement that RUN has compiled.
type result struct {
	qid      int64
	text     string // as the client sent it
	offset   int    // where the statement begins in it
	portal   *session.Portal
	prepared *session.Prepared
	filter   filter
	notices  []session.Notice

	started   bool
	committed bool // the auto-commit transaction has ended; its rows are still read
	at        time.Time
	ahead     []value.Value // the next row, if it was fetched to see whether there is one
	rows      int64
}

// testPanic, if a test has set it, is shown every text.
var testPanic func(text string)

// run answers RUN: it compiles the statement and looks whether its parameters are there (B5).
func (c *conn) run(f []value.Value) error {
	start := time.Now()
	text, params, extra := f[0].Str(), f[1], f[2]
	r := &result{text: text}
	c.current = r
	if testPanic != nil {
		testPanic(text)
	}
	if c.tx == nil {
		t, err := c.openTx(extra, false)
		if err != nil {
			return err
		}
		c.tx = t
	}
	r.filter = c.tx.filter
	if err := c.prepare(r, params); err != nil {
		return err
	}
	c.results[r.qid], c.last = r, r.qid
	out := newMeta()
	names := make([]string, 0, 8)
	for _, col := range r.prepared.Columns() {
		names = append(names, col.Name)
	}
	out.put("fields", texts(names))
	out.int("t_first", time.Since(start).Milliseconds())
	switch {
	case c.tx.explicit:
		out.int("qid", r.qid)
		c.state = txStreaming
	default:
		c.state = streaming
		if c.version.homeDatabase() {
			out.text("db", c.tx.db)
		}
	}
	c.success(out.value())
	return nil
}

func (c *conn) prepare(r *result, params value.Value) error {
	p, offset, err := c.sess.PrepareCypher(c.tx.ctx, r.text)
	if err != nil {
		return err
	}
	if c.tx.system && !p.Administers() {
		return dberr.New(dberr.UnsupportedAdministration, "the database %s answers administration commands alone", system).
			WithHint("Choose another database, or none, for statements that read or write a graph.")
	}
	named := make(map[string]value.Value, params.Len())
	for i := range params.Len() {
		k, v := params.Entry(i)
		named[k] = v
	}
	args, err := p.Arguments(named)
	if err != nil {
		return session.Shift(err, offset)
	}
	name := ""
	if c.tx.explicit {
		r.qid = c.nextQID
		c.nextQID++
		name = portalName(r.qid)
	}
	r.prepared, r.offset = p, offset
	r.portal, err = c.sess.Bind(c.tx.ctx, name, p, args)
	return err
}

// portalName names the portals of a transaction.
func portalName(qid int64) string { return "bolt-" + strconv.FormatInt(qid, 10) }

// execute starts a result's statement if it has not been. What writes outside a transaction is committed then (B4).
func (c *conn) execute(r *result) error {
	if r.started {
		return session.Shift(r.portal.Start(c.tx.ctx), r.offset)
	}
	r.started, r.at = true, time.Now()
	if err := r.portal.Start(c.tx.ctx); err != nil {
		return session.Shift(err, r.offset)
	}
	if !c.tx.explicit && r.portal.Wrote() {
		if err := c.sess.CommitBefore(context.Background(), r.portal); err != nil {
			return err
		}
		r.committed = true
	}
	return nil
}

func (c *conn) pull(f []value.Value) error    { return c.fetch(f[0], false) }
func (c *conn) discard(f []value.Value) error { return c.fetch(f[0], true) }

// fetch answers PULL and DISCARD.
func (c *conn) fetch(extra value.Value, discard bool) error {
	n, ok, err := entry(extra, "n", value.Int)
	switch {
	case err != nil:
		return err
	case !ok:
		n = value.NewInt(-1)
	case n.Int() == 0 || n.Int() < -1:
		return dberr.New(dberr.ProtocolViolation, "the number of rows is a positive one or -1 for all, not %d", n.Int())
	}
	qid, ok, err := entry(extra, "qid", value.Int)
	if err != nil {
		return err
	}
	id := c.last
	if ok && qid.Int() != -1 {
		id = qid.Int()
	}
	r := c.results[id]
	if r == nil {
		return dberr.New(dberr.ProtocolViolation, "there is no open result %d", id)
	}
	c.current = r
	if err := c.execute(r); err != nil {
		return err
	}
	more, err := c.rows(r, n.Int(), discard)
	if err != nil {
		return session.Shift(err, r.offset)
	}
	if more {
		r.portal.Pause()
		out := newMeta()
		out.bool("has_more", true)
		c.success(out.value())
		return nil
	}
	return c.finish(r)
}

// rows sends or skips n rows, all if n is negative, and reports whether there are more.
func (c *conn) rows(r *result, n int64, discard bool) (more bool, err error) {
	if n < 0 && discard && r.rows > 0 && !r.portal.Profiled() {
		r.portal.Close()
		return false, nil
	}
	for i := int64(0); ; i++ {
		row := r.ahead
		if r.ahead = nil; row == nil {
			if row, err = r.portal.Next(c.tx.ctx); row == nil || err != nil {
				return false, err
			}
			r.rows++
		}
		if i == n {
			r.ahead = row
			return true, nil
		}
		if discard {
			if n < 0 && !r.portal.Profiled() {
				r.portal.Close() // the first row has shown that the statement runs
				return false, nil
			}
			continue
		}
		if err := c.record(row); err != nil {
			return false, err
		}
		if len(c.buf) >= flushAt {
			if err := c.flush(); err != nil {
				return false, err
			}
			if err := c.tx.ctx.Err(); err != nil {
				return false, r.portal.Interrupted(err)
			}
		}
	}
}

// record sends a row.
func (c *conn) record(row []value.Value) (err error) {
	start := len(c.buf)
	b := packstream.AppendList(packstream.AppendStruct(append(c.buf, 0, 0), 1, msgRecord), len(row))
	for _, v := range row {
		if b, err = packstream.Append(b, v, c.format); err != nil {
			return err
		}
	}
	if len(b)-start > maxMessage {
		return dberr.New(dberr.LimitExceeded, "a row of %d bytes does not fit a message", len(b)-start)
	}
	c.buf = appendChunked(b, start)
	return nil
}

// finish ends a result that was read to its end, and the transaction that is its own.
func (c *conn) finish(r *result) error {
	sum := r.portal.Summary()
	r.portal.Close()
	rep := r.portal.PlanReport() // complete now
	out := newMeta()
	if !c.tx.explicit {
		if !r.committed {
			if err := c.sess.EndImplicit(context.Background()); err != nil {
				return err
			}
		}
		out.text("bookmark", c.bookmark())
	}
	c.summary(out, r, sum, rep)
	c.success(out.value())
	delete(c.results, r.qid)
	c.current = nil
	switch {
	case !c.tx.explicit:
		c.tx.end()
		c.tx = nil
		c.state = ready
	case len(c.results) == 0:
		c.state = txReady
	}
	return nil
}
