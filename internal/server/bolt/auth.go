package bolt

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/session"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// hello answers HELLO. Up to 5.0 it carries the credentials, too.
func (c *conn) hello(f []value.Value) error {
	extra := f[0]
	var err error
	if c.version.filters() {
		if c.filter, err = c.filter.with(extra, c.version); err != nil {
			return err
		}
	}
	out := newMeta()
	if !c.version.from(5, 0) {
		patches, err := textsEntry(extra, "patch_bolt")
		if err != nil {
			return err
		}
		for _, p := range patches {
			if p == "utc" {
				c.format = c.version.format(true)
				out.put("patch_bolt", texts([]string{"utc"}))
			}
		}
	}
	if !c.version.logon() {
		if err := c.authenticate(extra); err != nil {
			return err
		}
	} else {
		c.state = authentication
	}
	hints := newMeta()
	hints.int("connection.recv_timeout_seconds", max(1, int64(6*c.srv.opt.KeepAlive.Seconds())))
	hints.bool("telemetry.enabled", false)
	if c.version.homeDatabase() {
		hints.bool("ssr.enabled", false)
	}
	out.text("server", c.srv.opt.Agent)
	out.text("connection_id", c.id)
	out.put("hints", hints.value())
	if c.byManifest {
		out.text("protocol_version", c.version.String())
	}
	c.success(out.value())
	return nil
}

func (c *conn) logon(f []value.Value) error {
	if err := c.authenticate(f[0]); err != nil {
		return err
	}
	c.success(noMeta)
	return nil
}

// authenticate opens the session of a client that proves who it is, and ends the connection of one that does not.
func (c *conn) authenticate(token value.Value) error {
	scheme, err := textEntry(token, "scheme")
	if err != nil {
		return err
	}
	user, err := textEntry(token, "principal")
	if err != nil {
		return err
	}
	password, _ := token.Get("credentials")
	if c.srv.opt.Verify != nil {
		switch {
		case scheme != "basic":
			return fatalError{dberr.New(dberr.InvalidAuthorization, "authentication scheme %q is not accepted here", scheme).
				WithHint("Use basic authentication with a user and a password.")}
		case password.Kind() != value.String || !c.srv.opt.Verify(user, password.Str()):
			return fatalError{dberr.New(dberr.InvalidPassword, "the client is unauthorized due to authentication failure")}
		}
	}
	if err := c.srv.enter(); err != nil {
		return fatalError{err}
	}
	c.user = user
	c.sess = c.srv.db.Open(session.Client{User: user, Language: session.Cypher, Application: "bolt", Aliases: aliases,
		Connection: c.id, Address: c.sock.RemoteAddr().String(), Protocol: "bolt", Served: c.sock.LocalAddr().String()})
	c.sess.PlanAside = true
	c.sess.OnNotice = func(n session.Notice) {
		if c.current != nil {
			c.current.notices = append(c.current.notices, n)
		}
	}
	c.state = ready
	c.in.raise(maxMessage)
	c.wait()
	return nil
}

// logoff ends the session.
func (c *conn) logoff() {
	c.abandon()
	c.sess.Close()
	c.sess = nil
	c.srv.exit()
}

func (c *conn) logoffMessage([]value.Value) error {
	c.logoff()
	c.state = authentication
	c.success(noMeta)
	return nil
}

// telemetry answers TELEMETRY: nothing is collected.
func (c *conn) telemetry([]value.Value) error {
	c.success(noMeta)
	return nil
}
