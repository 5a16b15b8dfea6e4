package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/reeflective/readline"
	"golang.org/x/term"

	"github.com/hedgerowdb/hedgerow"
)

// Options of a shell.
type Options struct {
	In          io.Reader
	Out, Err    io.Writer
	Format      Format
	Lang        hedgerow.Language
	Timing      bool
	Interactive bool   // prompts, history, colours
	GoOn        bool   // a script goes on after an error
	History     string // file; "" keeps none
	// Import loads files as `hedgerow load` does; args are its arguments. Sample makes the demo network.
	Import func(ctx context.Context, args []string) error
	Sample func(ctx context.Context, persons int) error
}

// Shell is a running prompt.
type Shell struct {
	b      Backend
	o      Options
	params hedgerow.Params
	exprs  map[string]string // parameters as they were written
	quit   bool
	failed bool
	names  []string // labels, types, keys, for completion
}

// New returns a shell over a backend.
func New(b Backend, o Options) *Shell {
	if o.Format == "" {
		o.Format = Table
	}
	return &Shell{b: b, o: o, params: hedgerow.Params{}, exprs: map[string]string{}}
}

// ErrFailed ends a script in which a statement failed; the error itself was printed.
var ErrFailed = errors.New("a statement failed")

// Script runs a text and returns ErrFailed if a statement failed.
func (s *Shell) Script(ctx context.Context, text string) error {
	for len(strings.TrimSpace(text)) > 0 && !s.quit {
		line, rest, _ := strings.Cut(strings.TrimLeft(text, " \t\r\n"), "\n")
		if isCommand(line) {
			s.command(ctx, strings.TrimSpace(line))
			text = rest
		} else {
			var block string
			block, text = untilCommand(text)
			parts, err := s.b.Split(block, s.o.Lang)
			if err != nil {
				s.report(err)
			}
			for _, p := range parts {
				s.run(ctx, p)
				if s.failed && !s.o.GoOn {
					return ErrFailed
				}
			}
		}
		if s.failed && !s.o.GoOn {
			return ErrFailed
		}
	}
	if s.failed {
		return ErrFailed
	}
	return nil
}

// untilCommand cuts a text before the first line that is a command and follows a finished statement.
func untilCommand(text string) (block, rest string) {
	at := 0
	for at < len(text) {
		line, _, _ := strings.Cut(text[at:], "\n")
		if at > 0 && isCommand(strings.TrimLeft(line, " \t\r")) && strings.HasSuffix(strings.TrimSpace(text[:at]), ";") {
			return text[:at], text[at:]
		}
		at += len(line) + 1
	}
	return text, ""
}

func isCommand(line string) bool {
	return strings.HasPrefix(line, ":") || strings.HasPrefix(line, `\`)
}

// Loop reads statements until the end of the input or :quit.
func (s *Shell) Loop(ctx context.Context) error {
	if !s.o.Interactive {
		text, err := io.ReadAll(s.o.In)
		if err != nil {
			return err
		}
		return s.Script(ctx, string(text))
	}
	s.banner()
	s.learn(ctx)
	rl := readline.NewShell()
	rl.Prompt.Primary(s.prompt)
	rl.Prompt.Secondary(func() string { return strings.Repeat(" ", max(0, len(s.b.Graph())-1)) + "-> " })
	rl.AcceptMultiline = func(line []rune) bool { return complete(string(line)) }
	rl.Completer = s.complete
	if s.o.History != "" {
		os.MkdirAll(filepath.Dir(s.o.History), 0o700)
		rl.History.AddFromFile("hedgerow", s.o.History)
	}
	for !s.quit {
		line, err := rl.Readline()
		switch {
		case errors.Is(err, io.EOF):
			fmt.Fprintln(s.o.Out)
			return nil
		case errors.Is(err, readline.ErrInterrupt):
			continue
		case err != nil:
			return err
		}
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		s.failed = false
		if isCommand(line) {
			s.command(ctx, line)
			continue
		}
		parts, err := s.b.Split(line, s.o.Lang)
		if err != nil {
			s.report(err)
			continue
		}
		for _, p := range parts {
			s.run(ctx, p)
		}
	}
	return nil
}

func (s *Shell) banner() {
	fmt.Fprintf(s.o.Out, "Hedgerow, connected to %s, graph %s.\nCypher ends with a semicolon or an empty line. :help lists the commands, :quit leaves.\n", s.b.Where(), s.b.Graph())
}

func (s *Shell) prompt() string {
	mark := ">"
	switch s.b.Status() {
	case 'T':
		mark = "*>"
	case 'E':
		mark = "!>"
	}
	lang := ""
	if s.o.Lang == hedgerow.SQL {
		lang = " sql"
	}
	return s.b.Graph() + lang + mark + " "
}

// complete reports whether what was typed can be sent: a command, or a statement that ends with a semicolon or an empty line, outside
// quotes and comments.
func complete(text string) bool {
	t := strings.TrimSpace(text)
	if t == "" || isCommand(t) {
		return true
	}
	if open(t) {
		return false
	}
	return strings.HasSuffix(t, ";") || strings.HasSuffix(text, "\n")
}

// open reports whether a text ends inside quotes, a comment or a dollar-quoted string.
func open(t string) bool {
	for i := 0; i < len(t); {
		switch c := t[i]; {
		case c == '\'' || c == '"' || c == '`':
			i++
			for i < len(t) && t[i] != c {
				if t[i] == '\\' && c != '`' {
					i++
				}
				i++
			}
			if i >= len(t) {
				return true
			}
			i++
		case strings.HasPrefix(t[i:], "/*"):
			end := strings.Index(t[i+2:], "*/")
			if end < 0 {
				return true
			}
			i += end + 4
		case strings.HasPrefix(t[i:], "//"), strings.HasPrefix(t[i:], "--") && (i == 0 || t[i-1] == '\n'):
			end := strings.IndexByte(t[i:], '\n')
			if end < 0 {
				return false
			}
			i += end
		case strings.HasPrefix(t[i:], "$$"):
			end := strings.Index(t[i+2:], "$$")
			if end < 0 {
				return true
			}
			i += end + 4
		default:
			i++
		}
	}
	return false
}

// run runs one statement and prints its result.
func (s *Shell) run(ctx context.Context, text string) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	began := time.Now()
	r, err := s.b.Run(ctx, text, s.o.Lang, s.params)
	if err != nil {
		s.report(err)
		return
	}
	n := 0
	if plan := r.Plan(); plan != "" {
		fmt.Fprintln(s.o.Out, strings.TrimRight(plan, "\n"))
		err = r.Close()
	} else {
		n, err = Print(s.o.Out, r, s.o.Format, s.width())
	}
	took := time.Since(began)
	for _, note := range r.Notices() {
		s.note(note)
	}
	if err != nil {
		s.report(err)
		return
	}
	if s.o.Format != Table {
		return
	}
	var tail []string
	if len(r.Columns()) > 0 {
		tail = append(tail, Plural(n, "row"))
	}
	if sum := r.Summary(); sum != "" {
		tail = append(tail, sum)
	}
	if s.o.Timing {
		tail = append(tail, took.Round(time.Microsecond*10).String())
	}
	if len(tail) > 0 {
		fmt.Fprintln(s.o.Out, strings.Join(tail, ", "))
	}
	if s.o.Interactive {
		s.learn(ctx)
	}
}

// Plural counts things: 1 row, 2 rows.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (s *Shell) width() int {
	if f, ok := s.o.Out.(*os.File); ok && s.o.Interactive {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			return w
		}
	}
	return 0
}

func (s *Shell) note(n hedgerow.Notice) {
	fmt.Fprintf(s.o.Err, "note: %s", n.Message)
	if n.Hint != "" {
		fmt.Fprintf(s.o.Err, " (%s)", n.Hint)
	}
	fmt.Fprintln(s.o.Err)
}

// report prints an error with its place.
func (s *Shell) report(err error) {
	s.failed = true
	var e *hedgerow.Error
	if !errors.As(err, &e) {
		fmt.Fprintln(s.o.Err, "error:", err)
		return
	}
	fmt.Fprintf(s.o.Err, "error: %v [%s]\n", e, e.SQLState)
	if x := e.Excerpt(); x != "" {
		for _, line := range strings.Split(x, "\n") {
			fmt.Fprintln(s.o.Err, "  "+line)
		}
	}
	if e.Detail != "" {
		fmt.Fprintln(s.o.Err, "detail:", e.Detail)
	}
	if e.Hint != "" {
		fmt.Fprintln(s.o.Err, "hint:", e.Hint)
	}
}

// readFile runs a file of statements.
func (s *Shell) readFile(ctx context.Context, path string) {
	f, err := os.Open(path)
	if err != nil {
		s.report(err)
		return
	}
	defer f.Close()
	text, err := io.ReadAll(bufio.NewReader(f))
	if err != nil {
		s.report(err)
		return
	}
	s.Script(ctx, string(text))
}
