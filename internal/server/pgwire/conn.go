package pgwire

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/session"
)

const (
	protocol3     = 3 << 16
	sslRequest    = 80877103
	cancelRequest = 80877102
	gssRequest    = 80877104
	boltMagic     = 0x6060B017
)

// conn is one client's connection, served by one goroutine.
type conn struct {
	srv    *Server
	sock   net.Conn // as accepted; w may encrypt over it
	w      *wire
	pid    int32
	secret uint32
	sess   *session.Session
	ending atomic.Bool
	idle   atomic.Bool // the client has let a transaction wait for too long

	guard    guard
	msg      messages
	skipping bool   // W3: dropping messages up to Sync
	text     string // the text that positions of errors refer to
}

// errHangUp ends a connection without a word.
var errHangUp = errors.New("hang up")

func (c *conn) serve() {
	remote := c.w.conn.RemoteAddr()
	c.w.conn.SetDeadline(time.Now().Add(c.srv.opt.StartupTimeout))
	err := c.startup()
	if err == nil {
		defer c.srv.unregister(c)
		defer c.sess.Close()
		c.wait()
		err = c.loop()
	}
	switch {
	case err == nil || errors.Is(err, errHangUp) || errors.Is(err, io.EOF):
	default:
		var ne net.Error
		switch {
		case errors.As(err, &ne) && ne.Timeout() && c.sess == nil:
			c.fatal(dberr.New(dberr.ProtocolViolation, "the connection was not set up within %v", c.srv.opt.StartupTimeout))
		case errors.As(err, &ne) || errors.Is(err, io.ErrUnexpectedEOF):
		default:
			c.fatal(err)
		}
		c.srv.opt.Log.Debug("connection ended", slog.Any("remote", remote), slog.Any("error", err))
	}
}

// fatal tells the client why its connection ends.
func (c *conn) fatal(err error) {
	e := dberr.As(err)
	c.w.conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
	c.w.out = c.w.out[:0] // what was not sent yet belongs to a conversation that is over
	c.w.send(errorResponse(e, "FATAL", ""))
	c.w.flush()
	linger(c.w.conn)
}

// linger reads what the client has still sent, for a short time: a socket that is closed with unread bytes is reset, and the last message
// would be lost.
func linger(c net.Conn) {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		h.CloseWrite()
	}
	c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	io.CopyN(io.Discard, c, 1<<20)
}

// terminate ends the connection from outside: what runs is cancelled, a waiting read is woken, a write that nobody reads is given up.
// It is called while the server's mutex is held, so that c.sess and c.w are what register saw.
func (c *conn) terminate() {
	c.ending.Store(true)
	c.sess.Cancel()
	c.w.conn.SetReadDeadline(time.Now())
	c.w.conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
}

// wait takes the limits of the startup off; those of a shutdown stay.
func (c *conn) wait() {
	c.w.conn.SetDeadline(time.Time{})
	if c.ending.Load() {
		c.w.conn.SetReadDeadline(time.Now())
		c.w.conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
	}
}

func (c *conn) startup() error {
	encrypted := false
	for {
		if done, err := c.wrongDoor(); done {
			return err
		}
		if head, _ := c.w.in.Peek(1); head[0] == tlsHandshake && !encrypted { // PostgreSQL 17's direct negotiation
			c.w = newWire(tls.Server(&replayed{Conn: c.w.conn, r: c.w.in}, c.srv.opt.TLS))
			encrypted = true
			continue
		}
		code, body, err := c.w.readStartup()
		if err != nil {
			return err
		}
		switch {
		case code == sslRequest && encrypted:
			return dberr.New(dberr.ProtocolViolation, "the connection is encrypted already")
		case code == sslRequest:
			if c.srv.opt.TLS == nil {
				if _, err := c.w.conn.Write([]byte{'N'}); err != nil {
					return err
				}
				continue
			}
			if c.w.in.Buffered() > 0 { // bytes sent in the clear before the handshake must not be taken for encrypted ones
				return dberr.New(dberr.ProtocolViolation, "received unencrypted data after SSL request")
			}
			if _, err := c.w.conn.Write([]byte{'S'}); err != nil {
				return err
			}
			c.w = newWire(tls.Server(c.w.conn, c.srv.opt.TLS))
			encrypted = true
		case code == gssRequest:
			if _, err := c.w.conn.Write([]byte{'N'}); err != nil {
				return err
			}
		case code == cancelRequest:
			if len(body) == 8 {
				c.srv.cancel(int32(binary.BigEndian.Uint32(body)), binary.BigEndian.Uint32(body[4:]))
			}
			return errHangUp
		case code>>16 == 3:
			return c.begin(code, body)
		default:
			return dberr.New(dberr.ProtocolViolation, "unsupported frontend protocol %d.%d: server supports 3.0", code>>16, code&0xFFFF)
		}
	}
}

const tlsHandshake = 0x16 // first byte of a TLS client

// httpMethods are the first four bytes of HTTP requests.
var httpMethods = []string{"GET ", "HEAD", "POST", "PUT ", "DELE", "OPTI", "PATC", "CONN", "TRAC", "PRI "}

// replayed is a connection whose first bytes were read already.
type replayed struct {
	net.Conn
	r io.Reader
}

func (r *replayed) Read(b []byte) (int, error) { return r.r.Read(b) }

// wrongDoor answers a client of another protocol in its own words (rules D7).
func (c *conn) wrongDoor() (bool, error) {
	head, err := c.w.in.Peek(4)
	if err != nil {
		return true, err
	}
	switch {
	case binary.BigEndian.Uint32(head) == boltMagic:
		c.w.conn.Write([]byte{0, 0, 0, 0}) // "no version in common": all that Bolt lets a server say here
		return true, errHangUp
	case slices.Contains(httpMethods, string(head)):
		text := "This port speaks PostgreSQL's protocol. Connect with psql or a PostgreSQL driver; HTTP has a port of its own.\n"
		fmt.Fprintf(c.w.conn, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(text), text)
		linger(c.w.conn)
		return true, errHangUp
	case head[0] == tlsHandshake && c.srv.opt.TLS == nil:
		c.w.conn.Write([]byte{0x15, 3, 1, 0, 2, 2, 40}) // TLS alert: handshake failure
		return true, errHangUp
	}
	return false, nil
}

// startupParameters reads the names and values of a startup message.
func startupParameters(body []byte) (map[string]string, error) {
	if !utf8.Valid(body) {
		return nil, dberr.New(dberr.InvalidEncoding, `invalid byte sequence for encoding "UTF8" in startup packet`)
	}
	params := map[string]string{}
	for rest := string(body); ; {
		name, tail, ok := strings.Cut(rest, "\x00")
		if ok && name == "" {
			return params, nil
		}
		v, tail, ok2 := strings.Cut(tail, "\x00")
		if !ok || !ok2 {
			return nil, dberr.New(dberr.ProtocolViolation, "invalid startup packet layout: expected terminator as last byte")
		}
		params[name], rest = v, tail
	}
}

func (c *conn) begin(code uint32, body []byte) error {
	params, err := startupParameters(body)
	if err != nil {
		return err
	}
	if code != protocol3 {
		var odd []string
		for k := range params {
			if strings.HasPrefix(k, "_pq_.") {
				odd = append(odd, k)
			}
		}
		if err := c.w.send(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: 0, UnrecognizedOptions: odd}); err != nil {
			return err
		}
	}
	user := params["user"]
	if user == "" {
		return dberr.New(dberr.InvalidAuthorization, "no PostgreSQL user name specified in startup packet")
	}
	if c.srv.opt.Auth == Password {
		if err := c.scram(user); err != nil {
			return err
		}
	}
	database := params["database"]
	if database == "" {
		database = user
	}
	sess := c.srv.db.Open(session.Client{User: user, Database: database, Application: params["application_name"],
		Address: c.sock.RemoteAddr().String(), Protocol: "postgres", Served: c.sock.LocalAddr().String()})
	c.sess = sess
	if err := c.srv.register(c); err != nil {
		sess.Close()
		c.sess = nil
		if errors.Is(err, errFull) {
			return tooMany(c.srv.opt.MaxConnections)
		}
		return dberr.New(dberr.ShuttingDown, "the database system is shutting down")
	}
	sess.SetConnection(fmt.Sprintf("pg-%d", c.pid))
	if err := c.settings(params); err != nil {
		c.srv.unregister(c)
		sess.Close()
		return err
	}
	c.w.max = maxMessage
	return nil
}

func (c *conn) settings(params map[string]string) error {
	for name, v := range params {
		switch {
		case name == "user" || name == "database" || name == "replication" || strings.HasPrefix(name, "_pq_."):
		case name == "options":
			for _, opt := range optionWords(v) {
				k, val, ok := strings.Cut(opt, "=")
				if !ok {
					return dberr.New(dberr.Syntax, "invalid command-line argument for server process: %s", opt)
				}
				if err := c.sess.Startup(k, val); err != nil {
					return err
				}
			}
		default:
			if err := c.sess.Startup(name, v); err != nil {
				return err
			}
		}
	}
	if err := c.w.send(&pgproto3.AuthenticationOk{}); err != nil {
		return err
	}
	for _, name := range session.Reported {
		if err := c.parameter(name, c.sess.Setting(name)); err != nil {
			return err
		}
	}
	c.sess.OnReport = func(name, v string) { c.parameter(name, v) }
	c.sess.OnNotice = func(n session.Notice) {
		c.w.send(&pgproto3.NoticeResponse{Severity: n.Severity, SeverityUnlocalized: n.Severity, Code: n.Code, Message: n.Message, Detail: n.Detail, Hint: n.Hint})
	}
	key := binary.BigEndian.AppendUint32(nil, c.secret)
	if err := c.w.send(&pgproto3.BackendKeyData{ProcessID: uint32(c.pid), SecretKey: key}); err != nil {
		return err
	}
	return c.ready()
}

// optionWords reads libpq's options: -c name=value or --name=value, with backslash escapes.
func optionWords(s string) []string {
	var words []string
	var w strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			w.WriteByte(s[i])
		case s[i] == ' ':
			if w.Len() > 0 {
				words = append(words, w.String())
				w.Reset()
			}
		default:
			w.WriteByte(s[i])
		}
	}
	if w.Len() > 0 {
		words = append(words, w.String())
	}
	var out []string
	for i := 0; i < len(words); i++ {
		switch {
		case words[i] == "-c" && i+1 < len(words):
			i++
			out = append(out, words[i])
		case strings.HasPrefix(words[i], "-c"):
			out = append(out, words[i][2:])
		case strings.HasPrefix(words[i], "--"):
			k, v, _ := strings.Cut(words[i][2:], "=")
			out = append(out, strings.ReplaceAll(k, "-", "_")+"="+v)
		default:
			out = append(out, words[i])
		}
	}
	return out
}

func (c *conn) parameter(name, v string) error {
	return c.w.send(&pgproto3.ParameterStatus{Name: name, Value: v})
}

func (c *conn) ready() error {
	c.w.out = append(c.w.out, 'Z', 0, 0, 0, 5, c.sess.Status())
	return c.w.flush()
}

// idled ends the connection of a client that has left a transaction open for too long.
func (c *conn) idled() {
	c.idle.Store(true)
	c.w.conn.SetReadDeadline(time.Now())
}

func (c *conn) loop() error {
	idled := c.idled
	for {
		c.sess.Idle(idled)
		kind, body, err := c.w.read()
		c.sess.Wake()
		if c.idle.Load() {
			return dberr.New(dberr.IdleTimeout, "terminating connection due to idle-in-transaction timeout")
		}
		if c.ending.Load() {
			return dberr.New(dberr.ShuttingDown, "terminating connection due to administrator command")
		}
		if err == errTooLong {
			if err := c.report(err); err != nil {
				return err
			}
			if kind == 'Q' {
				if err := c.ready(); err != nil {
					return err
				}
			} else {
				c.skipping = true
			}
			continue
		}
		if err != nil {
			return err
		}
		if kind == 'X' {
			return errHangUp
		}
		if c.skipping && kind != 'S' {
			continue
		}
		if err := c.message(kind, body); err != nil {
			return err
		}
	}
}

// message answers one message. The error it returns ends the connection; a statement's error was told to the client.
func (c *conn) message(kind byte, body []byte) (err error) {
	defer func() {
		if p := recover(); p != nil { // W5
			c.srv.opt.Log.Error("panic while serving a statement", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			usable := c.sess.Abort()
			fault := dberr.New(dberr.Internal, "internal error: %v", p).WithHint("This is a fault of Hedgerow; the log has the details.")
			if !usable {
				err = fault
				return
			}
			err = c.report(fault)
			if err == nil {
				if kind == 'Q' {
					err = c.ready()
				} else {
					c.skipping = true
					err = c.w.flush()
				}
			}
		}
	}()
	switch kind {
	case 'Q':
		return c.query(body)
	case 'S':
		c.skipping = false
		if err := c.sess.EndImplicit(context.Background()); err != nil {
			if err := c.report(err); err != nil {
				return err
			}
		}
		return c.ready()
	case 'H':
		return c.w.flush()
	case 'P', 'B', 'D', 'E', 'C':
		err := c.extended(kind, body)
		if err == nil {
			return nil
		}
		if isNet(err) {
			return err
		}
		c.skipping = true
		if err := c.report(err); err != nil {
			return err
		}
		return c.w.flush() // a client that waits after a Flush, not a Sync, must hear of it: what it sends up to the Sync is dropped
	case 'd', 'c', 'f':
		return nil // late data of a COPY that failed: dropped, as in PostgreSQL
	case 'F':
		if err := c.report(dberr.New(dberr.FeatureNotSupported, "function call protocol messages are not supported").WithHint("Use SELECT function(…).")); err != nil {
			return err
		}
		return c.ready()
	}
	return dberr.New(dberr.ProtocolViolation, "invalid frontend message type %d", kind)
}

// report tells the client of a statement's error and marks the transaction as failed.
func (c *conn) report(err error) error {
	c.sess.Fail()
	return c.w.send(errorResponse(dberr.As(err), "ERROR", c.text))
}

// errorResponse prints an error as PostgreSQL does; text is what its byte position refers to.
func errorResponse(e *dberr.Error, severity, text string) *pgproto3.ErrorResponse {
	msg := e.Error()
	if e.AGEText != "" {
		msg = e.AGEText
	}
	r := &pgproto3.ErrorResponse{
		Severity: severity, SeverityUnlocalized: severity, Code: e.Code.SQLState(), Message: clean(msg), Detail: clean(e.Detail), Hint: clean(e.Hint),
		ConstraintName: clean(e.Constraint), TableName: clean(e.Table), ColumnName: clean(e.Column),
	}
	if e.Pos >= 0 && e.Pos <= len(text) && text != "" {
		r.Position = int32(utf8.RuneCountInString(text[:e.Pos])) + 1
	}
	return r
}

// clean makes a string that fits a protocol field: no NUL, valid UTF-8.
func clean(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", `\0`)
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// watch cancels the running statement when the client goes away. After unwatch the connection can be read again.
func (c *conn) watch() {
	g := &c.guard
	g.state.Store(0)
	if g.timer == nil {
		g.done = make(chan struct{}, 1)
		g.timer = time.AfterFunc(watchAfter, c.guarding)
		return
	}
	g.timer.Reset(watchAfter)
}

// watchAfter is how long a statement runs before somebody looks whether its client is still there.
const watchAfter = 200 * time.Millisecond

// guard is the watch over the client of the statement that runs.
type guard struct {
	timer *time.Timer   // nil before the first watch
	state atomic.Int32  // 0 waiting for its time, 1 watching, 2 stopped
	done  chan struct{} // one for each time that the timer has fired
}

// guarding waits for the client to go away.
func (c *conn) guarding() {
	defer func() { c.guard.done <- struct{}{} }()
	if !c.guard.state.CompareAndSwap(0, 1) {
		return
	}
	_, err := c.w.in.Peek(1)
	var ne net.Error
	if err != nil && !(errors.As(err, &ne) && ne.Timeout()) {
		c.sess.Cancel()
	}
}

// unwatch ends the watch.
func (c *conn) unwatch() {
	g := &c.guard
	if g.timer.Stop() {
		return
	}
	if g.state.CompareAndSwap(0, 2) {
		<-g.done
		return
	}
	c.w.conn.SetReadDeadline(time.Now())
	<-g.done
	c.w.conn.SetReadDeadline(time.Time{})
	if c.ending.Load() { // terminate may have come in between
		c.w.conn.SetReadDeadline(time.Now())
	}
}
