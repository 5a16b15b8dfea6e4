package session

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/lang/sql"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

const maxText = 16 << 20 // bytes of a statement's text (rules C12)

func errTextTooLong() error {
	return dberr.New(dberr.LimitExceeded, "statement text is longer than %d bytes", maxText).
		WithHint("Send the data as parameters, or load it with hedgerow load.")
}

// Text is one statement of a text.
type Text struct {
	Text   string
	Offset int // byte offset in the whole text
	Lang   Language
}

// Split cuts a text into statements. The language of each is decided by its first words, and that language's lexer finds its end (rules D3).
func (s *Session) Split(text string) ([]Text, error) {
	lang := SQL
	if s.raw(settings["hedgerow.language"]) == "cypher" {
		lang = Cypher
	}
	return s.SplitAs(text, lang)
}

// SplitAs is Split with the language of statements whose first word does not decide. The result is not to be changed.
func (s *Session) SplitAs(text string, lang Language) ([]Text, error) {
	if len(text) > maxText {
		return nil, errTextTooLong()
	}
	for i := range s.splits {
		if k := &s.splits[i]; k.lang == lang && k.text == text && text != "" {
			return k.parts, nil
		}
	}
	parts := split(text, lang)
	if len(text) <= maxCachedText && len(parts) <= 2 {
		s.splits[s.splitAt] = textParts{text, lang, parts}
		s.splitAt = (s.splitAt + 1) % len(s.splits)
	}
	return parts, nil
}

// textParts is a text that was split, for the next time: clients send the same few again and again.
type textParts struct {
	text  string
	lang  Language
	parts []Text // not to be changed
}

// split cuts a text into statements.
func split(text string, lang Language) (out []Text) {
	for at := 0; ; {
		at += dashes(text[at:])
		l := languageAt(text[at:], lang)
		var start, stop, next int
		var ok bool
		if l == Cypher {
			var span cypher.Span
			span, next, ok = cypher.NextStatement(text, at, cypher.Cypher)
			start, stop = span.Pos(), span.End()
		} else {
			var span sql.Span
			span, next, ok = sql.NextStatement(text, at)
			start, stop = span.Pos(), span.End()
		}
		if !ok {
			return out
		}
		out = append(out, Text{Text: text[start:stop], Offset: start, Lang: l})
		at = next
	}
}

// dashes returns the length of the space and the -- comments at the beginning of a text: SQL's comments, which Cypher does not have, may stand
// before a statement of either language.
func dashes(text string) int {
	for at := 0; ; {
		rest := strings.TrimLeft(text[at:], " \t\r\n\f\v")
		at = len(text) - len(rest)
		if !strings.HasPrefix(rest, "--") {
			return at
		}
		end := strings.IndexByte(rest, '\n')
		if end < 0 {
			return len(text)
		}
		at += end + 1
	}
}

// languageAt decides the language of the statement at the beginning of a text.
func languageAt(text string, def Language) Language {
	text = text[dashes(text):]
	var words [3]string
	w := words[:cypher.FirstWords(text, words[:])]
	word := func(i int) string {
		if i < len(w) {
			return w[i]
		}
		return ""
	}
	i := 0
	if word(0) == "EXPLAIN" {
		if _, rest, _ := strings.Cut(strings.ToUpper(text[:min(len(text), 1000)]), "EXPLAIN"); strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), "(") {
			return SQL // EXPLAIN (ANALYZE, …): options are SQL's alone
		}
		i = 1
		if word(1) == "ANALYZE" || word(1) == "VERBOSE" {
			i = 2
		}
	}
	switch word(i) {
	case "BEGIN", "START", "COMMIT", "END", "ABORT", "ROLLBACK", "SAVEPOINT", "RELEASE", "SET", "RESET", "DISCARD", "DEALLOCATE", "PREPARE", "EXECUTE",
		"DECLARE", "FETCH", "MOVE", "CLOSE", "COPY", "LISTEN", "UNLISTEN", "NOTIFY", "VACUUM", "ANALYZE", "SELECT", "VALUES", "TABLE", "INSERT", "UPDATE", "CHECKPOINT", "TRUNCATE", "GRANT", "REVOKE", "ALTER":
		return SQL
	case "MATCH", "OPTIONAL", "UNWIND", "RETURN", "PROFILE", "CYPHER", "FOREACH", "USE", "TERMINATE":
		return Cypher
	case "LOAD":
		if word(i+1) == "CSV" {
			return Cypher
		}
		return SQL
	case "SHOW":
		switch word(i + 1) {
		case "INDEX", "INDEXES", "CONSTRAINT", "CONSTRAINTS", "FUNCTION", "FUNCTIONS", "PROCEDURE", "PROCEDURES", "DATABASE", "DATABASES",
			"TRANSACTION", "TRANSACTIONS", "SETTING", "SETTINGS", "RANGE", "TEXT", "POINT", "LOOKUP", "FULLTEXT", "VECTOR", "UNIQUE", "UNIQUENESS", "NODE", "REL", "RELATIONSHIP",
			"PROPERTY", "KEY", "EXIST", "EXISTENCE", "BUILT", "HOME", "DEFAULT", "USERS":
			return Cypher
		}
		switch word(i+1) + " " + word(i+2) {
		case "ALL INDEX", "ALL INDEXES", "ALL CONSTRAINT", "ALL CONSTRAINTS", "ALL FUNCTION", "ALL FUNCTIONS", "CURRENT USER", "USER DEFINED":
			return Cypher
		}
		return SQL
	case "CREATE":
		switch word(i + 1) {
		case "CONSTRAINT":
			return Cypher
		case "RANGE", "POINT", "FULLTEXT", "VECTOR", "LOOKUP":
			return Cypher
		case "TEXT":
			if word(i+2) == "INDEX" {
				return Cypher
			}
			return SQL
		case "INDEX":
			if cypherIndex(text) {
				return Cypher
			}
			return SQL
		case "TABLE", "VIEW", "SCHEMA", "EXTENSION", "UNIQUE", "SEQUENCE", "TEMP", "TEMPORARY", "FUNCTION", "ROLE", "USER", "DATABASE", "TYPE":
			return SQL
		}
		if cypher.PatternFollows(text, i+1) {
			return Cypher // CREATE (n) and CREATE p = (n): SQL has nothing like it
		}
		return def
	case "MERGE":
		if cypher.PatternFollows(text, i+1) {
			return Cypher
		}
		return def
	case "DROP":
		switch word(i + 1) {
		case "CONSTRAINT":
			return Cypher
		case "TABLE", "VIEW", "SCHEMA", "EXTENSION", "SEQUENCE":
			return SQL
		}
		return def
	}
	return def // WITH, DELETE, CALL, DETACH, FINISH, REMOVE and what begins neither language's statements
}

// inCypher adds to an error of SQL that the statement may be Cypher.
func inCypher(text string, err error) error {
	e := dberr.As(err)
	if e == nil || e.Hint != "" || e.Code != dberr.Syntax && e.Code != dberr.FeatureNotSupported {
		return err
	}
	var words [2]string
	n := cypher.FirstWords(text, words[:])
	if n == 0 {
		return err
	}
	switch w := words[0]; {
	case e.Code == dberr.FeatureNotSupported && w != "CALL" && !(w == "DROP" && words[1] == "INDEX"):
	case slices.Contains([]string{"WITH", "CREATE", "MERGE", "DELETE", "DROP", "CALL", "DETACH", "FINISH", "REMOVE"}, w):
		return e.WithHint("A statement that begins with %s is read as SQL here. SET hedgerow.language = cypher reads it as Cypher.", w)
	}
	return err
}

// cypherIndex tells Cypher's CREATE INDEX … FOR … from SQL's CREATE INDEX … ON.
func cypherIndex(text string) bool {
	var words [12]string
	for _, w := range words[:cypher.FirstWords(text, words[:])] {
		switch w {
		case "FOR":
			return true
		case "ON":
			return false
		}
	}
	return true
}

// Prepare parses and binds one statement. types are those of $1 … $n that the client declared; nil ones are inferred.
func (s *Session) Prepare(ctx context.Context, t Text, types []*sqltype.Type) (*Prepared, error) {
	if t.Text == "" {
		return &Prepared{}, nil
	}
	key, fits := s.cacheKey(t, types)
	if fits && !s.failed {
		if p := s.cache[key]; p != nil {
			return p, nil
		}
	}
	var p *Prepared
	var err error
	if t.Lang == Cypher {
		p, err = s.prepareCypher(ctx, t.Text, types)
	} else {
		p, err = s.prepareWrapped(ctx, t, types)
	}
	if err == nil && fits && p.cacheable() && !p.wrapped() {
		s.keep(key, p)
	}
	return p, err
}

// keep enters a prepared statement into the session's cache.
func (s *Session) keep(key cacheKey, p *Prepared) {
	if len(s.cache) >= maxCached {
		for k := range s.cache { // any one
			delete(s.cache, k)
			break
		}
	}
	s.cache[key] = p
}

// wrapped reports whether the statement was made of one with other literals, under whose form it is found.
func (p *Prepared) wrapped() bool {
	c, ok := p.command.(*queryCommand)
	return ok && c.inner != nil
}

const (
	maxCached     = 64      // statements of a session
	maxCachedText = 8 << 10 // bytes of one of them
)

// cacheKey is what the meaning of a query depends on: relations and functions are the same for a session's whole life, and what a call of
// cypher() returns follows from its text alone; its plan is looked up, and made anew if the catalog has changed, at every execution.
type cacheKey struct {
	text, graph, types string
	lang               Language
}

func (s *Session) cacheKey(t Text, types []*sqltype.Type) (cacheKey, bool) {
	if len(t.Text) > maxCachedText || len(types) > 64 {
		return cacheKey{}, false
	}
	k := cacheKey{text: t.Text, lang: t.Lang}
	if t.Lang == Cypher {
		k.graph = s.now().graph
	}
	if len(types) > 0 {
		var buf [64]byte
		b := buf[:0]
		for _, t := range types {
			oid := uint32(0)
			if t != nil {
				oid = t.OID
			}
			b = binary.LittleEndian.AppendUint32(b, oid)
		}
		k.types = string(b)
	}
	return k, true
}

// cacheable reports whether the statement may serve again for the same text.
func (p *Prepared) cacheable() bool {
	switch c := p.command.(type) {
	case *queryCommand:
		return !c.cat.once && p.copy == nil
	case *cypherCommand:
		return !c.query.Schema && c.explain == plan.NoExplain && exec.Lasting(c.query)
	}
	return false
}

// Named are values by name.
type Named interface {
	Named(name string) (value.Value, bool)
}

// NamedValues are Named in a map.
type NamedValues map[string]value.Value

// Named returns the value of a name.
func (m NamedValues) Named(name string) (value.Value, bool) { v, ok := m[name]; return v, ok }

// Start prepares and starts a statement for the embedded API: named parameters for Cypher, args for $1 … $n.
func (s *Session) Start(ctx context.Context, text string, lang Language, named Named, args []value.Value) (*Portal, error) {
	parts, err := s.SplitAs(text, lang)
	if err != nil {
		return nil, err
	}
	switch len(parts) {
	case 0:
		return nil, dberr.New(dberr.Syntax, "there is no statement in the text").WithToken("UnexpectedSyntax")
	case 1:
	default:
		return nil, dberr.New(dberr.Syntax, "the text holds %d statements, and one is allowed here", len(parts)).
			At(parts[1].Offset, parts[1].Offset+len(parts[1].Text)).WithHint("Exec and the shell run several.")
	}
	shift := func(err error) error { return Shift(err, parts[0].Offset) }
	var types []*sqltype.Type
	for _, a := range args {
		types = append(types, typeOf(a))
	}
	p, err := s.Prepare(ctx, parts[0], types)
	if err != nil {
		return nil, shift(err)
	}
	if c, ok := p.command.(*cypherCommand); ok {
		if args, err = c.arguments(named, args); err != nil {
			return nil, err
		}
	} else if len(args) != len(p.params) {
		return nil, dberr.New(dberr.MissingParameter, "the statement has %d parameters, %d were given", len(p.params), len(args))
	} else {
		// A text without a declared type is read as the type that the statement found for it, as a driver's text parameter is.
		for i, a := range args {
			if t := p.params[i]; a.Kind() == value.String && t != sqltype.Agtype {
				if args[i], err = sqltype.Parse(t, a.Str()); err != nil {
					return nil, err
				}
			}
		}
	}
	portal, err := s.Bind(ctx, "", p, args)
	if err != nil {
		return nil, err
	}
	if err := portal.Start(ctx); err != nil {
		portal.Close()
		return nil, shift(err)
	}
	return portal, nil
}

// Shift moves an error's place by the offset of the text that it speaks of. The error itself may belong to a plan that others run: it is
// copied.
func Shift(err error, by int) error {
	e := dberr.As(err)
	if e == nil || e.Pos < 0 {
		return err
	}
	moved := *e
	moved.Pos, moved.End = e.Pos+by, e.End+by
	return &moved
}

// typeOf returns the SQL type that a Go argument's value is declared with.
func typeOf(v value.Value) *sqltype.Type {
	switch v.Kind() {
	case value.Bool:
		return sqltype.Bool
	case value.Int:
		return sqltype.Int8
	case value.Float:
		return sqltype.Float8
	case value.Bytes:
		return sqltype.Bytea
	case value.List, value.Map, value.Node, value.Rel, value.Path:
		return sqltype.Agtype
	}
	return nil
}
