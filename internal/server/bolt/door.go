package bolt

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
)

const tlsHandshake = 0x16 // first byte of a TLS client

// httpMethods are the first four bytes of HTTP requests.
var httpMethods = []string{"GET ", "HEAD", "POST", "PUT ", "DELE", "OPTI", "PATC", "CONN", "TRAC", "PRI "}

// replayed is a connection whose first bytes were read already.
type replayed struct {
	net.Conn
	r io.Reader
}

func (r *replayed) Read(b []byte) (int, error) { return r.r.Read(b) }

func (c *conn) reader(n net.Conn) *bufio.Reader { return bufio.NewReaderSize(n, 16<<10) }

// recognise finds out who speaks: a Bolt client, plain, encrypted or over a web socket, is served; others are told in their own words where
// they are (rules D7).
func (c *conn) recognise() (*bufio.Reader, error) {
	in := c.reader(c.sock)
	encrypted := false
	for {
		head, err := in.Peek(4)
		if err != nil {
			return nil, err
		}
		switch {
		case binary.BigEndian.Uint32(head) == magic:
			return in, nil
		case head[0] == tlsHandshake && !encrypted:
			if c.srv.opt.TLS == nil {
				c.wire.Write([]byte{0x15, 3, 1, 0, 2, 2, 40}) // TLS alert: handshake failure
				linger(c.wire)
				return nil, errHangUp
			}
			c.wire = tls.Server(&replayed{Conn: c.sock, r: in}, c.srv.opt.TLS)
			in, encrypted = c.reader(c.wire), true
			continue
		case slices.Contains(httpMethods, string(head)):
			ws, err := c.http(in)
			if ws == nil {
				return nil, err
			}
			c.wire = ws
			in = c.reader(ws)
			if head, err := in.Peek(4); err != nil || binary.BigEndian.Uint32(head) != magic {
				return nil, fmt.Errorf("no Bolt inside the web socket: %w", err)
			}
			return in, nil
		}
		if done, err := c.postgres(in); done {
			return nil, err
		}
	}
}

// Codes of PostgreSQL's first messages.
const (
	pgProtocol = 3
	pgSSL      = 80877103
	pgGSS      = 80877104
	pgCancel   = 80877102
)

// doorText tells a client of another protocol where it is.
const doorText = "This port speaks Bolt, the protocol of Neo4j's drivers."

// postgres answers a client of PostgreSQL's protocol. It first asks for encryption, in two ways; done is false when it may go on.
func (c *conn) postgres(in *bufio.Reader) (done bool, err error) {
	head, err := in.Peek(8)
	if err != nil {
		return true, err
	}
	n, code := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
	switch {
	case n == 8 && (code == pgSSL || code == pgGSS):
		in.Discard(8)
		_, err := c.wire.Write([]byte{'N'})
		return err != nil, err
	case code>>16 == pgProtocol && n < 10000:
		body := "SFATAL\x00VFATAL\x00C08P01\x00M" + strings.TrimSuffix(doorText, ".") + "\x00HConnect to the PostgreSQL port instead.\x00\x00"
		msg := binary.BigEndian.AppendUint32([]byte{'E'}, uint32(len(body)+4))
		c.wire.Write(append(msg, body...))
		linger(c.wire)
		return true, errHangUp
	case n == 16 && code == pgCancel:
		return true, errHangUp
	}
	io.WriteString(c.wire, doorText+"\n")
	linger(c.wire)
	return true, errHangUp
}
