package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a program on a pseudo terminal.
type terminal struct {
	t   *testing.T
	f   *os.File
	cmd *exec.Cmd
	mu  sync.Mutex
	out bytes.Buffer
	at  int // read so far by expect
}

// onTerminal starts this program with arguments on a terminal of 100 columns.
func onTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo terminal here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("no pseudo terminal here: %v", err)
	}
	n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skipf("no pseudo terminal here: %v", err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminal here: %v", err)
	}
	unix.IoctlSetWinsize(int(f.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 100})
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "HEDGEROW_TEST_MAIN=1", "TERM=xterm", "XDG_CONFIG_HOME="+t.TempDir(), "HOME="+t.TempDir())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	x := &terminal{t: t, f: f, cmd: cmd}
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := f.Read(b)
			if err != nil {
				return
			}
			x.mu.Lock()
			x.out.Write(b[:n])
			x.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		f.Close()
	})
	return x
}

var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r`)

func (x *terminal) seen() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return escapes.ReplaceAllString(x.out.String(), "")
}

// end is the end of what is seen, for an error.
func (x *terminal) end() string {
	s := x.seen()
	return s[max(0, len(s)-3000):]
}

// expect waits until a text appears after what was expected before.
func (x *terminal) expect(want string) {
	x.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		s := x.seen()
		if i := strings.Index(s[min(x.at, len(s)):], want); i >= 0 {
			x.at += i + len(want)
			return
		}
	}
	x.t.Fatalf("the terminal never shows %q; it ends with\n%s", want, x.end())
}

// send types all keys at once, ahead of what reads them.
func (x *terminal) send(keys string) { x.f.WriteString(keys) }

// interrupt presses Ctrl-C when no line is read, where it is a signal.
func (x *terminal) interrupt() {
	x.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if s, err := unix.IoctlGetTermios(int(x.f.Fd()), unix.TCGETS); err != nil {
			x.t.Fatal(err)
		} else if s.Lflag&unix.ISIG != 0 {
			x.send("\x03")
			return
		}
	}
	x.t.Fatalf("a line is still read; the terminal ends with\n%s", x.end())
}

// wait returns the exit status.
func (x *terminal) wait() int {
	x.t.Helper()
	done := make(chan struct{})
	go func() { x.cmd.Wait(); close(done) }()
	select {
	case <-done:
		return x.cmd.ProcessState.ExitCode()
	case <-time.After(20 * time.Second):
		x.t.Fatalf("the shell does not end; it ends with\n%s", x.end())
		return -1
	}
}

func TestTerminal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a.hedge")
	x := onTerminal(t, "shell", "--data", dir)
	x.expect("Hedgerow, connected to " + dir)
	x.expect("main> ")
	// A statement over two lines ends with its semicolon, and is timed.
	x.send("CREATE (:Person {name: 'Ada'}),\r")
	x.expect("-> ")
	x.send("(:Person {name: 'Bo'});\r")
	x.expect("Created 2 nodes, set 2 properties, added 2 labels, ")
	x.expect("main> ")
	// An empty line ends one as well.
	x.send("MATCH (p:Person) RETURN count(p) AS people\r\r")
	x.expect("│ 2      │")
	x.expect("main> ")
	// Completion knows labels.
	x.send("MATCH (x:Pers\t) RETURN x.name AS name ORDER BY name;\r")
	x.expect("│ 'Ada' │")
	x.expect("main> ")
	// The prompt shows a transaction, and that it failed.
	x.send(":begin\r")
	x.expect("main*> ")
	x.send("RETURN 1/0;\r")
	x.expect("division by zero")
	x.expect("main!> ")
	x.send(":rollback\r")
	x.expect("main> ")
	// Ctrl-C drops what was typed, and stops what runs.
	x.send("RETURN 'dropped")
	x.expect("RETURN 'dropped")
	x.send("\x03")
	x.expect("\n")
	x.expect("main> ")
	forever := "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN count(a / b);"
	x.send(forever + "\r")
	x.expect("main> " + forever)
	x.interrupt()
	x.expect("[57014]")
	x.expect("main> ")
	// History brings back the statement before.
	x.send("RETURN 4711 AS before;\r")
	x.expect("│ 4711   │")
	x.expect("main> ")
	x.send("\x1b[A\r")
	x.expect("│ 4711   │")
	x.expect("main> ")
	x.send("help\r")
	x.expect("leave; exit")
	x.send("exit\r")
	if code := x.wait(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if s := x.seen(); strings.Contains(s, "panic") {
		t.Error(s)
	}
	// What was typed is known the next time; Ctrl-D leaves.
	x = onTerminal(t, "shell")
	x.expect("connected to memory")
	x.expect("main> ")
	x.send("\x04")
	if code := x.wait(); code != 0 {
		t.Errorf("exit %d after Ctrl-D", code)
	}
}

// TestTerminalDemo: demo --keep ends in a shell on the data, load draws a bar.
func TestTerminalDemo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept.hedge")
	x := onTerminal(t, "demo", "--persons", "40", "--keep", dir)
	x.expect("The network is kept in " + dir)
	x.expect("main> ")
	x.send("MATCH (p:Person) RETURN count(p) AS n;\r")
	x.expect("│ 40 │")
	x.send(":q\r")
	if code := x.wait(); code != 0 {
		t.Errorf("exit %d", code)
	}
	var b strings.Builder
	b.WriteString("id\n")
	for i := range 30000 {
		fmt.Fprintln(&b, i)
	}
	file := write(t, t.TempDir(), "rows.csv", b.String())
	x = onTerminal(t, "load", "--data", dir, "--nodes", "Row="+file)
	x.expect("rows.csv")
	x.expect("/ 30000")
	x.expect("loaded 30000 nodes")
	if code := x.wait(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// TestTerminalPaste: several statements pasted at once run one after the other, with and without the marks of a paste.
func TestTerminalPaste(t *testing.T) {
	x := onTerminal(t, "shell")
	x.expect("main> ")
	x.send("RETURN 1 AS first;\r")
	x.expect("│ 1     │")
	x.expect("main> ")
	long := strings.Repeat("x", 1500)
	x.f.WriteString("RETURN 'a'\rAS second;\rRETURN size('" + long + "') AS third;\r")
	x.expect("│ second │")
	x.expect("│ 1500  │")
	x.expect("main> ")
	x.f.WriteString("\x1b[200~UNWIND [1, 2] AS i\nRETURN sum(i)\n  AS fourth;\x1b[201~")
	x.send("\r")
	x.expect("│ 3      │")
	x.send(":q\r")
	x.wait()
}

// TestBenchBar: on a terminal a run shows which scenario and target it is at, and the report comes after it whole.
func TestBenchBar(t *testing.T) {
	net := filepath.Join(t.TempDir(), "net")
	if code, _, errs := hedge(t, "", "bench", "generate", "--sf", "0.05", "--out", net); code != 0 {
		t.Fatal(errs)
	}
	x := onTerminal(t, "bench", "run", "--in", net, "--load", "--target", "mine=embedded:", "--scenario", "s04*", "--duration", "2s", "--rounds", "4", "--warmup", "0")
	x.expect("s04_person_by_id mine")
	x.expect("%")
	x.expect("| s04_person_by_id | 1 |")
}
