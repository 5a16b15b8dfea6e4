package pgwire

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/session"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// isNet reports whether the connection itself has failed.
func isNet(err error) bool {
	var e *net.OpError
	return errors.As(err, &e) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

// extended answers one message of the extended protocol.
func (c *conn) extended(kind byte, body []byte) error {
	ctx := context.Background()
	switch kind {
	case 'P':
		m := &c.msg.parse
		if err := decode(m, body); err != nil {
			return err
		}
		return c.parse(ctx, m)
	case 'B':
		m := &c.msg.bind
		if err := decode(m, body); err != nil {
			return err
		}
		return c.bind(ctx, m)
	case 'D':
		m := &c.msg.describe
		if err := decode(m, body); err != nil {
			return err
		}
		return c.describe(m)
	case 'E':
		m := &c.msg.execute
		if err := decode(m, body); err != nil {
			return err
		}
		return c.execute(ctx, m)
	}
	var m pgproto3.Close
	if err := decode(&m, body); err != nil {
		return err
	}
	switch m.ObjectType {
	case 'S':
		c.sess.Deallocate(m.Name)
	case 'P':
		c.sess.ClosePortal(m.Name)
	default:
		return dberr.New(dberr.ProtocolViolation, "invalid CLOSE message subtype %d", m.ObjectType)
	}
	return c.w.empty('3')
}

// messages are those of the extended protocol as they were decoded last.
type messages struct {
	parse    pgproto3.Parse
	bind     pgproto3.Bind
	describe pgproto3.Describe
	execute  pgproto3.Execute
}

func decode(m pgproto3.Message, body []byte) (err error) {
	defer func() {
		if recover() != nil { // the library slices before it checks, in places
			err = dberr.New(dberr.ProtocolViolation, "invalid message format")
		}
	}()
	if err := m.Decode(body); err != nil {
		return dberr.Wrap(dberr.ProtocolViolation, err, "invalid message format")
	}
	return nil
}

func (c *conn) parse(ctx context.Context, m *pgproto3.Parse) error {
	c.text = ""
	text, err := c.checkText([]byte(m.Query))
	if err != nil {
		return err
	}
	c.text = text
	if len(m.ParameterOIDs) > maxParameters {
		return dberr.New(dberr.LimitExceeded, "a statement has at most %d parameters", maxParameters)
	}
	types := make([]*sqltype.Type, len(m.ParameterOIDs))
	for i, oid := range m.ParameterOIDs {
		if oid == 0 || oid == sqltype.Unknown.OID {
			continue
		}
		if types[i] = sqltype.ByOID(oid); types[i] == nil {
			return dberr.New(dberr.UndefinedObject, "type with OID %d does not exist", oid)
		}
	}
	parts, err := c.sess.Split(text)
	if err != nil {
		return err
	}
	var part session.Text
	switch len(parts) {
	case 0:
	case 1:
		part = parts[0]
	default:
		return dberr.New(dberr.Syntax, "cannot insert multiple commands into a prepared statement")
	}
	p, err := c.sess.Prepare(ctx, part, types)
	if err != nil {
		return session.Shift(err, part.Offset)
	}
	if err := c.sess.Store(m.Name, p); err != nil {
		return err
	}
	return c.w.empty('1')
}

func (c *conn) bind(ctx context.Context, m *pgproto3.Bind) error {
	p, err := c.sess.Stored(m.PreparedStatement)
	if err != nil {
		return err
	}
	c.text = ""
	types := p.ParamTypes()
	for _, codes := range [][]int16{m.ParameterFormatCodes, m.ResultFormatCodes} {
		for _, f := range codes {
			if f != 0 && f != 1 {
				return dberr.New(dberr.InvalidParameterValue, "unsupported format code: %d", f)
			}
		}
	}
	if len(m.Parameters) != len(types) {
		return dberr.New(dberr.ProtocolViolation, "bind message supplies %d parameters, but prepared statement %q requires %d",
			len(m.Parameters), m.PreparedStatement, len(types))
	}
	if n := len(m.ParameterFormatCodes); n > 1 && n != len(types) {
		return dberr.New(dberr.ProtocolViolation, "bind message has %d parameter formats but %d parameters", n, len(types))
	}
	args := make([]value.Value, len(types))
	for i, b := range m.Parameters {
		if b == nil {
			continue
		}
		if format(m.ParameterFormatCodes, i) == 1 {
			args[i], err = sqltype.ParseBinary(types[i], b)
		} else {
			var s string
			if s, err = c.checkText(b); err == nil {
				args[i], err = sqltype.Parse(types[i], s)
			}
		}
		if err != nil {
			return err
		}
	}
	cols := p.Columns()
	if n := len(m.ResultFormatCodes); n > 1 && n != len(cols) {
		return dberr.New(dberr.ProtocolViolation, "bind message has %d result formats but query has %d columns", n, len(cols))
	}
	portal, err := c.sess.Bind(ctx, m.DestinationPortal, p, args)
	if err != nil {
		return err
	}
	portal.Formats = append([]int16(nil), m.ResultFormatCodes...)
	return c.w.empty('2')
}

func (c *conn) describe(m *pgproto3.Describe) error {
	if m.ObjectType == 'S' {
		p, err := c.sess.Stored(m.Name)
		if err != nil {
			return err
		}
		types := p.ParamTypes()
		oids := make([]uint32, len(types))
		for i, t := range types {
			oids[i] = t.OID
		}
		if err := c.w.send(&pgproto3.ParameterDescription{ParameterOIDs: oids}); err != nil {
			return err
		}
		if cols := p.Columns(); cols != nil {
			return c.rowDescription(cols, nil)
		}
		return c.w.empty('n')
	}
	if m.ObjectType != 'P' {
		return dberr.New(dberr.ProtocolViolation, "invalid DESCRIBE message subtype %d", m.ObjectType)
	}
	portal, err := c.sess.Portal(m.Name)
	if err != nil {
		return err
	}
	if cols := portal.Columns(); cols != nil {
		return c.rowDescription(cols, portal.Formats)
	}
	return c.w.empty('n')
}

func (c *conn) execute(ctx context.Context, m *pgproto3.Execute) error {
	portal, err := c.sess.Portal(m.Portal)
	if err != nil {
		return err
	}
	c.text = portal.Text()
	if portal.Empty() {
		return c.w.send(&pgproto3.EmptyQueryResponse{})
	}
	c.watch()
	defer c.unwatch()
	if err := portal.Start(ctx); err != nil {
		return err
	}
	if portal.Copy() != nil {
		if err := c.copyOut(ctx, portal); err != nil {
			return err
		}
		return c.complete(portal)
	}
	done, err := c.rows(ctx, portal, portal.Formats, int(m.MaxRows))
	if err != nil {
		return err
	}
	if !done {
		portal.Pause()
		return c.w.empty('s')
	}
	return c.complete(portal)
}
