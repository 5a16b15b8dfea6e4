package bolt

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/session"
)

// Options of a Server. The zero value trusts everybody and has no TLS.
type Options struct {
	// Verify reports whether a password is a user's; nil trusts everybody.
	Verify         func(user, password string) bool
	TLS            *tls.Config // nil refuses TLS
	MaxConnections int         // zero means 200
	StartupTimeout time.Duration
	// BookmarkTimeout is how long a transaction waits for a bookmark that this database has not reached; zero means 10 s.
	BookmarkTimeout time.Duration
	// KeepAlive is how often a client that waits for an answer gets an empty chunk; zero means 20 s.
	KeepAlive time.Duration
	// Agent is the server's name for drivers; "" means DefaultAgent of the version "devel". Some drivers accept only names that begin with
	// Neo4j/.
	Agent string
	// Address is where routed clients find this server, as host:port; "" means the address that they came by.
	Address string
	Log     *slog.Logger
}

// DefaultAgent is the name by which drivers know the server.
func DefaultAgent(version string) string { return "Neo4j/5.26.0 compatible (Hedgerow/" + version + ")" }

// Server accepts Bolt connections.
type Server struct {
	db  *session.Database
	opt Options

	mu     sync.Mutex // guards the fields below
	conns  map[net.Conn]*conn
	known  int // connections whose client has proved who it is
	nextID int64
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
	if opt.BookmarkTimeout == 0 {
		opt.BookmarkTimeout = 10 * time.Second
	}
	if opt.KeepAlive == 0 {
		opt.KeepAlive = 20 * time.Second
	}
	if opt.Agent == "" {
		opt.Agent = DefaultAgent("devel")
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{db: db, opt: opt, conns: map[net.Conn]*conn{}}
}

// startups is how many sockets there may be beside the sessions: clients that are being authenticated, or that say nothing.
const startups = 256

// Serve accepts connections until the listener is closed.
func (s *Server) Serve(l net.Listener) error {
	for {
		sock, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			s.opt.Log.Warn("accept failed", slog.Any("error", err))
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if t, ok := sock.(*net.TCPConn); ok {
			t.SetNoDelay(true)
			t.SetKeepAlive(true)
		}
		c := s.admit(sock)
		if c == nil {
			sock.Close() // before a version is agreed on, Bolt has no words for the reason
			continue
		}
		go func() {
			defer s.leave(c)
			c.serve()
		}()
	}
}

func (s *Server) admit(sock net.Conn) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.conns) >= s.opt.MaxConnections+startups {
		return nil
	}
	s.nextID++
	c := newConn(s, sock, "bolt-"+strconv.FormatInt(s.nextID, 10))
	s.conns[sock] = c
	s.wg.Add(1)
	return c
}

func (s *Server) leave(c *conn) {
	c.sock.Close()
	s.mu.Lock()
	delete(s.conns, c.sock)
	s.mu.Unlock()
	s.wg.Done()
}

// enter counts a client that has proved who it is.
func (s *Server) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known >= s.opt.MaxConnections {
		return dberr.New(dberr.TooManyConnections, "there are too many clients already").
			WithHint("At most %d connections are allowed; see --max-connections.", s.opt.MaxConnections)
	}
	s.known++
	return nil
}

func (s *Server) exit() {
	s.mu.Lock()
	s.known--
	s.mu.Unlock()
}

// Shutdown tells every client that the server is ending, cancels what runs, and waits for the connections. The caller closes the listener
// first.
func (s *Server) Shutdown(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	for _, c := range s.conns {
		c.terminate()
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() { s.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		s.mu.Lock()
		for sock := range s.conns {
			sock.Close()
		}
		s.mu.Unlock()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			s.opt.Log.Warn("connections did not end", slog.Int("sessions", s.db.Sessions()))
		}
	}
}
