package pgwire

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/session"
)

// Auth says how clients prove who they are.
type Auth uint8

const (
	Trust    Auth = iota // anybody; on loopback only
	Password             // SCRAM-SHA-256
)

// Options of a Server. The zero value trusts everybody and has no TLS.
type Options struct {
	Auth           Auth
	TLS            *tls.Config // nil refuses TLS
	MaxConnections int         // zero means 200
	StartupTimeout time.Duration
	Log            *slog.Logger
	// Verifier returns the stored SCRAM secret of a user ("SCRAM-SHA-256$…"), or "".
	Verifier func(user string) string
}

// Server accepts PostgreSQL connections.
type Server struct {
	db  *session.Database
	opt Options

	mu     sync.Mutex            // guards the fields below
	conns  map[int32]*conn       // sessions
	socks  map[net.Conn]struct{} // all sockets, those without a session too
	nextID int32
	closed bool
	wg     sync.WaitGroup
}

// New returns a server over db.
func New(db *session.Database, opt Options) *Server {
	if opt.MaxConnections == 0 {
		opt.MaxConnections = 200
	}
	if opt.StartupTimeout == 0 {
		opt.StartupTimeout = 30 * time.Second
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{db: db, opt: opt, conns: map[int32]*conn{}, socks: map[net.Conn]struct{}{}}
}

// Serve accepts connections until the listener is closed.
func (s *Server) Serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			s.opt.Log.Warn("accept failed", slog.Any("error", err))
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if t, ok := c.(*net.TCPConn); ok {
			t.SetNoDelay(true)
			t.SetKeepAlive(true)
		}
		if !s.admit(c) {
			c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
			w := newWire(c)
			w.send(errorResponse(tooMany(s.opt.MaxConnections), "FATAL", ""))
			w.flush()
			c.Close()
			continue
		}
		go func() {
			defer s.leave(c)
			(&conn{srv: s, sock: c, w: newWire(c)}).serve()
		}()
	}
}

// startups is how many sockets there may be beside the sessions: clients that are being authenticated, that cancel, or that say nothing.
const startups = 256

func tooMany(limit int) *dberr.Error {
	return dberr.New(dberr.TooManyConnections, "sorry, too many clients already").
		WithHint("At most %d connections are allowed; see --max-connections.", limit)
}

func (s *Server) admit(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.socks) >= s.opt.MaxConnections+startups {
		return false
	}
	s.socks[c] = struct{}{}
	s.wg.Add(1)
	if s.closed {
		c.Close()
	}
	return true
}

func (s *Server) leave(c net.Conn) {
	c.Close()
	s.mu.Lock()
	delete(s.socks, c)
	s.mu.Unlock()
	s.wg.Done()
}

// Shutdown tells every client that the server is ending, cancels what runs, and waits for the connections.
// The caller closes the listener first.
func (s *Server) Shutdown(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	sessions := map[net.Conn]bool{}
	for _, c := range s.conns {
		c.terminate()
		sessions[c.sock] = true
	}
	for c := range s.socks {
		if !sessions[c] { // nobody who has no session yet gets one
			c.Close()
		}
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() { s.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		s.mu.Lock()
		for c := range s.socks {
			c.Close()
		}
		s.mu.Unlock()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			s.opt.Log.Warn("connections did not end", slog.Int("sessions", s.db.Sessions()))
		}
	}
}

var (
	errFull   = errors.New("too many connections")
	errEnding = errors.New("shutting down")
)

func (s *Server) register(c *conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errEnding
	case len(s.conns) >= s.opt.MaxConnections:
		return errFull
	}
	for {
		s.nextID = s.nextID&0x7FFFFFF + 1
		if s.conns[s.nextID] == nil {
			break
		}
	}
	var secret [4]byte
	rand.Read(secret[:])
	c.pid, c.secret = s.nextID, binary.BigEndian.Uint32(secret[:])
	s.conns[c.pid] = c
	return nil
}

func (s *Server) unregister(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c.pid)
}

// cancel interrupts what the connection with the key runs; a wrong key does nothing, as in PostgreSQL.
func (s *Server) cancel(pid int32, secret uint32) {
	s.mu.Lock()
	c := s.conns[pid]
	s.mu.Unlock()
	if c != nil && c.secret == secret {
		c.sess.Cancel()
	}
}
