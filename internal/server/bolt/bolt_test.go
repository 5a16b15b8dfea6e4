package bolt

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/server/bolt/packstream"
	"github.com/hedgerowdb/hedgerow/internal/session"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

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
	eng, err := engine.Open(context.Background(), engine.Options{CacheBytes: 32 << 20})
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

// client speaks Bolt by hand.
type client struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
	v    version
}

// reply is a message of the server.
type reply struct {
	tag   byte
	field value.Value
	raw   []byte
}

func (r reply) String() string {
	names := map[byte]string{msgSuccess: "SUCCESS", msgRecord: "RECORD", msgIgnored: "IGNORED", msgFailure: "FAILURE", 0: "CLOSED"}
	if r.tag == msgIgnored || r.tag == 0 {
		return names[r.tag]
	}
	return names[r.tag] + " " + string(value.AppendTCK(nil, r.field))
}

func (r reply) get(key string) value.Value {
	v, _ := r.field.Get(key)
	return v
}

// code is the Neo4j code of a failure.
func (r reply) code() string { return r.get("code").Text() + r.get("neo4j_code").Text() }

func (s *testServer) raw(t testing.TB) *client {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	return &client{t: t, conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
}

// shake agrees on one version.
func (c *client) shake(v version) {
	c.t.Helper()
	c.v = v
	c.write([]byte{0x60, 0x60, 0xB0, 0x17, 0, 0, v.minor, v.major, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	var got [4]byte
	if _, err := io.ReadFull(c.in, got[:]); err != nil || got != [4]byte{0, 0, v.minor, v.major} {
		c.t.Fatalf("version %v is answered by %x, %v", v, got, err)
	}
}

// dial opens a connection that is ready for statements.
func (s *testServer) dial(t testing.TB, v version) *client {
	t.Helper()
	c := s.raw(t)
	c.shake(v)
	c.hello()
	return c
}

func (c *client) hello() {
	c.t.Helper()
	auth := `scheme: 'none'`
	if c.v.logon() {
		c.ok("HELLO {user_agent: 'test/1'}")
		c.ok("LOGON {" + auth + "}")
		return
	}
	c.ok("HELLO {user_agent: 'test/1', patch_bolt: ['utc'], " + auth + "}")
}

func (c *client) write(b []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// frame puts a message into chunks.
func frame(body []byte) []byte { return appendChunked(append([]byte{0, 0}, body...), 0) }

// requestOf builds a request from its text: a name and values in TCK notation.
func requestOf(t testing.TB, text string) []byte {
	t.Helper()
	name, rest, _ := bytes.Cut([]byte(text), []byte(" "))
	v, err := value.ParseTCK("[" + strings.ReplaceAll(string(rest), `\n`, "\n") + "]")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var tag byte
	for k, m := range messages {
		if m.name == string(name) {
			tag = k
		}
	}
	if tag == 0 {
		t.Fatalf("there is no message %s", name)
	}
	b := packstream.AppendStruct(nil, v.Len(), tag)
	for _, f := range v.All() {
		if b, err = packstream.Append(b, f, packstream.Format{UTC: true}); err != nil {
			t.Fatal(err)
		}
	}
	return frame(b)
}

func (c *client) send(texts ...string) {
	c.t.Helper()
	var out []byte
	for _, s := range texts {
		out = append(out, requestOf(c.t, s)...)
	}
	c.write(out)
}

// recv reads one message; a closed connection is a reply of tag 0.
func (c *client) recv() reply {
	c.t.Helper()
	r := chunks{in: c.in}
	r.raise(maxMessage)
	body, err := r.next()
	if err != nil {
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			c.t.Fatal("the server does not answer")
		}
		return reply{}
	}
	d := packstream.NewDecoder(body)
	n, tag, err := d.Struct()
	if err != nil || n > 1 {
		c.t.Fatalf("%x: %v", body, err)
	}
	out := reply{tag: tag, raw: body}
	if n == 1 {
		if out.field, err = d.Value(); err != nil {
			c.t.Fatalf("%x: %v", body, err)
		}
	}
	if d.Rest() > 0 {
		c.t.Fatalf("%x: %d bytes too many", body, d.Rest())
	}
	return out
}

// summary reads up to the next message that is no record, and returns the number of records before it.
func (c *client) summary() (reply, int) {
	c.t.Helper()
	for n := 0; ; n++ {
		if r := c.recv(); r.tag != msgRecord {
			return r, n
		}
	}
}

func (c *client) do(text string) reply {
	c.t.Helper()
	c.send(text)
	return c.recv()
}

// ok sends a message that must succeed.
func (c *client) ok(text string) reply {
	c.t.Helper()
	r := c.do(text)
	if r.tag != msgSuccess {
		c.t.Fatalf("%s: %v", text, r)
	}
	return r
}

// query runs a statement to its end and returns the first column of its rows.
func (c *client) query(text string) (out []value.Value, sum reply) {
	c.t.Helper()
	c.send(fmt.Sprintf("RUN %s, {}, {}", value.AppendTCK(nil, value.NewString(text))), "PULL {n: -1}")
	if r := c.recv(); r.tag != msgSuccess {
		c.t.Fatalf("%s: %v", text, r)
	}
	for {
		r := c.recv()
		if r.tag == msgRecord {
			if r.field.Len() > 0 {
				out = append(out, r.field.At(0))
			}
			continue
		}
		if r.tag != msgSuccess {
			c.t.Fatalf("%s: %v", text, r)
		}
		return out, r
	}
}

// one returns the single integer that a statement gives.
func (c *client) one(text string) int64 {
	c.t.Helper()
	rows, _ := c.query(text)
	if len(rows) != 1 || rows[0].Kind() != value.Int {
		c.t.Fatalf("%s gives %d rows", text, len(rows))
	}
	return rows[0].Int()
}

// closed reports whether the server has ended the connection.
func (c *client) closed() bool {
	c.t.Helper()
	return c.recv().tag == 0
}

// alive checks that the server still serves.
func (s *testServer) alive(t testing.TB) {
	t.Helper()
	c := s.dial(t, versions[0])
	if n := c.one("RETURN 1 AS x"); n != 1 {
		t.Fatalf("RETURN 1 gives %d", n)
	}
	c.conn.Close()
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
