package bolt

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/server/bolt/packstream"
	"github.com/hedgerowdb/hedgerow/internal/session"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// state is where a conversation stands.
type state uint8

const (
	negotiation    state = iota // HELLO is to come
	authentication              // LOGON is to come
	ready
	streaming   // an auto-commit statement has rows to be pulled
	txReady     // inside BEGIN … COMMIT
	txStreaming // … with open results
	failed      // everything up to RESET is ignored
	numStates
)

var stateNames = [numStates]string{"NEGOTIATION", "AUTHENTICATION", "READY", "STREAMING", "TX_READY", "TX_STREAMING", "FAILED"}

func (s state) String() string { return stateNames[s] }

// conn is one client's connection.
type conn struct {
	srv  *Server
	sock net.Conn // as accepted
	id   string

	// Set before the goroutines begin.
	wire       net.Conn // sock, or what is encrypted or wrapped over it
	in         *chunks
	out        *outbox
	version    version
	byManifest bool

	// Used by the answering goroutine alone.
	sess    *session.Session
	state   state
	format  packstream.Format
	user    string
	filter  filter // of the connection
	buf     []byte // answers that were not handed over yet
	tx      *transaction
	results map[int64]*result
	nextQID int64
	last    int64 // the result that is meant when none is named
	current *result

	queue  chan request
	queued atomic.Int64 // bytes in queue
	room   chan struct{}
	ended  chan struct{} // the answering goroutine has ended
	ending atomic.Bool   // the server is shutting down
	busy   atomic.Bool   // an answer is being made
	late   atomic.Bool   // … for some time
	alive  *time.Timer   // calls keepAlive

	mu     sync.Mutex // guards the fields below
	resets int        // RESETs that were read and not answered
	gone   bool       // the client has hung up
	work   context.Context
	stop   context.CancelFunc // ends work: what runs for the client
}

// request is a message, or the reason why there are no more.
type request struct {
	body []byte
	err  error
}

const (
	maxQueue       = 1024     // messages that are read ahead
	maxQueuedBytes = 16 << 20 // bytes of them, a single longer one apart
)

func newConn(s *Server, sock net.Conn, id string) *conn {
	c := &conn{srv: s, sock: sock, id: id, wire: sock, queue: make(chan request, maxQueue), room: make(chan struct{}, 1), ended: make(chan struct{}),
		results: map[int64]*result{}, buf: make([]byte, 0, 1024)}
	c.work, c.stop = context.WithCancel(context.Background())
	return c
}

// terminate ends the connection from outside: what runs is cancelled, a waiting read is woken, a write that nobody reads is given up.
func (c *conn) terminate() {
	c.ending.Store(true)
	c.mu.Lock()
	c.stop()
	c.mu.Unlock()
	c.sock.SetReadDeadline(time.Now())
	c.sock.SetWriteDeadline(time.Now().Add(2 * time.Second))
}

// wait takes the limits of the startup off; those of a shutdown stay.
func (c *conn) wait() {
	c.sock.SetDeadline(time.Time{})
	if c.ending.Load() {
		c.sock.SetReadDeadline(time.Now())
		c.sock.SetWriteDeadline(time.Now().Add(2 * time.Second))
	}
}

func (c *conn) serve() {
	c.sock.SetDeadline(time.Now().Add(c.srv.opt.StartupTimeout))
	if c.ending.Load() { // terminate may have come in between
		c.sock.SetReadDeadline(time.Now())
	}
	in, ok := c.open()
	if !ok {
		return
	}
	c.in = &chunks{in: in}
	c.in.raise(maxHello)
	c.out = newOutbox(c.wire)
	c.alive = time.AfterFunc(time.Hour, c.keepAlive)
	c.alive.Stop()
	go c.read()
	c.loop()
	c.alive.Stop()
	if c.sess != nil {
		c.logoff()
	}
	close(c.ended)
	c.out.close(2 * time.Second)
	linger(c.wire)
	c.sock.Close() // wakes the reader
	for range c.queue {
	}
	c.stop()
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

// ---- reading ----------------------------------------------------------------------------------------------------------

// read takes messages off the socket until it ends. A RESET interrupts what runs at once.
func (c *conn) read() {
	defer close(c.queue)
	for {
		body, err := c.in.next()
		if err != nil {
			if !dberr.Is(err, dberr.ProtocolViolation) {
				c.hangUp()
			}
			c.push(request{err: err})
			return
		}
		if isReset(body) {
			c.interrupt()
		}
		if !c.push(request{body: body}) {
			return
		}
	}
}

func isReset(body []byte) bool { return len(body) == 2 && body[0] == 0xB0 && body[1] == msgReset }

// push queues a request and waits while too much is queued (B1). It reports whether the connection still answers.
func (c *conn) push(r request) bool {
	n := int64(len(r.body))
	for c.queued.Load() > 0 && c.queued.Load()+n > maxQueuedBytes {
		select {
		case <-c.room:
		case <-c.ended:
			return false
		}
	}
	c.queued.Add(n)
	select {
	case c.queue <- r:
		return true
	case <-c.ended:
		return false
	}
}

// interrupt notes a RESET.
func (c *conn) interrupt() {
	c.mu.Lock()
	c.resets++
	c.stop()
	c.mu.Unlock()
	c.out.rush(true)
}

// hangUp notes that the client is gone.
func (c *conn) hangUp() {
	c.mu.Lock()
	c.gone = true
	c.stop()
	c.mu.Unlock()
	if !c.ending.Load() {
		c.out.abandon()
	}
}

// interrupted reports whether a RESET is on its way to be answered.
func (c *conn) interrupted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resets > 0
}

// context is what runs for the client runs under.
func (c *conn) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.work
}

// resume ends the interruption of one RESET.
func (c *conn) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resets--; c.resets > 0 {
		return
	}
	c.out.rush(false)
	if !c.gone && !c.ending.Load() {
		c.stop()
		c.work, c.stop = context.WithCancel(context.Background())
	}
}

// ---- answering --------------------------------------------------------------------------------------------------------

// errHangUp ends a connection without a word.
var errHangUp = errors.New("hang up")

// fatalError ends a connection with a last word.
type fatalError struct{ error }

func (e fatalError) Unwrap() error { return e.error }

func (c *conn) loop() {
	for {
		if len(c.queue) == 0 {
			if err := c.flush(); err != nil {
				return
			}
		}
		if c.sess != nil {
			c.sess.Idle(nil)
		}
		r, open := <-c.queue
		if c.sess != nil {
			c.sess.Wake()
		}
		if !open {
			return
		}
		if n := c.queued.Add(-int64(len(r.body))); n < maxQueuedBytes {
			select {
			case c.room <- struct{}{}:
			default:
			}
		}
		err := r.err
		if err == nil {
			err = c.message(r.body)
		}
		if err != nil {
			c.end(err)
			return
		}
	}
}

// end says why the connection ends, if there is anybody to hear it.
func (c *conn) end(err error) {
	var fatal fatalError
	switch {
	case errors.Is(err, errHangUp):
	case errors.As(err, &fatal) || dberr.Is(err, dberr.ProtocolViolation):
		c.buf = c.appendFailure(c.buf, dberr.As(err), "")
	default:
		c.srv.opt.Log.Debug("connection ended", slog.String("connection", c.id), slog.Any("error", err))
	}
	c.out.rush(true)
	c.flush()
}

// flush hands the answers over to be written, park to be written with those that follow, or soon.
func (c *conn) flush() error { return c.handOver(true) }
func (c *conn) park() error  { return c.handOver(false) }

func (c *conn) handOver(now bool) error {
	if len(c.buf) == 0 {
		return nil
	}
	err := c.out.put(c.buf, now)
	if cap(c.buf) > keepBuffer {
		c.buf = make([]byte, 0, 1024)
	}
	c.buf = c.buf[:0]
	return err
}

// soon is after what time of work on a message the answers to those before it are written.
const soon = 10 * time.Millisecond

// keepAlive is called while an answer is being made: at first soon, to write what was parked, then to send empty chunks.
func (c *conn) keepAlive() {
	if !c.busy.Load() {
		return
	}
	if c.late.Swap(true) {
		c.out.nudge()
	} else {
		c.out.wake()
	}
	c.alive.Reset(c.srv.opt.KeepAlive)
}

// message answers one message. The error it returns ends the connection; what concerns a statement was told to the client.
func (c *conn) message(body []byte) (err error) {
	d := packstream.NewDecoder(body)
	n, tag, err := d.Struct()
	if err != nil {
		return err
	}
	m, ok := messages[tag]
	switch {
	case !ok || !m.in(c.version):
		return dberr.New(dberr.ProtocolViolation, "there is no message %#02x in Bolt %v", tag, c.version)
	case tag == msgGoodbye:
		return errHangUp
	case tag == msgReset:
	case c.state == failed || c.interrupted() && c.state >= ready:
		c.ignore()
		return nil
	}
	if !m.states[c.state] {
		return dberr.New(dberr.ProtocolViolation, "message %s cannot be handled in the state %v", m.name, c.state)
	}
	fields, err := m.decode(d, n)
	if err == nil {
		err = c.answer(m, fields)
	}
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(fatalError)) || dberr.Is(err, dberr.ProtocolViolation) || errors.Is(err, errGone) || errors.Is(err, errHangUp):
		return err
	}
	c.fail(err)
	return nil
}

// answer calls a message's handler. A panic in it is the failure of the statement (B7).
func (c *conn) answer(m *message, fields []value.Value) (err error) {
	if err := c.park(); err != nil {
		return err
	}
	c.busy.Store(true)
	c.late.Store(false)
	c.alive.Reset(soon)
	defer func() {
		c.busy.Store(false)
		c.alive.Stop()
		if p := recover(); p != nil {
			c.srv.opt.Log.Error("panic while serving a statement", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = dberr.New(dberr.Internal, "internal error: %v", p).WithHint("This is a fault of Hedgerow; the log has the details.")
			if c.sess == nil || !c.sess.Abort() {
				err = fatalError{err}
			}
		}
	}()
	return m.handle(c, fields)
}

// success sends SUCCESS.
func (c *conn) success(meta value.Value) {
	start := len(c.buf)
	b := packstream.AppendStruct(append(c.buf, 0, 0), 1, msgSuccess)
	b, _ = packstream.Append(b, meta, c.format)
	c.buf = appendChunked(b, start)
}

func (c *conn) ignore() {
	start := len(c.buf)
	c.buf = appendChunked(packstream.AppendStruct(append(c.buf, 0, 0), 0, msgIgnored), start)
}

// fail tells the client of a failure; what was open is undone, and everything up to the next RESET is ignored (B3).
func (c *conn) fail(err error) {
	text := ""
	if c.current != nil {
		text = c.current.text
	}
	if c.ending.Load() && dberr.Is(err, dberr.Canceled) {
		err = dberr.New(dberr.ShuttingDown, "the server is shutting down")
	}
	c.buf = c.appendFailure(c.buf, dberr.As(err), text)
	c.state = failed
	c.abandon()
}

// abandon closes all results and rolls back.
func (c *conn) abandon() {
	c.current = nil
	for _, r := range c.results {
		r.portal.Close()
	}
	clear(c.results)
	if c.tx != nil {
		c.tx.end()
		c.tx = nil
	}
	if c.sess != nil {
		c.sess.Rollback()
	}
}

// reset answers RESET.
func (c *conn) reset([]value.Value) error {
	c.abandon()
	c.state = ready
	c.resume()
	c.success(noMeta)
	return nil
}

// open speaks with the client until a version of the protocol is agreed on, and returns what its messages are read from.
func (c *conn) open() (in *bufio.Reader, ok bool) {
	in, err := c.recognise()
	if err == nil {
		var agreed bool
		c.version, c.byManifest, agreed, err = handshake(in, c.wire)
		if err == nil && agreed {
			c.format = c.version.format(false)
			return in, true
		}
	}
	if !errors.Is(err, errHangUp) {
		linger(c.wire)
	}
	c.srv.opt.Log.Debug("no conversation", slog.String("connection", c.id), slog.Any("remote", c.sock.RemoteAddr()), slog.Any("error", err))
	return nil, false
}
