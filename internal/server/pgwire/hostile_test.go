package pgwire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// TestOtherProtocols: a client of another protocol is told so in its own words, or hung up on (W2, rules D7).
func TestOtherProtocols(t *testing.T) {
	s := serve(t, Options{})
	for _, c := range []struct{ name, send, want string }{
		{"http", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{"http2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{"bolt", "\x60\x60\xb0\x17\x00\x00\x01\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x00"},
		{"tls", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "\x15\x03\x01\x00\x02\x02\x28"},
		{"ssh", "SSH-2.0-OpenSSH_9.2\r\n", "FATAL"},
		{"redis", "*1\r\n$4\r\nPING\r\n", "FATAL"},
		{"old postgres", "\x00\x00\x00\x08\x00\x02\x00\x00", "unsupported frontend protocol 2.0"},
		{"zeros", strings.Repeat("\x00", 64), "FATAL"},
		{"short length", "\x00\x00\x00\x01\x00\x03\x00\x00", "FATAL"},
		{"huge length", "\x7f\xff\xff\xff\x00\x03\x00\x00", "FATAL"},
		{"no user", "\x00\x00\x00\x09\x00\x03\x00\x00\x00", "no PostgreSQL user name"},
		{"no terminator", "\x00\x00\x00\x0c\x00\x03\x00\x00user", "invalid startup packet layout"},
		{"not utf8", "\x00\x00\x00\x11\x00\x03\x00\x00user\x00\xff\x00\x00\x00", "invalid byte sequence"},
	} {
		r := s.dial(t)
		r.Write([]byte(c.send))
		if got := readAll(r.Conn); !strings.Contains(got, c.want) {
			t.Errorf("%s: answered %q, want %q", c.name, got, c.want)
		}
	}
	s.alive(t)
}

// TestHalfMessages cuts a conversation at every byte and hangs up (W2).
func TestHalfMessages(t *testing.T) {
	s := serve(t, Options{})
	start, _ := (&pgproto3.StartupMessage{ProtocolVersion: protocol3, Parameters: map[string]string{"user": "u"}}).Encode(nil)
	talk := start
	for _, m := range []pgproto3.FrontendMessage{
		&pgproto3.Query{String: "SELECT 1"}, &pgproto3.Parse{Query: "SELECT $1::int"}, &pgproto3.Bind{Parameters: [][]byte{[]byte("1")}},
		&pgproto3.Execute{}, &pgproto3.Sync{},
	} {
		talk, _ = m.Encode(talk)
	}
	for n := range len(talk) {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		c.Write(talk[:n])
		c.Close()
	}
	s.alive(t)
}

// TestGarbage sends random bytes before and after a proper startup.
func TestGarbage(t *testing.T) {
	s := serve(t, Options{StartupTimeout: 2 * time.Second})
	rnd := rand.New(rand.NewPCG(1, 2))
	var wg sync.WaitGroup
	for i := range 100 {
		junk := make([]byte, rnd.IntN(3000))
		for k := range junk {
			junk[k] = byte(rnd.Uint32())
		}
		started := i%2 == 0
		wg.Add(1)
		go func() {
			defer wg.Done()
			c, err := net.Dial("tcp", s.addr)
			if err != nil {
				return
			}
			defer c.Close()
			if started {
				b, _ := (&pgproto3.StartupMessage{ProtocolVersion: protocol3, Parameters: map[string]string{"user": "u"}}).Encode(nil)
				c.Write(b)
			}
			c.Write(junk)
			if t, ok := c.(*net.TCPConn); ok {
				t.CloseWrite()
			}
			c.SetReadDeadline(time.Now().Add(5 * time.Second))
			io.Copy(io.Discard, c)
		}()
	}
	wg.Wait()
	s.alive(t)
}

// TestDeclaredLengths: a length is not believed before its bytes have come (W1).
func TestDeclaredLengths(t *testing.T) {
	s := serve(t, Options{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var conns []*raw
	for range 20 {
		r := s.open(t)
		r.Write(binary.BigEndian.AppendUint32([]byte{'B'}, maxMessage))
		r.Write([]byte("only these"))
		conns = append(conns, r)
	}
	time.Sleep(100 * time.Millisecond)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 32<<20 {
		t.Errorf("20 declared lengths of %d bytes took %d bytes of memory", maxMessage, grown)
	}
	for _, r := range conns {
		r.Close()
	}
	for _, n := range []uint32{0, 3, maxMessage + 5, 0xFFFFFFFF} {
		r := s.open(t)
		r.Write(binary.BigEndian.AppendUint32([]byte{'Q'}, n))
		if got := r.end(); !strings.HasPrefix(got, "FATAL 08P01 invalid message length") {
			t.Errorf("length %d: %q", n, got)
		}
	}
	// A client that is not known yet gets no large messages.
	p := serve(t, Options{Auth: Password})
	r := p.dial(t)
	r.send(&pgproto3.StartupMessage{ProtocolVersion: protocol3, Parameters: map[string]string{"user": "u"}})
	r.Write(binary.BigEndian.AppendUint32([]byte{'p'}, maxStartup+10))
	if got := r.end(); !strings.HasPrefix(got, "FATAL 08P01") {
		t.Errorf("large message before authentication: %q", got)
	}
	s.alive(t)
}

// TestLimits holds the limits of rules C12: each is a clear error, and the session goes on.
func TestLimits(t *testing.T) {
	s := serve(t, Options{})
	r := s.open(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r.SetDeadline(time.Now().Add(time.Minute))

	long := append([]byte("SELECT '"), make([]byte, 100<<20)...)
	for i := 8; i < len(long); i++ {
		long[i] = 'x'
	}
	r.Write(message('Q', append(long, "'\x00"...)))
	long = nil
	want := []string{"ErrorResponse ERROR 54000", "ReadyForQuery I"}
	if got := r.until("ReadyForQuery"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("100 MB of text: %q", got)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 48<<20 {
		t.Errorf("a text of 100 MB left %d bytes of memory behind", grown)
	}

	for _, c := range []struct{ name, text, want string }{
		{"just too long", "SELECT '" + strings.Repeat("x", maxStatement) + "'", "54000"},
		{"parentheses", "SELECT " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000), "54001"},
		{"open parentheses", "SELECT " + strings.Repeat("(", 5000), "54001"},
		{"cypher parentheses", "RETURN " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000), "54001"},
		{"cypher lists", "RETURN " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "54001"},
		{"inside cypher()", "SELECT * FROM cypher('main', $$ RETURN " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000) + " $$) AS (a agtype)", "54001"},
		{"subqueries", strings.Repeat("SELECT (", 2000) + "1" + strings.Repeat(")", 2000), "54001"},
		{"nots", "SELECT " + strings.Repeat("NOT ", 5000) + "true", "54001"},
		{"agtype", "SELECT '" + strings.Repeat("[", 100000) + "'::agtype", ""},
		{"parameter number", "SELECT $65536", ""},
		{"parameter number of cypher", "RETURN $99999999", ""},
		{"invalid utf8", "SELECT '\xff\xfe'", "22021"},
		{"NUL", "SELECT '\x00'", "08P01"},
	} {
		r.Write(message('Q', append([]byte(c.text), 0)))
		got := r.until("ReadyForQuery")
		if len(got) != 2 || !strings.HasPrefix(got[0], "ErrorResponse ERROR "+c.want) || got[1] != "ReadyForQuery I" {
			t.Errorf("%s: %.200q", c.name, got)
		}
		r.Write(message('P', append(append([]byte{0}, c.text...), 0, 0, 0)))
		r.Write(message('S', nil))
		got = r.until("ReadyForQuery")
		if len(got) != 2 || !strings.HasPrefix(got[0], "ErrorResponse ERROR") || got[1] != "ReadyForQuery I" {
			t.Errorf("%s, as Parse: %.200q", c.name, got)
		}
	}
	// Deep, but allowed.
	deep := "SELECT " + strings.Repeat("(", 900) + "1" + strings.Repeat(")", 900)
	if got := r.query(deep); got[1] != "DataRow 1" {
		t.Errorf("900 parentheses: %.200q", got)
	}
	many := strings.Repeat("SELECT 1;", 3000)
	if got := r.query(many); len(got) != 3000*3+1 {
		t.Errorf("3,000 statements gave %d messages", len(got))
	}
	s.alive(t)
}

// TestBadMessages: a broken body is an error of the statement, an unknown kind ends the connection.
func TestBadMessages(t *testing.T) {
	s := serve(t, Options{})
	r := s.open(t)
	for kind, bodies := range map[byte][]string{
		'P': {"", "x", "a\x00b", "a\x00b\x00", "a\x00SELECT 1\x00\xff\xff", "\x00SELECT 1\x00\x00\x05\x00\x00\x00\x17"},
		'B': {"", "x", "\x00\x00", "\x00\x00\x00\x01\x00\x07\x00\x00\x00\x00", "\x00\x00\x00\x00\x00\x01\xff\xff\xff\x00", "\x00nosuch\x00\x00\x00\x00\x00\x00\x00"},
		'D': {"", "S", "Xname\x00", "Snosuch\x00", "Pnosuch\x00"},
		'E': {"", "x", "\x00", "nosuch\x00\x00\x00\x00\x00"},
		'C': {"", "X\x00", "S"},
	} {
		for _, body := range bodies {
			r.Write(message(kind, []byte(body)))
			r.Write(message('E', []byte("\x00\x00\x00\x00\x00"))) // skipped (W3)
			r.Write(message('S', nil))
			got := r.until("ReadyForQuery")
			if len(got) != 2 || !strings.HasPrefix(got[0], "ErrorResponse ERROR") || got[1] != "ReadyForQuery I" {
				t.Errorf("%c %q: %q", kind, body, got)
			}
		}
	}
	for _, kind := range []byte{'d', 'c', 'f'} { // late COPY data is dropped
		r.Write(message(kind, []byte("x\x00")))
	}
	r.Write(message('F', []byte("\x00\x00\x00\x01")))
	if got := r.until("ReadyForQuery"); got[0] != "ErrorResponse ERROR 0A000" {
		t.Errorf("function call: %q", got)
	}
	r.Write(message('!', nil))
	if got := r.end(); !strings.HasPrefix(got, "FATAL 08P01 invalid frontend message type 33") {
		t.Errorf("unknown message: %q", got)
	}
	s.alive(t)
}

// TestTooManyConnections opens thousands of sockets; those over the limit are told so, those within it work.
func TestTooManyConnections(t *testing.T) {
	s := serve(t, Options{MaxConnections: 5, StartupTimeout: 3 * time.Second})
	var held []*pgx.Conn
	for range 5 {
		held = append(held, s.pgx(t))
	}
	conf, _ := pgx.ParseConfig("postgres://x@" + s.addr + "/main?sslmode=disable")
	_, err := pgx.ConnectConfig(context.Background(), conf)
	var pe *pgconn.PgError
	if !errors.As(err, &pe) || pe.Code != "53300" {
		t.Fatalf("the sixth connection: %v", err)
	}
	before := runtime.NumGoroutine()
	var idle []net.Conn
	refused := 0
	for range 2000 {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			break
		}
		idle = append(idle, c)
	}
	time.Sleep(200 * time.Millisecond)
	if n := runtime.NumGoroutine() - before; n > startups+20 {
		t.Errorf("2,000 silent sockets made %d goroutines", n)
	}
	for _, c := range idle[len(idle)-50:] {
		c.SetReadDeadline(time.Now().Add(time.Second))
		if strings.Contains(readAll(c), "53300") {
			refused++
		}
	}
	if refused != 50 {
		t.Errorf("%d of the last 50 sockets were told that there are too many", refused)
	}
	for _, c := range held {
		if err := c.Ping(context.Background()); err != nil {
			t.Error(err)
		}
	}
	for _, c := range idle {
		c.Close()
	}
	held[0].Close(context.Background())
	deadline := time.Now().Add(5 * time.Second)
	for {
		c, err := pgx.ConnectConfig(context.Background(), conf)
		if err == nil {
			c.Close(context.Background())
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a place that became free cannot be taken: ", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestSilentClient: a client that says nothing is let go.
func TestSilentClient(t *testing.T) {
	s := serve(t, Options{StartupTimeout: 100 * time.Millisecond})
	r := s.dial(t)
	r.Write([]byte{0, 0})
	start := time.Now()
	readAll(r.Conn)
	if time.Since(start) > 30*time.Second {
		t.Error("a silent client was kept")
	}
}

// TestShutdown ends what runs, tells the clients, and leaves nobody behind.
func TestShutdown(t *testing.T) {
	s := serve(t, Options{})
	idle, busy, reading := s.open(t), s.open(t), s.open(t)
	pending := s.dial(t)
	busy.send(&pgproto3.Query{String: "SELECT pg_sleep(60)"})
	reading.send(&pgproto3.Query{String: "SELECT repeat('x', 1000) FROM generate_series(1, 10000000)"}) // and does not read
	time.Sleep(300 * time.Millisecond)
	start := time.Now()
	s.stop()
	if d := time.Since(start); d > 30*time.Second {
		t.Errorf("the shutdown took %v", d)
	}
	if got := idle.end(); !strings.HasPrefix(got, "FATAL 57P01") {
		t.Errorf("idle client: %q", got)
	}
	if got := busy.end(); !strings.HasPrefix(got, "FATAL 57P01") {
		t.Errorf("busy client: %q", got)
	}
	readAll(pending.Conn)
}

// TestLostClient: the statement of a client that went away is cancelled.
func TestLostClient(t *testing.T) {
	s := serve(t, Options{})
	r := s.open(t)
	r.send(&pgproto3.Query{String: "SELECT pg_sleep(60)"})
	time.Sleep(50 * time.Millisecond)
	r.Close()
	deadline := time.Now().Add(5 * time.Second)
	for s.db.Sessions() > 0 {
		if time.Now().After(deadline) {
			t.Fatal("the session of a lost client goes on")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func FuzzMessages(f *testing.F) {
	eng := serve(f, Options{StartupTimeout: 500 * time.Millisecond})
	for _, m := range []pgproto3.FrontendMessage{
		&pgproto3.Query{String: "SELECT 1; RETURN 1"}, &pgproto3.Parse{Name: "a", Query: "SELECT $1::int", ParameterOIDs: []uint32{23}},
		&pgproto3.Bind{PreparedStatement: "a", Parameters: [][]byte{{0, 0, 0, 1}}, ParameterFormatCodes: []int16{1}, ResultFormatCodes: []int16{1}},
		&pgproto3.Describe{ObjectType: 'S', Name: "a"}, &pgproto3.Execute{MaxRows: 1}, &pgproto3.Close{ObjectType: 'P'}, &pgproto3.Sync{}, &pgproto3.Flush{},
	} {
		b, _ := m.Encode(nil)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := net.Dial("tcp", eng.addr)
		if err != nil {
			t.Skip()
		}
		defer c.Close()
		start, _ := (&pgproto3.StartupMessage{ProtocolVersion: protocol3, Parameters: map[string]string{"user": "u"}}).Encode(nil)
		c.Write(append(start, b...))
		c.(*net.TCPConn).CloseWrite()
		c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.Copy(io.Discard, c); err != nil {
			var ne net.Error
			if errors.As(err, &ne) && ne.Timeout() {
				t.Fatal("no answer and no end")
			}
		}
		if strings.Contains(eng.log.String(), "panic") {
			t.Fatal(eng.log.String())
		}
	})
}

func FuzzStartup(f *testing.F) {
	f.Add([]byte("user\x00a\x00database\x00b\x00options\x00-c work_mem=1MB --x-y=z -cfoo\x00\x00"))
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		params, err := startupParameters(b)
		if err == nil {
			optionWords(params["options"])
		}
	})
}
