package session

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/lang/sql"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// utility is a statement that is no query.
type utility struct {
	st    *sql.Statement
	body  sql.Stmt
	inner *Prepared
	done  string // command tag, if it differs from the usual one
	n     int64
}

// known reports whether utility knows what to do.
func known(body sql.Stmt) bool {
	switch b := body.(type) {
	case *sql.Begin, *sql.Commit, *sql.Rollback, *sql.Savepoint, *sql.Release, *sql.RollbackTo, *sql.SetTransaction, *sql.SetConstraints,
		*sql.Set, *sql.Reset, *sql.Show, *sql.Discard, *sql.Load, *sql.Listen, *sql.Unlisten, *sql.Notify, *sql.Prepare, *sql.Deallocate,
		*sql.DeclareCursor, *sql.Fetch, *sql.CloseCursor, *sql.Checkpoint, *sql.CreateExtension, *sql.Vacuum:
		return true
	case *sql.Drop:
		return b.Kind == "EXTENSION"
	}
	return false
}

func (u *utility) inFailed() bool {
	switch u.body.(type) {
	case *sql.Commit, *sql.Rollback, *sql.RollbackTo:
		return true
	}
	return false
}

func (u *utility) tag(n int64) string {
	if u.done != "" {
		return u.done
	}
	switch b := u.body.(type) {
	case *sql.Begin:
		if strings.HasPrefix(strings.ToUpper(u.st.Text), "START") {
			return "START TRANSACTION"
		}
		return "BEGIN"
	case *sql.Commit:
		return "COMMIT"
	case *sql.Rollback, *sql.RollbackTo:
		return "ROLLBACK"
	case *sql.Savepoint:
		return "SAVEPOINT"
	case *sql.Release:
		return "RELEASE"
	case *sql.Set, *sql.SetTransaction:
		return "SET"
	case *sql.SetConstraints:
		return "SET CONSTRAINTS"
	case *sql.Reset:
		return "RESET"
	case *sql.Show:
		return "SHOW"
	case *sql.Discard:
		return "DISCARD " + b.What
	case *sql.Load:
		return "LOAD"
	case *sql.Listen:
		return "LISTEN"
	case *sql.Unlisten:
		return "UNLISTEN"
	case *sql.Notify:
		return "NOTIFY"
	case *sql.Prepare:
		return "PREPARE"
	case *sql.Deallocate:
		if b.Name == nil {
			return "DEALLOCATE ALL"
		}
		return "DEALLOCATE"
	case *sql.DeclareCursor:
		return "DECLARE CURSOR"
	case *sql.Fetch:
		if b.Move {
			return fmt.Sprintf("MOVE %d", u.n)
		}
		return fmt.Sprintf("FETCH %d", n)
	case *sql.CloseCursor:
		if b.Name == nil {
			return "CLOSE CURSOR ALL"
		}
		return "CLOSE CURSOR"
	case *sql.Checkpoint:
		return "CHECKPOINT"
	case *sql.CreateExtension:
		return "CREATE EXTENSION"
	case *sql.Drop:
		return "DROP " + b.Kind
	case *sql.Vacuum:
		if b.OnlyAnalyze {
			return "ANALYZE"
		}
		return "VACUUM"
	}
	return "OK"
}

func isolationOf(m sql.TxMode) string {
	return strings.ToLower(m.Isolation)
}

func (u *utility) run(ctx context.Context, s *Session, args []value.Value) (rows, error) {
	switch b := u.body.(type) {
	case *sql.Begin:
		return nil, s.Begin(Modes{Isolation: isolationOf(b.Mode), ReadOnly: b.Mode.ReadOnly})
	case *sql.Commit:
		undone, err := s.Commit(ctx)
		if undone {
			u.done = "ROLLBACK"
		}
		if err == nil && b.Chain {
			err = s.Begin(Modes{})
		}
		return nil, err
	case *sql.Rollback:
		s.Rollback()
		if b.Chain {
			return nil, s.Begin(Modes{})
		}
		return nil, nil
	case *sql.Savepoint:
		return nil, s.Savepoint(ctx, b.Name.Name)
	case *sql.Release:
		return nil, s.Release(ctx, b.Name.Name)
	case *sql.RollbackTo:
		return nil, s.RollbackTo(b.Name.Name)
	case *sql.SetTransaction:
		return nil, s.setTransaction(b)
	case *sql.SetConstraints:
		return nil, nil
	case *sql.Set:
		return nil, s.setStatement(b)
	case *sql.Reset:
		if b.Name == "" {
			return nil, s.Reset("all")
		}
		return nil, s.Reset(b.Name)
	case *sql.Show:
		return s.show(b)
	case *sql.Discard:
		if s.block {
			return nil, dberr.New(dberr.ActiveTransaction, "DISCARD %s cannot run inside a transaction block", b.What)
		}
		if b.What == "ALL" {
			clear(s.prepared)
			s.ageDialect = false
			s.changed()
			return nil, s.Reset("all")
		}
		return nil, nil
	case *sql.Load:
		if lib := strings.TrimSuffix(strings.TrimPrefix(b.Library, "$libdir/"), ".so"); lib == "age" || lib == "plugins/age" {
			s.ageDialect = true
			s.changed()
			return nil, nil
		}
		return nil, dberr.New(dberr.UndefinedObject, "could not access file %q: there are no libraries to load", b.Library)
	case *sql.CreateExtension:
		switch b.Name.Name {
		case "age":
			s.ageDialect = true
			s.changed()
		case "plpgsql":
		default:
			return nil, dberr.New(dberr.FeatureNotSupported, "extension %q is not available", b.Name.Name)
		}
		if b.IfNotExists {
			s.notice("NOTICE", "42710", fmt.Sprintf("extension %q already exists, skipping", b.Name.Name))
		}
		return nil, nil
	case *sql.Drop:
		return nil, dberr.New(dberr.FeatureNotSupported, "extension age is part of the server and cannot be dropped")
	case *sql.Listen, *sql.Unlisten, *sql.Notify:
		s.notice("WARNING", "0A000", "notifications are accepted and not delivered")
		return nil, nil
	case *sql.Vacuum:
		if b.OnlyAnalyze {
			return nil, s.analyze(ctx, b.Tables)
		}
		if s.block {
			return nil, dberr.New(dberr.ActiveTransaction, "VACUUM cannot run inside a transaction block")
		}
		if b.Analyze {
			return nil, s.analyze(ctx, b.Tables)
		}
		return nil, nil
	case *sql.Prepare:
		return nil, s.Store(b.Name.Name, u.inner)
	case *sql.Deallocate:
		if b.Name == nil {
			clear(s.prepared)
			return nil, nil
		}
		if !s.Deallocate(b.Name.Name) {
			return nil, dberr.New(dberr.UndefinedPreparedStatement, "prepared statement %q does not exist", b.Name.Name)
		}
		return nil, nil
	case *sql.DeclareCursor:
		if !s.block && !s.multi && (b.Hold == nil || !*b.Hold) {
			return nil, dberr.New(dberr.NoActiveTransaction, "DECLARE CURSOR can only be used in transaction blocks")
		}
		if b.Hold != nil && *b.Hold {
			return nil, dberr.New(dberr.FeatureNotSupported, "a cursor WITH HOLD is not supported")
		}
		portal, err := s.Bind(ctx, b.Name.Name, u.inner, args)
		if err != nil {
			return nil, err
		}
		err = portal.Start(context.WithoutCancel(ctx))
		portal.Pause()
		return nil, err
	case *sql.Fetch:
		return u.fetch(ctx, s, b)
	case *sql.CloseCursor:
		if b.Name == nil {
			for name, p := range s.portals {
				if name != "" {
					p.Close()
				}
			}
			return nil, nil
		}
		p, err := s.Portal(b.Name.Name)
		if err != nil {
			return nil, dberr.New(dberr.UndefinedCursor, "cursor %q does not exist", b.Name.Name)
		}
		p.Close()
		return nil, nil
	case *sql.Checkpoint:
		if s.db.opt.Checkpoint == nil {
			return nil, nil
		}
		return nil, s.db.opt.Checkpoint(ctx)
	}
	return nil, dberr.New(dberr.FeatureNotSupported, "%s is not supported yet", statementName(u.st.Text))
}

func (u *utility) fetch(ctx context.Context, s *Session, b *sql.Fetch) (rows, error) {
	p, err := s.Portal(b.Cursor.Name)
	if err != nil {
		return nil, dberr.New(dberr.UndefinedCursor, "cursor %q does not exist", b.Cursor.Name)
	}
	if b.How != sql.FetchForward || b.Count < 0 {
		return nil, dberr.New(dberr.FeatureNotSupported, "a cursor moves forward only").WithHint("Use FETCH NEXT, FETCH n or FETCH ALL.")
	}
	if err := p.Start(ctx); err != nil {
		return nil, err
	}
	out := &fetched{p: p, left: b.Count}
	if !b.Move {
		return out, nil
	}
	defer out.Close()
	for {
		row, err := out.Next(ctx)
		if err != nil || row == nil {
			return nil, err
		}
		u.n++
	}
}

// fetched is the part of a cursor's rows that one FETCH asks for.
type fetched struct {
	p    *Portal
	left int64
}

func (f *fetched) Next(ctx context.Context) ([]value.Value, error) {
	if f.left <= 0 {
		return nil, nil
	}
	f.left--
	return f.p.Next(ctx)
}

func (f *fetched) Close() { f.p.Pause() }

func (s *Session) setTransaction(b *sql.SetTransaction) error {
	if b.Session {
		if b.Mode.Isolation != "" {
			if err := s.Set("default_transaction_isolation", isolationOf(b.Mode), false); err != nil {
				return err
			}
		}
		if b.Mode.ReadOnly != nil {
			return s.Set("default_transaction_read_only", onOff(*b.Mode.ReadOnly), false)
		}
		return nil
	}
	if !s.block {
		s.notice("WARNING", "25P01", "SET TRANSACTION can only be used in transaction blocks")
		return nil
	}
	if b.Mode.Isolation != "" {
		if err := s.setIsolation(isolationOf(b.Mode)); err != nil {
			return err
		}
	}
	if b.Mode.ReadOnly != nil {
		return s.Set("transaction_read_only", onOff(*b.Mode.ReadOnly), true)
	}
	return nil
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func (s *Session) setStatement(b *sql.Set) error {
	if b.Default {
		return s.Reset(b.Name)
	}
	var parts []string
	for _, v := range b.Values {
		if c, ok := v.(*sql.Cast); ok {
			v = c.X
		}
		switch v := v.(type) {
		case *sql.StringLit:
			parts = append(parts, v.Value)
		case *sql.IntLit:
			parts = append(parts, strconv.FormatInt(v.Value, 10))
		case *sql.NumericLit:
			parts = append(parts, v.Text)
		case *sql.BoolLit:
			parts = append(parts, onOff(v.Value))
		case *sql.Unary:
			if i, ok := v.X.(*sql.IntLit); ok {
				parts = append(parts, v.Op.Name+strconv.FormatInt(i.Value, 10))
			}
		case *sql.ColumnRef:
			parts = append(parts, v.Parts[len(v.Parts)-1].Name)
		}
	}
	if len(parts) > 1 && b.Name != "search_path" && b.Name != "datestyle" {
		return dberr.New(dberr.InvalidParameterValue, "SET %s takes only one argument", b.Name)
	}
	if b.Name == "search_path" {
		for i, p := range parts {
			if p == "$user" {
				parts[i] = `"$user"`
			}
		}
	}
	if b.Local && !s.block {
		s.notice("WARNING", "25P01", "SET LOCAL can only be used in transaction blocks")
		return nil
	}
	return s.Set(b.Name, strings.Join(parts, ", "), b.Local)
}

func (s *Session) show(b *sql.Show) (rows, error) {
	if b.Name != "" {
		return &fixed{data: [][]value.Value{{value.NewString(s.Setting(b.Name))}}}, nil
	}
	out := &fixed{}
	for _, name := range settingNames() {
		d := settings[strings.ToLower(name)]
		out.data = append(out.data, []value.Value{value.NewString(name), value.NewString(s.Setting(name)), value.NewString(d.help)})
	}
	return out, nil
}

// labelKind tells vertices from edges as ag_label does.
func labelKind(e schema.Entity) string {
	if e == schema.Edge {
		return "e"
	}
	return "v"
}
