package bolt

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestRandomBytes: whatever is sent, the connection ends and the server goes on (B2).
func TestRandomBytes(t *testing.T) {
	s := serve(t, Options{StartupTimeout: 200 * time.Millisecond})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	junk := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		return b
	}
	good := bytes.Join([][]byte{requestOf(t, "BEGIN {}"), requestOf(t, "RUN 'UNWIND [1, 2, 3] AS x RETURN x, {a: [x]} AS m', {p: [1, 2.5, 'x', {k: null}]}, {}"),
		requestOf(t, "PULL {n: 2}"), requestOf(t, "DISCARD {n: -1}"), requestOf(t, "COMMIT"), requestOf(t, "ROUTE {}, [], {}"), requestOf(t, "RESET")}, nil)
	for i := range 400 {
		var c *client
		switch i % 4 {
		case 0: // from the first byte
			c = s.raw(t)
			c.conn.Write(junk(1 + rnd.IntN(200)))
		case 1: // after the handshake
			c = s.raw(t)
			c.shake(versions[i%len(versions)])
			c.conn.Write(junk(1 + rnd.IntN(200)))
		case 2: // inside a message's frame
			c = s.dial(t, versions[i%len(versions)])
			c.conn.Write(frame(junk(1 + rnd.IntN(200))))
		case 3: // a conversation with some bytes changed
			c = s.dial(t, versions[i%len(versions)])
			b := bytes.Clone(good)
			for range 1 + rnd.IntN(4) {
				b[rnd.IntN(len(b))] = byte(rnd.Uint32())
			}
			c.conn.Write(b)
		}
		if h, ok := c.conn.(*net.TCPConn); ok {
			h.CloseWrite()
		}
		io.Copy(io.Discard, c.in)
		c.conn.Close()
	}
	s.alive(t)
	if strings.Contains(s.log.String(), "panic") {
		t.Error(s.log.String())
	}
}

// TestDeclaredLengths: a length that is claimed and not sent costs nothing (B1).
func TestDeclaredLengths(t *testing.T) {
	s := serve(t, Options{})
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapSys)
	}
	before := heap()
	for _, body := range []string{
		"b310d2ffffffff", "b31080d8ff", "b310d6ffffffff", "b310daffffffff", "b310ceffffffff", "b31081" + "78" + "a18161d6ffffffff90", "b31080a0a18161d2ffffffff",
		"b310" + strings.Repeat("d67fffffff", 50), "bf10", "dd10ffff",
	} {
		c := s.dial(t, version{5, 4})
		c.write(frame(unhex(t, body)))
		if r := c.recv(); r.code() != "Neo.ClientError.Request.Invalid" || !c.closed() {
			t.Errorf("%s: %v", body, r)
		}
		c.conn.Close()
	}
	// Chunks that never make an end, before and after the client is known.
	for _, ready := range []bool{false, true} {
		c := s.raw(t)
		c.shake(version{5, 4})
		limit := 1 << 20
		if ready {
			c.hello()
			limit = 256 << 20
		}
		chunk := append([]byte{0xFF, 0xFF}, make([]byte, 0xFFFF)...)
		sent := 0
		for ; sent <= limit+(8<<20); sent += 0xFFFF {
			if _, err := c.conn.Write(chunk); err != nil {
				break
			}
			if !ready && testing.Short() {
				break
			}
		}
		if sent > limit+(8<<20) {
			t.Errorf("a message of %d bytes is taken (known: %v)", sent, ready)
		}
		c.conn.Close()
		if testing.Short() {
			break
		}
	}
	if grown := heap() - before; grown > 600<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	s.alive(t)
}

// TestSlowClient: bytes that come one by one are a conversation like any other; a client that stops in the middle of its start is let go.
func TestSlowClient(t *testing.T) {
	s := serve(t, Options{StartupTimeout: 500 * time.Millisecond})
	c := s.raw(t)
	c.shake(version{5, 4})
	c.hello()
	for _, b := range bytes.Join([][]byte{requestOf(t, "RUN 'RETURN 1 AS x', {}, {}"), requestOf(t, "PULL {n: -1}")}, nil) {
		c.write([]byte{b})
		time.Sleep(200 * time.Microsecond)
	}
	if c.recv(); c.recv().tag != msgRecord || c.recv().tag != msgSuccess {
		t.Error("a slow client is not served")
	}
	time.Sleep(600 * time.Millisecond) // the limit is one of the start
	c.ok("RESET")
	for _, head := range []string{"", "6060", "6060b017000001ff", "6060b01700000405000000000000000000000000", "6060b0170000040500000000000000000000000000"} {
		c := s.raw(t)
		c.write(unhex(t, head))
		start := time.Now()
		io.Copy(io.Discard, c.in)
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%q is waited for %v", head, took)
		}
	}
}

// TestPipelined: a client that sends without reading is answered message by message, in order, however much it sends.
func TestPipelined(t *testing.T) {
	s := serve(t, Options{})
	c := s.dial(t, version{5, 4})
	const n = 5000
	go func() {
		b := append(requestOf(t, "RUN 'RETURN 1 AS x', {}, {}"), requestOf(t, "PULL {n: -1}")...)
		for range n {
			if _, err := c.conn.Write(b); err != nil {
				return
			}
		}
	}()
	for i := range n {
		for _, want := range []byte{msgSuccess, msgRecord, msgSuccess} {
			if r := c.recv(); r.tag != want {
				t.Fatalf("statement %d: %v", i, r)
			}
		}
	}
}

// TestManyConnections: a thousand clients at once; those beyond the limit are told so.
func TestManyConnections(t *testing.T) {
	s := serve(t, Options{MaxConnections: 1000})
	var wg sync.WaitGroup
	errs := make(chan error, 1000)
	opened := make(chan *client, 1000)
	for i := range 1000 {
		wg.Go(func() {
			c := s.dial(t, versions[i%len(versions)])
			if n := c.one(fmt.Sprintf("RETURN %d AS x", i)); n != int64(i) {
				errs <- fmt.Errorf("client %d hears %d", i, n)
			}
			opened <- c
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	c := s.raw(t)
	c.shake(version{5, 4})
	c.ok("HELLO {user_agent: 'x/1'}")
	if r := c.do("LOGON {scheme: 'none'}"); r.code() != "Neo.TransientError.General.DatabaseUnavailable" || !c.closed() {
		t.Errorf("client 1,001: %v", r)
	}
	(<-opened).conn.Close()
	for start := time.Now(); s.db.Sessions() == 1000; {
		if time.Since(start) > 30*time.Second {
			t.Fatal("a client that has left is still counted")
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.alive(t)
}
