package pgwire

import (
	"bytes"
	"context"
	"encoding/binary"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/session"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// testPanic, if a test has set it, is shown every text.
var testPanic func(text string)

// checkText checks a statement's text before anybody parses it.
func (c *conn) checkText(b []byte) (string, error) {
	switch {
	case len(b) > maxStatement:
		return "", errTooLong
	case bytes.IndexByte(b, 0) >= 0:
		return "", dberr.New(dberr.ProtocolViolation, "invalid string in message")
	case !utf8.Valid(b):
		bad := b
		for len(bad) > 0 {
			r, n := utf8.DecodeRune(bad)
			if r == utf8.RuneError && n <= 1 {
				break
			}
			bad = bad[n:]
		}
		return "", dberr.New(dberr.InvalidEncoding, `invalid byte sequence for encoding "UTF8": 0x%02x`, bad[0])
	}
	if testPanic != nil {
		testPanic(string(b))
	}
	return string(b), nil
}

// query answers a simple Query: all its statements in one implicit transaction, unless they open a block.
func (c *conn) query(body []byte) error {
	body, _ = bytes.CutSuffix(body, []byte{0})
	text, err := c.checkText(body)
	c.text = text
	if err == nil {
		err = c.statements(text)
	}
	if err != nil {
		if isNet(err) {
			return err
		}
		if err := c.report(err); err != nil {
			return err
		}
	}
	if err := c.sess.EndImplicit(context.Background()); err != nil {
		if err := c.report(err); err != nil {
			return err
		}
	}
	return c.ready()
}

func (c *conn) statements(text string) error {
	parts, err := c.sess.Split(text)
	if err != nil {
		return err
	}
	if len(parts) == 0 {
		return c.w.send(&pgproto3.EmptyQueryResponse{})
	}
	c.sess.Deallocate("") // the unnamed statement does not outlive a simple Query
	for i, part := range parts {
		c.sess.InMulti(len(parts) > 1)
		if err := c.statement(part, i == len(parts)-1); err != nil {
			return session.Shift(err, part.Offset)
		}
	}
	return nil
}

// statement answers one statement. The last one of a text commits before it says that it is complete (W4).
func (c *conn) statement(part session.Text, last bool) error {
	ctx := context.Background()
	p, err := c.sess.Prepare(ctx, part, nil)
	if err != nil {
		return err
	}
	c.watch()
	defer c.unwatch()
	portal, err := c.sess.Bind(ctx, "", p, nil)
	if err != nil {
		return err
	}
	defer portal.Close()
	if err := portal.Start(ctx); err != nil {
		return err
	}
	if portal.Copy() != nil {
		err = c.copyOut(ctx, portal)
	} else {
		if cols := portal.Columns(); cols != nil {
			if err := c.rowDescription(cols, nil); err != nil {
				return err
			}
		}
		_, err = c.rows(ctx, portal, nil, 0)
	}
	if err != nil {
		return err
	}
	if last {
		if err := c.sess.EndImplicit(ctx); err != nil {
			return err
		}
	}
	return c.complete(portal)
}

// complete says that a statement is complete.
func (c *conn) complete(p *session.Portal) error {
	c.w.begin('C')
	c.w.out = append(p.AppendTag(c.w.out), 0)
	return c.w.end()
}

// rows sends up to max rows (0 means all) and reports whether the portal is exhausted.
func (c *conn) rows(ctx context.Context, p *session.Portal, formats []int16, max int) (done bool, err error) {
	cols := p.Columns()
	for n := 0; max == 0 || n < max; n++ {
		row, err := p.Next(ctx)
		if err != nil {
			return false, err
		}
		if row == nil {
			return true, nil
		}
		if err := c.dataRow(cols, formats, row); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (c *conn) rowDescription(cols []session.Column, formats []int16) error {
	w := c.w
	w.begin('T')
	w.out = binary.BigEndian.AppendUint16(w.out, uint16(len(cols)))
	for i := range cols {
		t := cols[i].Type
		w.out = append(append(w.out, clean(cols[i].Name)...), 0)
		w.out = append(w.out, 0, 0, 0, 0, 0, 0) // of no table
		w.out = binary.BigEndian.AppendUint32(w.out, t.OID)
		w.out = binary.BigEndian.AppendUint16(w.out, uint16(t.Len))
		w.out = append(w.out, 0xFF, 0xFF, 0xFF, 0xFF) // no modifier
		w.out = binary.BigEndian.AppendUint16(w.out, uint16(format(formats, i)))
	}
	return w.end()
}

// format returns the format code of field i: none given means text, one given goes for all.
func format(codes []int16, i int) int16 {
	switch {
	case len(codes) == 0:
		return 0
	case len(codes) == 1:
		return codes[0]
	case i < len(codes):
		return codes[i]
	}
	return 0
}

func (c *conn) dataRow(cols []session.Column, formats []int16, row []value.Value) (err error) {
	w := c.w
	start := len(w.out)
	w.out = append(w.out, 'D', 0, 0, 0, 0)
	w.out = binary.BigEndian.AppendUint16(w.out, uint16(len(row)))
	for i, v := range row {
		if v.IsNull() {
			w.out = append(w.out, 0xFF, 0xFF, 0xFF, 0xFF)
			continue
		}
		at := len(w.out)
		w.out = append(w.out, 0, 0, 0, 0)
		if format(formats, i) == 1 {
			w.out, err = sqltype.AppendBinary(w.out, cols[i].Type, v)
		} else {
			w.out, err = c.sess.AppendText(w.out, cols[i].Type, v)
		}
		if err != nil {
			w.out = w.out[:start]
			return err
		}
		binary.BigEndian.PutUint32(w.out[at:], uint32(len(w.out)-at-4))
	}
	n := len(w.out) - start - 1
	if n > maxMessage {
		w.out = w.out[:start]
		return dberr.New(dberr.LimitExceeded, "a row of %d bytes does not fit a message", n)
	}
	binary.BigEndian.PutUint32(w.out[start+1:], uint32(n))
	return w.drain()
}

// copyOut streams a query's rows as COPY data.
func (c *conn) copyOut(ctx context.Context, p *session.Portal) error {
	format := p.Copy()
	cols := p.Columns()
	codes := make([]uint16, len(cols))
	var binaryFlag byte
	if format.Binary {
		binaryFlag = 1
		for i := range codes {
			codes[i] = 1
		}
	}
	if err := c.w.send(&pgproto3.CopyOutResponse{OverallFormat: binaryFlag, ColumnFormatCodes: codes}); err != nil {
		return err
	}
	n := 0
	line, err := format.Head(nil, cols)
	if err != nil {
		return err
	}
	for {
		if len(line) > 0 {
			if err := c.w.send(&pgproto3.CopyData{Data: line}); err != nil {
				return err
			}
		}
		row, err := p.Next(ctx)
		if err != nil {
			return err
		}
		if row == nil {
			break
		}
		n++
		if line, err = format.Row(line[:0], cols, row); err != nil {
			return err
		}
	}
	if line = format.Tail(line[:0]); len(line) > 0 {
		if err := c.w.send(&pgproto3.CopyData{Data: line}); err != nil {
			return err
		}
	}
	return c.w.send(&pgproto3.CopyDone{})
}
