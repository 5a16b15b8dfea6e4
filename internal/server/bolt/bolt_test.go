package bolt

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRefuse: a driver hears at once that Bolt is not served, other clients hear it in words of their own.
func TestRefuse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- Serve(l, slog.New(slog.DiscardHandler)) }()
	for _, c := range []struct{ send, want string }{
		{"\x60\x60\xb0\x17\x00\x00\x01\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x00"},
		{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{"hello there", "not open yet"},
	} {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		conn.Write([]byte(c.send))
		if got, _ := io.ReadAll(conn); !strings.Contains(string(got), c.want) {
			t.Errorf("%q hears %q", c.send, got)
		}
		conn.Close()
	}
	for _, mode := range []string{"disable", "prefer"} {
		_, err := pgx.Connect(context.Background(), "postgres://x@"+l.Addr().String()+"/main?sslmode="+mode)
		if err == nil || !strings.Contains(err.Error(), "this port is for Bolt") {
			t.Errorf("a PostgreSQL client with sslmode=%s hears %v", mode, err)
		}
	}
	l.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	time.Sleep(300 * time.Millisecond)
}
