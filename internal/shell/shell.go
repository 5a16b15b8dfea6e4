package shell

import (
	"bufio"
	"cmp"
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
	where  string   // script that runs, if it has a name
	line   int      // of it, where the statement begins
	depth  int      // of :read
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

// Script runs statements and commands until the end of a text and returns ErrFailed if a statement failed. name is shown with the line of an
// error; "" if there is none to show. Statements run as they are complete, so the text may come from a pipe that somebody writes to.
func (s *Shell) Script(ctx context.Context, name string, in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	var block strings.Builder
	failed := false
	first, line := 1, 0 // line where the block begins, and the current one
	flush := func() error {
		text := block.String()
		block.Reset()
		parts, err := s.b.Split(text, s.o.Lang)
		if err != nil {
			s.place(name, first, text, 0)
			s.report(err)
		}
		at := 0
		for _, p := range parts {
			if i := strings.Index(text[at:], p); i >= 0 {
				at += i
			}
			s.place(name, first, text, at)
			s.run(ctx, p)
			at += len(p)
			if s.failed && !s.o.GoOn {
				return ErrFailed
			}
		}
		return nil
	}
	outer := s.where
	defer func() { s.where = outer }()
	for !s.quit {
		text, err := r.ReadString('\n')
		if err != nil && err != io.EOF {
			return err
		}
		line++
		if line == 1 {
			text = strings.TrimPrefix(text, "\uFEFF")
		}
		if block.Len() == 0 {
			if first = line; isCommand(strings.TrimSpace(text)) {
				s.place(name, line, "", 0)
				s.command(ctx, strings.TrimSpace(text))
				text = ""
			} else if strings.TrimSpace(text) == "" {
				text = ""
			}
		}
		block.WriteString(text)
		if done := strings.HasSuffix(strings.TrimSpace(text), ";") && !open(block.String(), s.o.Lang); done || err == io.EOF && block.Len() > 0 {
			if err := flush(); err != nil {
				return err
			}
		}
		failed = failed || s.failed
		if s.failed && !s.o.GoOn {
			return ErrFailed
		}
		s.failed = false
		if err == io.EOF {
			break
		}
	}
	if failed {
		s.failed = true
		return ErrFailed
	}
	return nil
}

// place sets where a statement of a script begins, for its error.
func (s *Shell) place(name string, first int, text string, at int) {
	s.where = ""
	if name != "" {
		s.where = name
		s.line = first + strings.Count(text[:at], "\n")
	}
}

func isCommand(line string) bool {
	return strings.HasPrefix(line, ":") || strings.HasPrefix(line, `\`)
}

// bare returns the command that a lone word at the prompt means, as in psql: no statement is one of these words.
func bare(line string) string {
	switch strings.ToLower(strings.TrimSuffix(line, ";")) {
	case "exit", "quit":
		return ":quit"
	case "help", "?":
		return ":help"
	}
	return ""
}

// Loop reads statements until the end of the input or :quit.
func (s *Shell) Loop(ctx context.Context) error {
	if !s.o.Interactive {
		return s.Script(ctx, "", s.o.In)
	}
	s.banner()
	s.learn(ctx)
	rl := readline.NewShell()
	rl.Prompt.Primary(s.prompt)
	rl.Prompt.Secondary(func() string { return strings.Repeat(" ", max(0, len(s.prompt())-3)) + "-> " })
	rl.Config.Set("multiline-column", true) // without it the secondary prompt is not shown
	// Asking the terminal where its cursor is drops the keys that come in beside the answer, as those of a paste do. The prompt begins a line,
	// so that its width says the same.
	rl.Config.Set("cursor-position-probe", false)
	rl.AcceptMultiline = func(line []rune) bool { return complete(string(line), s.o.Lang) }
	rl.Completer = s.complete
	if s.o.History != "" {
		os.MkdirAll(filepath.Dir(s.o.History), 0o700)
		rl.History.AddFromFile("hedgerow", s.o.History)
	}
	// Ctrl-C is a key while a line is typed, and a signal from its end until the next: it stops what that line asked for, never the shell.
	keep := make(chan os.Signal, 1)
	signal.Notify(keep, os.Interrupt)
	defer signal.Stop(keep)
	for !s.quit {
		if err := s.one(ctx, rl); err == io.EOF {
			fmt.Fprintln(s.o.Out)
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// one reads what is typed next and runs it. The end of the input is io.EOF.
func (s *Shell) one(ctx context.Context, rl *readline.Shell) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	line, err := rl.Readline()
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.Is(err, readline.ErrInterrupt):
		return nil
	case err != nil:
		return err
	}
	if line = strings.TrimSpace(line); line == "" {
		return nil
	}
	s.failed = false
	switch {
	case leaves(line):
		s.quit = true
		return nil
	case isCommand(line) || bare(line) != "":
		s.command(ctx, cmp.Or(bare(line), line))
		return nil
	}
	parts, err := s.b.Split(line, s.o.Lang)
	if err != nil {
		s.report(err)
	}
	for _, p := range parts {
		s.run(ctx, p)
	}
	return nil
}

func (s *Shell) banner() {
	fmt.Fprintf(s.o.Out, "Hedgerow, connected to %s, graph %s.\nStatements end with a semicolon or an empty line. :help lists the commands, :quit leaves.\n", s.b.Where(), s.b.Graph())
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
func complete(text string, lang hedgerow.Language) bool {
	t := strings.TrimSpace(text)
	if t == "" || isCommand(t) || bare(t) != "" || leaves(t) {
		return true
	}
	if open(t, lang) {
		return false
	}
	return strings.HasSuffix(t, ";") || strings.HasSuffix(text, "\n")
}

// leaves reports whether the last of several lines is \q, which leaves from the middle of a statement too, as in psql.
func leaves(t string) bool {
	i := strings.LastIndexByte(t, '\n')
	return i >= 0 && strings.TrimSpace(t[i:]) == `\q`
}

// open reports whether a text ends inside quotes, a comment or a dollar-quoted string.
func open(t string, lang hedgerow.Language) bool {
	for i := 0; i < len(t); {
		n := skip(t, i, lang == hedgerow.Cypher)
		if n < 0 {
			return true
		}
		i += n
	}
	return false
}

// skip returns the length of the quoted text or comment that begins at i, 1 if there is none, and −1 if it does not end.
func skip(t string, i int, cypher bool) int {
	until := func(from int, end string) int {
		k := strings.Index(t[from:], end)
		if k < 0 {
			return -1
		}
		return from + k + len(end) - i
	}
	switch c := t[i]; {
	case c == '\'' || c == '"' || c == '`':
		for k := i + 1; k < len(t); k++ {
			if t[k] == '\\' && c != '`' && cypher {
				k++
			} else if t[k] == c {
				return k + 1 - i
			}
		}
		return -1
	case strings.HasPrefix(t[i:], "/*"):
		return until(i+2, "*/")
	case cypher && strings.HasPrefix(t[i:], "//"), !cypher && strings.HasPrefix(t[i:], "--"):
		if k := strings.IndexByte(t[i:], '\n'); k >= 0 {
			return k
		}
		return len(t) - i
	case strings.HasPrefix(t[i:], "$$"):
		return until(i+2, "$$")
	}
	return 1
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
	if s.o.Interactive {
		defer s.learn(ctx)
	}
	if s.o.Format != Table {
		return
	}
	var tail []string
	if len(r.Columns()) > 0 && r.Plan() == "" {
		tail = append(tail, Plural(n, "row"))
	}
	if sum := r.Summary(); sum == "SELECT 0" {
		tail = append(tail, "No changes") // what Cypher's writing statements say over PostgreSQL's protocol
	} else if sum != "" {
		tail = append(tail, sum)
	}
	if s.o.Timing {
		tail = append(tail, took.Round(time.Microsecond*10).String())
	}
	if len(tail) > 0 {
		fmt.Fprintln(s.o.Out, strings.Join(tail, ", "))
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
	if s.where != "" {
		line := s.line
		if errors.As(err, &e) && e.Line > 0 {
			line += e.Line - 1
		}
		fmt.Fprintf(s.o.Err, "%s:%d: ", s.where, line)
	}
	if !errors.As(err, &e) {
		fmt.Fprintln(s.o.Err, "error:", err)
		return
	}
	fmt.Fprintf(s.o.Err, "error: %v [%s]\n", err, e.SQLState)
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
	if s.depth++; s.depth > 16 {
		s.report(errors.New(":read: files read each other more than 16 deep"))
	} else if err := s.Script(ctx, path, f); err != nil && err != ErrFailed {
		s.report(err)
	}
	s.depth--
}
