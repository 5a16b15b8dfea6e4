package pgwire

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"go.uber.org/goleak"

	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logBuffer keeps what the server logs.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

type testServer struct {
	*Server
	addr string
	db   *session.Database
	log  *logBuffer
	stop func()
}

// serve starts a server over an empty database in memory; it is stopped when the test ends.
func serve(t testing.TB, opt Options) *testServer {
	t.Helper()
	eng, err := engine.Open(context.Background(), engine.Options{CacheBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	logs := &logBuffer{}
	opt.Log = slog.New(slog.NewTextHandler(logs, nil))
	db := session.New(eng.Store(), session.Options{Log: opt.Log, TempDir: t.TempDir(), Checkpoint: eng.Checkpoint})
	s := New(db, opt)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	var once sync.Once
	ts := &testServer{Server: s, addr: l.Addr().String(), db: db, log: logs}
	ts.stop = func() {
		once.Do(func() {
			l.Close()
			if err := <-served; err != nil {
				t.Error(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			s.Shutdown(ctx)
			if n := db.Sessions(); n != 0 {
				t.Errorf("%d sessions are left after the shutdown", n)
			}
			if err := eng.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(ts.stop)
	return ts
}

// pgx connects with pgx.
func (s *testServer) pgx(t testing.TB, opts ...func(*pgx.ConnConfig)) *pgx.Conn {
	t.Helper()
	conf, err := pgx.ParseConfig("postgres://tester@" + s.addr + "/main?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range opts {
		o(conf)
	}
	c, err := pgx.ConnectConfig(context.Background(), conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// alive checks that the server still serves.
func (s *testServer) alive(t testing.TB) {
	t.Helper()
	c := s.pgx(t)
	defer c.Close(context.Background())
	var n int
	if err := c.QueryRow(context.Background(), "SELECT 1").Scan(&n); err != nil || n != 1 {
		t.Fatalf("the server does not answer any more: %v", err)
	}
}

// raw is a client that says exactly what a test wants.
type raw struct {
	t testing.TB
	net.Conn
	f *pgproto3.Frontend
}

func (s *testServer) dial(t testing.TB) *raw {
	t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return &raw{t, c, pgproto3.NewFrontend(c, c)}
}

// open dials and goes through the startup.
func (s *testServer) open(t testing.TB) *raw {
	t.Helper()
	r := s.dial(t)
	r.send(&pgproto3.StartupMessage{ProtocolVersion: protocol3, Parameters: map[string]string{"user": "raw", "database": "main"}})
	r.until("ReadyForQuery")
	return r
}

func (r *raw) send(msgs ...pgproto3.FrontendMessage) {
	r.t.Helper()
	for _, m := range msgs {
		r.f.Send(m)
	}
	if err := r.f.Flush(); err != nil {
		r.t.Fatal(err)
	}
}

func name(m pgproto3.BackendMessage) string {
	return strings.TrimPrefix(strings.Split(typeName(m), ".")[1], "*")
}

// say prints a message in one line.
func say(m pgproto3.BackendMessage) string {
	switch m := m.(type) {
	case *pgproto3.ErrorResponse:
		return "ErrorResponse " + m.Severity + " " + m.Code
	case *pgproto3.ReadyForQuery:
		return "ReadyForQuery " + string(m.TxStatus)
	case *pgproto3.CommandComplete:
		return "CommandComplete " + string(m.CommandTag)
	case *pgproto3.DataRow:
		var vals []string
		for _, v := range m.Values {
			if v == nil {
				vals = append(vals, "NULL")
			} else {
				vals = append(vals, string(v))
			}
		}
		return "DataRow " + strings.Join(vals, "|")
	case *pgproto3.NoticeResponse:
		return "NoticeResponse " + m.Message
	}
	return name(m)
}

// until reads messages up to one of a kind and returns what was said.
func (r *raw) until(kind string) []string {
	r.t.Helper()
	var out []string
	for {
		m, err := r.f.Receive()
		if err != nil {
			r.t.Fatalf("after %q: %v", out, err)
		}
		out = append(out, say(m))
		if name(m) == kind {
			return out
		}
	}
}

// query sends a simple Query and returns the answer.
func (r *raw) query(text string) []string {
	r.t.Helper()
	r.send(&pgproto3.Query{String: text})
	return r.until("ReadyForQuery")
}

// end expects that the server says an error and closes.
func (r *raw) end() string {
	r.t.Helper()
	last := ""
	for {
		m, err := r.f.Receive()
		if err != nil {
			return last
		}
		if e, ok := m.(*pgproto3.ErrorResponse); ok {
			last = e.Severity + " " + e.Code + " " + e.Message
		}
	}
}

// message frames a body by hand.
func message(kind byte, body []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4))
	return append(b, body...)
}

func readAll(c net.Conn) string {
	b, _ := io.ReadAll(c)
	return string(b)
}

func typeName(m any) string { return strings.TrimPrefix(fmt.Sprintf("%T", m), "*") }
