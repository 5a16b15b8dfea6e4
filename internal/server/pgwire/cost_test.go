package pgwire

import (
	"context"
	"net"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/session"
)

// counted is a listener whose connections count their reads and writes.
type counted struct {
	net.Listener
	reads, writes atomic.Int64
}

func (l *counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countedConn{c, l}, nil
}

type countedConn struct {
	net.Conn
	l *counted
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.l.reads.Add(1)
	return n, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	c.l.writes.Add(1)
	return c.Conn.Write(b)
}

// TestWhatAReplyCosts is docs/performance.md's word on the wire: a statement that is executed again is read in one call and answered in one, and
// the server allocates as little as promised.
func TestWhatAReplyCosts(t *testing.T) {
	eng, err := engine.Open(context.Background(), engine.Options{CacheBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &counted{Listener: inner}
	s := New(session.New(eng.Store(), session.Options{}), Options{})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		l.Close()
		<-served
		s.Shutdown(context.Background())
		eng.Close(context.Background())
	})
	ts := &testServer{Server: s, addr: inner.Addr().String()}
	c := ts.pgx(t)
	exec(t, c, "SELECT create_graph('main')", "CREATE CONSTRAINT u FOR (n:P) REQUIRE n.id IS UNIQUE",
		"SELECT * FROM cypher('main', $$ UNWIND range(1, 1000) AS x CREATE (:P {id: x, name: 'n' + toString(x)}) $$) AS (a agtype)")
	for _, q := range []struct {
		name, text string
		args       [][]byte
		allocs     float64
	}{
		{"one", "SELECT 1", nil, 12},
		{"point", "SELECT * FROM cypher('main', $$ MATCH (n:P {id: $id}) RETURN n.name $$, $1) AS (name text)", [][]byte{[]byte(`{"id": 77}`)}, 23},
		{"bare", "MATCH (n:P {id: $1}) RETURN n.name AS name", [][]byte{[]byte("77")}, 15},
	} {
		r := ts.open(t)
		r.f.Send(&pgproto3.Parse{Name: "q", Query: q.text})
		r.f.Send(&pgproto3.Sync{})
		ask := func() {
			if err := r.f.Flush(); err != nil {
				t.Fatal(err)
			}
			for {
				m, err := r.f.Receive()
				if err != nil {
					t.Fatal(err)
				}
				switch m := m.(type) {
				case *pgproto3.ErrorResponse:
					t.Fatal(m.Message)
				case *pgproto3.ReadyForQuery:
					return
				}
			}
		}
		ask()
		once := func() {
			r.f.Send(&pgproto3.Bind{PreparedStatement: "q", Parameters: q.args})
			r.f.Send(&pgproto3.Describe{ObjectType: 'P'})
			r.f.Send(&pgproto3.Execute{})
			r.f.Send(&pgproto3.Sync{})
			ask()
		}
		for range 20 {
			once()
		}
		gc := debug.SetGCPercent(-1) // a collection empties pools
		const n = 200
		var a, b runtime.MemStats
		runtime.ReadMemStats(&a)
		reads, writes := l.reads.Load(), l.writes.Load()
		for range n {
			once()
		}
		reads, writes = l.reads.Load()-reads, l.writes.Load()-writes
		runtime.ReadMemStats(&b)
		debug.SetGCPercent(gc)
		allocs := float64(b.Mallocs-a.Mallocs) / n
		t.Logf("%s: %.1f allocations with the client's, %d reads and %d writes for %d statements", q.name, allocs, reads, writes, n)
		if reads > n+1 || writes != n {
			t.Errorf("%s: %d statements took %d reads and %d writes", q.name, n, reads, writes)
		}
		if allocs > q.allocs && !raceDetector {
			t.Errorf("%s: %.1f allocations, %.0f at most were promised", q.name, allocs, q.allocs)
		}
	}
}
