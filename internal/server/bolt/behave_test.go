package bolt

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const endless = `RUN 'UNWIND range(1, 100000000) AS x RETURN x, "some text to fill the row with, so that little of it fits a buffer" AS s', {}, {}`

// TestReset: RESET ends what runs at once, while rows are being written and the client does not read them, and while it writes none.
func TestReset(t *testing.T) {
	s := serve(t, Options{})
	for name, text := range map[string]string{
		"unread rows": endless,
		"no rows":     `RUN 'UNWIND range(1, 1000000000) AS x WITH x WHERE x < 0 RETURN x', {}, {}`,
		"writing":     `RUN 'UNWIND range(1, 1000000000) AS x CREATE (:X {x: x})', {}, {}`,
	} {
		c := s.dial(t, version{5, 4})
		c.send(text, "PULL {n: -1}", "RUN 'RETURN 1 AS x', {}, {}", "PULL {n: -1}")
		time.Sleep(200 * time.Millisecond)
		c.send("RESET")
		// Another client sees at once that nothing is held any more.
		other := s.dial(t, version{5, 4})
		start := time.Now()
		for s.busy() > 0 {
			if time.Since(start) > 30*time.Second {
				t.Fatalf("%s: the statement goes on after RESET", name)
			}
			time.Sleep(5 * time.Millisecond)
		}
		other.one("RETURN 1 AS x")
		if r := c.recv(); r.tag != msgSuccess {
			t.Fatalf("%s: RUN: %v", name, r)
		}
		if r, _ := c.summary(); r.code() != "Neo.ClientError.Transaction.Terminated" {
			t.Errorf("%s: the interrupted PULL is answered by %v", name, r)
		}
		for _, want := range []byte{msgIgnored, msgIgnored, msgSuccess} {
			if r := c.recv(); r.tag != want {
				t.Errorf("%s: %v, want %#x", name, r, want)
			}
		}
		if n := c.one("MATCH (n:X) RETURN count(n) AS n"); n != 0 {
			t.Errorf("%s: %d nodes of an interrupted statement are left", name, n)
		}
		c.conn.Close()
		other.conn.Close()
	}
}

// busy counts connections that are making an answer.
func (s *testServer) busy() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		if c.busy.Load() {
			n++
		}
	}
	return n
}

// TestResets: each RESET of a row is answered; what stands between them is ignored, even a transaction.
func TestResets(t *testing.T) {
	s := serve(t, Options{})
	c := s.dial(t, version{5, 4})
	c.send("BEGIN {}", "RUN 'CREATE (:A)', {}, {}", "PULL {n: -1}")
	for range 3 {
		c.recv()
	}
	c.send("RESET", "RESET", "RESET")
	for range 3 {
		if r := c.recv(); r.tag != msgSuccess {
			t.Errorf("RESET: %v", r)
		}
	}
	if n := c.one("MATCH (n:A) RETURN count(n) AS n"); n != 0 {
		t.Errorf("%d nodes of a transaction that was reset", n)
	}
}

// TestFlat: a result is made as it is pulled (B6): 2,000,000 rows, of which the client reads as many as it likes.
func TestFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 2,000,000 rows; not with -short")
	}
	s := serve(t, Options{})
	c := s.dial(t, version{5, 4})
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse)
	}
	c.ok(`RUN 'UNWIND range(1, 2000000) AS x RETURN x, "some text to fill the row with" AS s', {}, {}`)
	c.send("PULL {n: 1000000}")
	time.Sleep(300 * time.Millisecond) // nobody reads
	before := heap()
	for i := range 1_000_000 {
		if r := c.recv(); r.tag != msgRecord || r.field.At(0).Int() != int64(i+1) {
			t.Fatalf("row %d: %v", i, r)
		}
		if i%250_000 == 0 {
			if grown := heap() - before; grown > 8<<20 {
				t.Fatalf("after %d rows the heap has grown by %d bytes", i, grown)
			}
		}
	}
	if r := c.recv(); !r.get("has_more").Bool() {
		t.Fatalf("after a million: %v", r)
	}
	c.send("PULL {n: -1}")
	if r, n := c.summary(); n != 1_000_000 || r.tag != msgSuccess {
		t.Errorf("%d rows, %v", n, r)
	}
}

// TestGone: a client that hangs up ends its statement and its transaction.
func TestGone(t *testing.T) {
	s := serve(t, Options{})
	for _, text := range []string{endless, `RUN 'UNWIND range(1, 1000000000) AS x WITH x WHERE x < 0 RETURN x', {}, {}`} {
		c := s.dial(t, version{5, 4})
		c.ok("BEGIN {}")
		c.ok("RUN 'CREATE (:Z {k: 1})', {}, {}")
		c.ok("DISCARD {n: -1}")
		c.send(text, "PULL {n: -1}")
		time.Sleep(100 * time.Millisecond)
		c.conn.Close()
		start := time.Now()
		for s.db.Sessions() > 0 {
			if time.Since(start) > 30*time.Second {
				t.Fatal("the session goes on without its client")
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	c := s.dial(t, version{5, 4})
	if n := c.one("MATCH (n:Z) RETURN count(n) AS n"); n != 0 {
		t.Errorf("%d nodes of a client that has gone", n)
	}
}

// TestTimeout: a transaction's time limit ends what runs, and what does not run.
func TestTimeout(t *testing.T) {
	s := serve(t, Options{})
	const code = "Neo.ClientError.Transaction.TransactionTimedOut"
	c := s.dial(t, version{5, 4})
	c.ok(`RUN 'UNWIND range(1, 1000000000) AS x WITH x WHERE x < 0 RETURN x', {}, {tx_timeout: 100}`)
	if r := c.do("PULL {n: -1}"); r.code() != code {
		t.Errorf("a running statement: %v", r)
	}
	c.ok("RESET")
	c.ok("BEGIN {tx_timeout: 100}")
	c.ok("RUN 'CREATE (:A {x: 1})', {}, {}")
	c.ok("DISCARD {n: -1}")
	time.Sleep(300 * time.Millisecond)
	other := s.dial(t, version{5, 4})
	if n := other.one("MATCH (n:A) RETURN count(n) AS n"); n != 0 {
		t.Errorf("%d nodes of a transaction whose time is over", n)
	}
	if r := c.do("COMMIT"); r.code() != code {
		t.Errorf("an idle transaction: %v", r)
	}
	c.ok("RESET")
	// A statement that has committed is past its limit; its rows are still there to be read.
	c.ok("RUN 'UNWIND range(1, 10) AS x CREATE (n:B) RETURN x', {}, {tx_timeout: 100}")
	c.ok2("PULL {n: 1}")
	time.Sleep(200 * time.Millisecond)
	c.send("PULL {n: -1}")
	if r, n := c.summary(); n != 9 || r.tag != msgSuccess {
		t.Errorf("%d rows, then %v", n, r)
	}
}

// TestTerminate: what a client says of its transaction is shown to others, who may end it.
func TestTerminate(t *testing.T) {
	s := serve(t, Options{})
	c, other := s.dial(t, version{5, 8}), s.dial(t, version{5, 8})
	c.ok("BEGIN {tx_metadata: {app: 'shop', try: 2}}")
	c.ok("RUN 'CREATE (:Gone)', {}, {}")
	c.ok("DISCARD {n: -1}")
	rows, _ := other.query("SHOW TRANSACTIONS YIELD transactionId, metaData, protocol WHERE metaData.app = \"shop\" AND metaData.try = 2 AND protocol = \"bolt\" RETURN transactionId")
	if len(rows) != 1 {
		t.Fatalf("%d transactions are shown", len(rows))
	}
	other.query("TERMINATE TRANSACTIONS '" + rows[0].Text() + "'")
	if r := c.do("RUN 'RETURN 1 AS x', {}, {}"); r.code() != "Neo.ClientError.Transaction.Terminated" && c.do("PULL {n: -1}").code() != "Neo.ClientError.Transaction.Terminated" {
		t.Errorf("a transaction that was ended by somebody else: %v", r)
	}
	c.ok("RESET")
	if n := c.one("MATCH (n:Gone) RETURN count(n) AS n"); n != 0 {
		t.Errorf("%d of its nodes are left", n)
	}
}

// ok2 is ok for a message that is answered by rows first.
func (c *client) ok2(text string) {
	c.t.Helper()
	c.send(text)
	if r, _ := c.summary(); r.tag != msgSuccess {
		c.t.Fatalf("%s: %v", text, r)
	}
}

// TestBookmarks: a transaction sees what its bookmarks name, and does not wait for ever for what never comes.
func TestBookmarks(t *testing.T) {
	s := serve(t, Options{BookmarkTimeout: 300 * time.Millisecond})
	c := s.dial(t, version{5, 8})
	_, sum := c.query("CREATE (:A)")
	mark := sum.get("bookmark").Text()
	other := s.dial(t, version{5, 8})
	other.ok(fmt.Sprintf("BEGIN {bookmarks: ['%s']}", mark))
	other.ok("RUN 'MATCH (n:A) RETURN count(n) AS n', {}, {}")
	other.send("PULL {n: -1}")
	if r := other.recv(); r.field.At(0).Int() != 1 {
		t.Errorf("behind a bookmark: %v", r)
	}
	other.recv()
	other.ok("COMMIT")
	far := fmt.Sprintf("%s%x", bookmarkPrefix, s.db.Position()+1)
	if r := other.do(fmt.Sprintf("BEGIN {bookmarks: ['%s']}", far)); r.code() != "Neo.TransientError.Transaction.BookmarkTimeout" {
		t.Errorf("a bookmark of the future: %v", r)
	}
	other.ok("RESET")
	other.send(fmt.Sprintf("BEGIN {bookmarks: ['%s']}", far))
	c.query("CREATE (:A)") // now it comes
	if r := other.recv(); r.tag != msgSuccess {
		t.Errorf("a bookmark that comes: %v", r)
	}
}

// TestAuth: only who knows the password gets in, in every version; a wrong one ends the connection.
func TestAuth(t *testing.T) {
	s := serve(t, Options{Verify: func(u, p string) bool { return u == "ada" && p == "pw" }})
	for _, v := range []version{{4, 4}, {5, 0}, {5, 1}, {5, 8}} {
		for token, good := range map[string]bool{
			"scheme: 'basic', principal: 'ada', credentials: 'pw'": true, "scheme: 'basic', principal: 'ada', credentials: 'no'": false, "scheme: 'none'": false,
			"scheme: 'basic', principal: 'ada'": false, "scheme: 'bearer', credentials: 'pw'": false, "": false,
		} {
			c := s.raw(t)
			c.shake(v)
			var r reply
			if v.logon() {
				c.ok("HELLO {user_agent: 'x/1'}")
				r = c.do("LOGON {" + token + "}")
			} else {
				r = c.do("HELLO {" + token + "}")
			}
			switch {
			case good && r.tag != msgSuccess:
				t.Errorf("%v: %s: %v", v, token, r)
			case !good && (r.code() != "Neo.ClientError.Security.Unauthorized" || !c.closed()):
				t.Errorf("%v: %s: %v", v, token, r)
			}
			c.conn.Close()
		}
	}
}

// TestPanic: a fault in one statement ends that statement (B7).
func TestPanic(t *testing.T) {
	s := serve(t, Options{})
	testPanic = func(text string) {
		if strings.Contains(text, "boom") {
			panic("boom")
		}
	}
	defer func() { testPanic = nil }()
	c := s.dial(t, version{5, 8})
	c.ok("BEGIN {}")
	if r := c.do("RUN 'RETURN \"boom\" AS x', {}, {}"); r.code() != "Neo.DatabaseError.General.UnknownError" {
		t.Errorf("a panic: %v", r)
	}
	c.ok("RESET")
	if n := c.one("RETURN 7 AS x"); n != 7 {
		t.Errorf("after it: %d", n)
	}
	if !strings.Contains(s.log.String(), "boom") {
		t.Error("the log does not tell")
	}
}

// TestShutdown: what runs is told that the server is ending.
func TestShutdown(t *testing.T) {
	s := serve(t, Options{})
	idle, c := s.dial(t, version{5, 4}), s.dial(t, version{5, 4})
	unread := s.dial(t, version{5, 4})
	unread.send(endless, "PULL {n: -1}")
	c.ok(`RUN 'UNWIND range(1, 1000000000) AS x WITH x WHERE x < 0 RETURN x', {}, {}`)
	c.send("PULL {n: -1}")
	time.Sleep(100 * time.Millisecond)
	start := time.Now()
	s.stop()
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("stopping takes %v", took)
	}
	if r := c.recv(); r.code() != "Neo.TransientError.General.DatabaseUnavailable" {
		t.Errorf("a running statement: %v", r)
	}
	if !idle.closed() {
		t.Error("an idle connection is still open")
	}
}

// TestKeepAlive: who waits for an answer gets empty chunks.
func TestKeepAlive(t *testing.T) {
	s := serve(t, Options{KeepAlive: 20 * time.Millisecond})
	c := s.dial(t, version{5, 4})
	c.send(`RUN 'UNWIND range(1, 1000000000) AS x WITH x WHERE x < 0 RETURN x', {}, {tx_timeout: 300}`, "PULL {n: -1}")
	if r := c.recv(); r.tag != msgSuccess {
		t.Fatal(r)
	}
	for range 5 {
		var b [2]byte
		if _, err := io.ReadFull(c.in, b[:]); err != nil || b != [2]byte{} {
			t.Fatalf("%x, %v instead of an empty chunk", b, err)
		}
	}
	if r := c.recv(); r.tag != msgFailure {
		t.Errorf("after the empty chunks: %v", r)
	}
	c.write(make([]byte, 20)) // ours mean as little
	c.ok("RESET")
}

// TestLargeValues: strings and lists beyond a chunk, both ways.
func TestLargeValues(t *testing.T) {
	s := serve(t, Options{})
	c := s.dial(t, version{5, 8})
	for _, n := range []int{65530, 65535, 65536, 131070, 131075, 1 << 20, 5_000_000} {
		text := strings.Repeat("é", n/2)
		c.send("RUN 'RETURN $p AS p, size($p) AS n', {p: '"+text+"'}, {}", "PULL {n: -1}")
		c.recv()
		if r := c.recv(); r.tag != msgRecord || r.field.At(0).Text() != text || r.field.At(1).Int() != int64(n/2) {
			t.Fatalf("%d bytes came back as %d", n, len(r.field.At(0).Text()))
		}
		c.recv()
	}
}

// TestOtherProtocols: each is told in its own words where it is (rules D7).
func TestOtherProtocols(t *testing.T) {
	s := serve(t, Options{})
	for _, c := range []struct{ send, want string }{
		{"GET / HTTP/1.1\r\nHost: db:7687\r\n\r\n", `"bolt_direct":"bolt://db:7687"`},
		{"POST /db HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{"GET garbage\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{"hello there", "This port speaks Bolt"},
		{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03", "\x15\x03\x01\x00\x02\x02\x28"},
	} {
		cl := s.raw(t)
		cl.write([]byte(c.send))
		if got, _ := io.ReadAll(cl.in); !strings.Contains(string(got), c.want) {
			t.Errorf("%q hears %q", c.send, got)
		}
	}
	for _, mode := range []string{"disable", "prefer"} {
		_, err := pgx.Connect(context.Background(), "postgres://x@"+s.addr+"/main?sslmode="+mode)
		if err == nil || !strings.Contains(err.Error(), "This port speaks Bolt") {
			t.Errorf("a PostgreSQL client with sslmode=%s hears %v", mode, err)
		}
	}
	s.alive(t)
}

func certificate(t testing.TB) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1")},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

// TestTLS: an encrypted client and a plain one on one port; RESET works encrypted too.
func TestTLS(t *testing.T) {
	s := serve(t, Options{TLS: certificate(t)})
	c := s.raw(t)
	c.conn = tls.Client(c.conn, &tls.Config{InsecureSkipVerify: true})
	c.in = bufio.NewReader(c.conn)
	c.shake(version{5, 8})
	c.hello()
	if n := c.one("RETURN 3 AS x"); n != 3 {
		t.Errorf("encrypted: %d", n)
	}
	c.send(endless, "PULL {n: -1}")
	time.Sleep(100 * time.Millisecond)
	c.send("RESET")
	c.recv()
	if r, _ := c.summary(); r.tag != msgFailure {
		t.Error(r)
	}
	if r := c.recv(); r.tag != msgSuccess {
		t.Error(r)
	}
	s.alive(t)
}

// wsFrame makes a client's frame.
func wsFrame(op byte, fin bool, b []byte) []byte {
	head := []byte{op}
	if fin {
		head[0] |= 0x80
	}
	switch n := len(b); {
	case n < 126:
		head = append(head, 0x80|byte(n))
	case n < 65536:
		head = binary.BigEndian.AppendUint16(append(head, 0x80|126), uint16(n))
	default:
		head = binary.BigEndian.AppendUint64(append(head, 0x80|127), uint64(n))
	}
	mask := []byte{1, 2, 3, 4}
	head = append(head, mask...)
	for i, c := range b {
		head = append(head, c^mask[i&3])
	}
	return head
}

// wsRead reads a server's frame.
func wsRead(t *testing.T, in *bufio.Reader) (op byte, body []byte) {
	t.Helper()
	var head [2]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		t.Fatal(err)
	}
	n := int(head[1])
	if n == 126 {
		var long [2]byte
		io.ReadFull(in, long[:])
		n = int(binary.BigEndian.Uint16(long[:]))
	}
	if n == 127 {
		var long [8]byte
		io.ReadFull(in, long[:])
		n = int(binary.BigEndian.Uint64(long[:]))
	}
	body = make([]byte, n)
	io.ReadFull(in, body)
	return head[0], body
}

// TestWebSocket: Bolt in binary frames, cut anywhere; pings are answered, what is no frame ends the connection.
func TestWebSocket(t *testing.T) {
	s := serve(t, Options{})
	const upgrade = "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
	open := func(more []byte) (*client, *bufio.Reader) {
		c := s.raw(t)
		c.write(append([]byte(upgrade), more...))
		head := ""
		for !strings.HasSuffix(head, "\r\n\r\n") {
			line, err := c.in.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			head += line
		}
		if !strings.HasPrefix(head, "HTTP/1.1 101 ") || !strings.Contains(head, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") {
			t.Fatal(head)
		}
		return c, c.in
	}
	shake := unhex(t, "6060b017"+"00000805"+"00000000"+"00000000"+"00000000")
	c, in := open(wsFrame(wsBinary, true, shake)) // in the same packet
	if op, b := wsRead(t, in); op != 0x82 || fmt.Sprintf("%x", b) != "00000805" {
		t.Fatalf("%x %x", op, b)
	}
	hello := append(requestOf(t, "HELLO {user_agent: 'x/1'}"), requestOf(t, "LOGON {scheme: 'none'}")...)
	c.write(wsFrame(wsBinary, false, hello[:7]))
	c.write(wsFrame(wsPing, true, []byte("are you there")))
	c.write(wsFrame(wsContinue, true, hello[7:]))
	if op, b := wsRead(t, in); op != 0x80|wsPong || string(b) != "are you there" {
		t.Errorf("ping: %x %q", op, b)
	}
	if op, b := wsRead(t, in); op != 0x82 || len(b) < 20 {
		t.Errorf("HELLO: %x %q", op, b)
	}
	c.write(wsFrame(wsBinary, true, append(requestOf(t, "RUN 'RETURN $p AS p', {p: '"+strings.Repeat("x", 70000)+"'}, {}"), requestOf(t, "PULL {n: -1}")...)))
	c.write(wsFrame(wsClose, true, []byte{3, 232}))
	for {
		op, _ := wsRead(t, in)
		if op == 0x80|wsClose {
			break
		}
	}
	for _, bad := range [][]byte{{0x82, 5, 1, 2, 3, 4, 5}, wsFrame(wsText, true, []byte("text")), {0xF2, 0x80}, {0x89, 0xFE, 0xFF, 0xFF}, {0x82, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 1}} {
		c, in := open(bad)
		go c.conn.Write(make([]byte, 100))
		io.Copy(io.Discard, in)
	}
	s.alive(t)
}
