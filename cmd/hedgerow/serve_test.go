package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// served is a hedgerow serve in a process of its own.
type served struct {
	cmd            *exec.Cmd
	pg, bolt, http string
	errs           *bytes.Buffer
	done           chan error
}

func startServe(t *testing.T, env []string, args ...string) *served {
	t.Helper()
	s := &served{cmd: exec.Command(os.Args[0], append([]string{"serve"}, args...)...), errs: &bytes.Buffer{}, done: make(chan error, 1)}
	s.cmd.Env = append(append(os.Environ(), "HEDGEROW_TEST_MAIN=1"), env...)
	s.cmd.Stderr = s.errs
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	ready := regexp.MustCompile(`^ready pg=(\S+) bolt=(\S+) http=(\S+)$`)
	for lines.Scan() {
		if m := ready.FindStringSubmatch(lines.Text()); m != nil {
			s.pg, s.bolt, s.http = m[1], m[2], m[3]
			break
		}
	}
	go func() {
		for lines.Scan() {
		}
		s.done <- s.cmd.Wait()
	}()
	t.Cleanup(func() { s.cmd.Process.Kill() })
	if s.pg == "" {
		t.Fatalf("serve did not get ready: %s", s.errs)
	}
	return s
}

func (s *served) connect(t testing.TB, user string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(context.Background(), "postgres://"+user+"@"+s.pg+"/main?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestServeStops: SIGTERM ends a server with running queries and open transactions cleanly, and nothing committed is lost.
func TestServeStops(t *testing.T) {
	ctx := context.Background()
	data := filepath.Join(t.TempDir(), "a.hedge")
	s := startServe(t, nil, "--data", data, "--pg", "127.0.0.1:0", "--bolt", "127.0.0.1:0", "--http", "127.0.0.1:0", "--log", "warn")
	resp, err := http.Get("http://" + s.http + "/healthz")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("healthz: %v %v", resp, err)
	}
	resp.Body.Close()
	for _, addr := range []string{s.bolt, s.pg} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(5 * time.Second))
		c.Write([]byte("\x60\x60\xb0\x17\x00\x00\x01\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
		if b, _ := io.ReadAll(c); !bytes.HasPrefix(b, []byte{0, 0, 0, 0}) {
			t.Errorf("a Bolt client on %s hears %q", addr, b)
		}
		c.Close()
	}
	first := s.connect(t, "ada")
	for _, q := range []string{"MATCH (n) RETURN n", "SET hedgerow.language = cypher", "CREATE (:Kept)", "BEGIN", "CREATE (:Lost)"} {
		if _, err := first.Exec(ctx, q); err != nil {
			t.Fatal(q, err)
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	written := 0
	for i := range 4 {
		c := s.connect(t, fmt.Sprint("u", i))
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				q := "SELECT pg_sleep(60)"
				if i%2 == 0 {
					q = "SELECT * FROM cypher('main', $$ CREATE (:W) $$) AS (a agtype)"
				}
				if _, err := c.Exec(ctx, q); err != nil {
					return
				}
				mu.Lock()
				written++
				mu.Unlock()
			}
		}()
	}
	time.Sleep(300 * time.Millisecond)
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-s.done:
		if err != nil {
			t.Errorf("serve ended with %v\n%s", err, s.errs)
		}
	case <-time.After(15 * time.Second):
		t.Fatal("serve does not end")
	}
	wg.Wait()
	code, out, errs := hedge(t, "", "shell", "--data", data, "--format", "csv", "-c", "MATCH (n) RETURN labels(n)[0] AS l, count(*) AS c ORDER BY l")
	if code != 0 || !strings.Contains(out, "Kept,1") || strings.Contains(out, "Lost") {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	m := regexp.MustCompile(`W,(\d+)`).FindStringSubmatch(out)
	if m == nil || m[1] < fmt.Sprint(written) && len(m[1]) <= len(fmt.Sprint(written)) {
		t.Errorf("%d writes were acknowledged, and there are\n%s", written, out)
	}
	if code, out, errs := hedge(t, "", "check", "--data", data); code != 0 {
		t.Errorf("check: %s%s", out, errs)
	}
}

// TestServePassword: with --auth password nobody gets in without it.
func TestServePassword(t *testing.T) {
	ctx := context.Background()
	s := startServe(t, []string{"HEDGEROW_USER=ada", "HEDGEROW_PASSWORD=s3cret"}, "--data", filepath.Join(t.TempDir(), "a.hedge"), "--pg", "127.0.0.1:0",
		"--bolt", "", "--http", "", "--auth", "password")
	if s.bolt != "off" || s.http != "off" {
		t.Errorf("doors that were closed: bolt=%s http=%s", s.bolt, s.http)
	}
	c := s.connect(t, "ada:s3cret")
	if err := c.Ping(ctx); err != nil {
		t.Error(err)
	}
	c.Close(ctx)
	for _, user := range []string{"ada:wrong", "bob:s3cret", "ada"} {
		if c, err := pgx.Connect(ctx, "postgres://"+user+"@"+s.pg+"/main?sslmode=disable"); err == nil {
			t.Errorf("%s got in", user)
			c.Close(ctx)
		}
	}
	s.cmd.Process.Signal(os.Interrupt)
	if err := <-s.done; err != nil {
		t.Error(err)
	}
}

func TestServeFlags(t *testing.T) {
	data := filepath.Join(t.TempDir(), "a.hedge")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	t.Setenv("HEDGEROW_USER", "")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{}, "--data"},
		{[]string{"--data", data, "--pg", "0.0.0.0:0"}, "loopback"},
		{[]string{"--data", data, "--auth", "none"}, "trust or password"},
		{[]string{"--data", data, "--auth", "password"}, "HEDGEROW_PASSWORD"},
		{[]string{"--data", data, "--log", "loud"}, "--log"},
		{[]string{"--data", data, "--tls-cert", "nosuch.pem", "--tls-key", "nosuch.key"}, "nosuch.pem"},
		{[]string{"--data", data, "--pg", taken.Addr().String()}, "--pg gives another address"},
	} {
		code, out, errs := hedge(t, "", append([]string{"serve"}, c.args...)...)
		if code == 0 || !strings.Contains(errs, c.want) {
			t.Errorf("serve %v: exit %d %s%s", c.args, code, out, errs)
		}
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("a server that cannot start has made a database")
	}
}
