package session

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/query/exec"
	"github.com/hedgerowdb/hedgerow/internal/query/plancache"
	"github.com/hedgerowdb/hedgerow/internal/sqltype"
	"github.com/hedgerowdb/hedgerow/internal/store"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// DefaultGraph is the graph of a statement that names none; it is made at first use (rules D2).
const DefaultGraph = "main"

// Options of a Database. The zero value works.
type Options struct {
	Log      *slog.Logger
	Settings map[string]string // initial settings of every session, over the built-in ones
	TempDir  string            // where statements spill; "" means the system's directory for temporary files
	// QueryMemory is what all statements together may hold, in bytes; zero sets no limit beyond each statement's own.
	QueryMemory int64
	// ImportDir is the directory below which LOAD CSV may read; "" refuses LOAD CSV.
	ImportDir string
	// Checkpoint, if set, is what the CHECKPOINT statement calls.
	Checkpoint func(context.Context) error
}

// Database is what sessions share: the store and the plan cache.
type Database struct {
	store      store.Store
	opt        Options
	plans      *plancache.Cache
	background *background
	temp       exec.Temp
	memory     queryMemory
	files      exec.Importer

	mu       sync.Mutex // guards the fields below
	sessions map[*Session]struct{}
	txs      map[uint64]*record // open transactions
	lastTx   uint64

	lastQuery atomic.Uint64
}

// New returns a database over a store.
func New(st store.Store, opt Options) *Database {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Database{
		store:      st,
		opt:        opt,
		plans:      plancache.New(plancache.Options{}),
		background: newBackground(),
		temp:       &tempDir{dir: opt.TempDir},
		memory:     queryMemory{limit: opt.QueryMemory},
		files:      importDir(opt.ImportDir),
		sessions:   map[*Session]struct{}{},
		txs:        map[uint64]*record{},
	}
}

// Client says who opens a session.
type Client struct {
	User, Database, Application string
	// Connection, Address and Protocol say how the client is connected; "" inside this process.
	Connection, Address, Protocol string
	Served                        string // the address that it connected to
	Graph                         string // "" means the setting's initial value
	Language                      Language
	Aliases                       map[string]string // names that no graph may have: the graph that each means in USE, "" for none
}

// Language is the language of statements whose first word does not decide.
type Language uint8

const (
	SQL Language = iota
	Cypher
)

// Column is a column of a result.
type Column struct {
	Name string
	Type *sqltype.Type
}

// Notice is a message beside the result.
type Notice struct {
	Severity string // NOTICE, WARNING, INFO
	Code     string // SQLSTATE
	Name     string // kind of a statement's notice, as CartesianProduct; "" for others
	Message  string
	Detail   string
	Hint     string
	Pos, End int // byte span in the statement, or -1
}

// Session is one client.
type Session struct {
	// OnNotice and OnReport, if set, are told of notices and of changes of reported settings.
	OnNotice func(Notice)
	OnReport func(name, v string)
	// PlanAside makes EXPLAIN and PROFILE keep the columns and rows of the statement; the plan is asked of the portal. Without it the
	// plan's lines are the result.
	PlanAside bool

	db     *Database
	client Client

	known   bool // current holds
	current current

	base  map[string]string // what RESET goes back to: the database's and the connection's own initial values, by lower-case name
	set   map[string]string // settings that were changed since, by lower-case name
	local map[string]string // values to go back to at the end of the transaction

	tx        store.Tx
	record    *record // of tx
	txTime    time.Time
	clock     time.Time // when the statement that begins now was started; zero otherwise
	used      bool      // a statement was run in the open transaction
	ran       int       // statements begun since the last end of a transaction, this one included
	committed bool      // the next transaction is read committed, whatever the default
	block     bool      // BEGIN was given
	failed    bool
	multi     bool // inside a simple Query of several statements: DECLARE may rely on the transaction
	isolation store.Isolation
	points    []string // open savepoints, outermost first

	prepared map[string]*Prepared
	portals  map[string]*Portal
	cache    map[cacheKey]*Prepared
	splits   [8]textParts // texts that were split last
	splitAt  int

	ddl         bool // the open transaction has changed the catalog
	wrapper     wrapper
	private     *plancache.Cache // its plans since then
	version     uint64           // of the catalog, before the open statement's snapshot was taken
	agePrepared string           // what age_prepare_cypher left for cypher(NULL, NULL)
	ageGraph    string
	ageDialect  bool // LOAD 'age' was run: agtype is printed plainly unless a setting says otherwise (rules D5)

	deadline time.Time    // of the next transaction, or zero
	meta     value.Value  // of the next transactions
	cause    *dberr.Error // why the open block was given up, or nil
	idle     struct {
		mu      sync.Mutex // guards the fields below and, while waiting, the session's transaction
		waiting bool
		timer   *time.Timer
	}

	mu     sync.Mutex   // guards the field below
	active []*interrupt // what runs: a portal and the cursor that it fetches from
}

// interrupt stops one portal: from another connection, by its context or by the statement's time limit. It is the context of what the portal
// runs; a channel is made only for those who wait.
type interrupt struct {
	parent  context.Context
	unwatch func() bool
	flag    atomic.Bool // polled by the executor
	timeout atomic.Bool // the time limit set it
	timer   *time.Timer
	ended   atomic.Bool // err is set

	mu   sync.Mutex // guards the fields below
	done chan struct{}
	err  error

	text  string // of the statement, for SHOW TRANSACTIONS
	query uint64 // its number
	began time.Time
}

// begin makes i a context below another one.
func (i *interrupt) begin(parent context.Context) {
	i.parent = parent
	if parent.Done() == nil {
		return
	}
	if err := parent.Err(); err != nil {
		i.flag.Store(true)
		i.end(err)
		return
	}
	i.unwatch = context.AfterFunc(parent, func() {
		i.flag.Store(true)
		i.end(parent.Err())
	})
}

// stop interrupts what runs.
func (i *interrupt) stop() {
	i.flag.Store(true)
	i.end(context.Canceled)
}

// cancel ends the context of what has run.
func (i *interrupt) cancel() {
	if i.unwatch != nil {
		i.unwatch()
	}
	i.end(context.Canceled)
}

func (i *interrupt) end(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err != nil {
		return
	}
	i.err = err
	i.ended.Store(true)
	if i.done != nil {
		close(i.done)
	}
}

// Deadline is its parent's.
func (i *interrupt) Deadline() (time.Time, bool) { return i.parent.Deadline() }

// Done returns a channel that is closed when the portal is stopped or has ended.
func (i *interrupt) Done() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.done == nil {
		i.done = make(chan struct{})
		if i.err != nil {
			close(i.done)
		}
	}
	return i.done
}

// Err says why Done is closed.
func (i *interrupt) Err() error {
	if i.ended.Load() {
		i.mu.Lock()
		defer i.mu.Unlock()
		return i.err
	}
	if i.unwatch != nil {
		return i.parent.Err() // the watch may not have heard of it yet
	}
	return nil
}

// Value finds the interrupt itself, and what its parent has.
func (i *interrupt) Value(key any) any {
	if key == (interruptKey{}) {
		return i
	}
	return i.parent.Value(key)
}

type interruptKey struct{}

// interruptOf returns the interrupt of the portal whose context this is.
func interruptOf(ctx context.Context) *interrupt {
	i, _ := ctx.Value(interruptKey{}).(*interrupt)
	return i
}

// Open starts a session.
func (db *Database) Open(c Client) *Session {
	s := &Session{
		db: db, client: c, base: map[string]string{}, set: map[string]string{}, prepared: map[string]*Prepared{},
		portals: map[string]*Portal{}, cache: map[cacheKey]*Prepared{},
	}
	for k, v := range db.opt.Settings {
		s.base[strings.ToLower(k)] = v
	}
	if c.Graph != "" {
		s.base["hedgerow.graph"] = c.Graph
	}
	if c.Application != "" {
		s.base["application_name"] = c.Application
	}
	if c.Language == Cypher {
		s.base["hedgerow.language"] = "cypher"
	}
	db.mu.Lock()
	db.sessions[s] = struct{}{}
	db.mu.Unlock()
	return s
}

// Close rolls back what is open and ends the session.
func (s *Session) Close() {
	s.Wake()
	s.rollback()
	s.db.mu.Lock()
	delete(s.db.sessions, s)
	s.db.mu.Unlock()
}

// Park takes a session that has nothing open and nothing set out of the database's list, until Resume; it reports whether it did. One that is not
// as it was opened is closed.
func (s *Session) Park() bool {
	fresh := !s.block && s.tx == nil && !s.failed && !s.ageDialect && s.agePrepared == "" && s.deadline.IsZero() && s.meta.IsNull() &&
		len(s.set)+len(s.local)+len(s.prepared)+len(s.portals) == 0
	if !fresh {
		s.Close()
		return false
	}
	s.db.mu.Lock()
	delete(s.db.sessions, s)
	s.db.mu.Unlock()
	return true
}

// Resume ends Park.
func (s *Session) Resume() {
	s.db.mu.Lock()
	s.db.sessions[s] = struct{}{}
	s.db.mu.Unlock()
}

// SetConnection names the connection for SHOW TRANSACTIONS; it comes before the first statement.
func (s *Session) SetConnection(name string) { s.client.Connection = name }

// Sessions returns the number of open sessions.
func (db *Database) Sessions() int {
	db.mu.Lock()
	defer db.mu.Unlock()
	return len(db.sessions)
}

// CancelAll interrupts what every session runs.
func (db *Database) CancelAll() {
	db.mu.Lock()
	defer db.mu.Unlock()
	for s := range db.sessions {
		s.Cancel()
	}
}

// Cancel interrupts the running statement, if there is one (S1).
func (s *Session) Cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.active {
		i.stop()
	}
}

// interrupted reports whether what runs is to stop, for functions that wait.
func (s *Session) interrupted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.active {
		if i.flag.Load() {
			return true
		}
	}
	return false
}

// runContext is the context of what runs, for functions, which are not given one.
func (s *Session) runContext() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.active); n > 0 {
		return s.active[n-1]
	}
	return context.Background()
}

// resume makes an interrupt one that Cancel and the time limit reach; pause takes it out again. A statement's time runs between the two.
func (s *Session) resume(i *interrupt) {
	if ms := s.now().statementTimeout; ms > 0 {
		i.timer = time.AfterFunc(time.Duration(ms)*time.Millisecond, func() {
			i.timeout.Store(true)
			i.stop()
		})
	}
	s.mu.Lock()
	s.active = append(s.active, i)
	s.mu.Unlock()
}

func (s *Session) pause(i *interrupt) {
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
	s.mu.Lock()
	s.active = slices.DeleteFunc(s.active, func(x *interrupt) bool { return x == i })
	s.mu.Unlock()
}

// ---- settings ---------------------------------------------------------------------------------------------------------

// Setting returns the current value of a setting, as SHOW prints it; "" if there is none of the name.
func (s *Session) Setting(name string) string {
	d, err := findSetting(name)
	if err != nil {
		return ""
	}
	return d.show(s.raw(d))
}

func (s *Session) raw(d *setting) string {
	key := d.key
	switch key {
	case "session_authorization":
		return s.client.User
	case "transaction_isolation":
		if s.tx != nil || s.block {
			return isolationText(s.isolation)
		}
		return s.raw(settings["default_transaction_isolation"])
	case "transaction_read_only":
		if _, ok := s.set[key]; !ok {
			return s.raw(settings["default_transaction_read_only"])
		}
	}
	if v, ok := s.set[key]; ok {
		return v
	}
	if v, ok := s.base[key]; ok {
		return v
	}
	if key == "hedgerow.agtype_plain" && s.ageDialect {
		return "on"
	}
	return d.initial
}

func (s *Session) intSetting(name string) int64 {
	n, _ := strconv.ParseInt(s.raw(settings[name]), 10, 64)
	return n
}

func (s *Session) boolSetting(name string) bool { return s.raw(settings[name]) == "on" }

// Set changes a setting for the session, or with local until the end of the transaction.
func (s *Session) Set(name, v string, local bool) error {
	d, err := findSetting(name)
	if err != nil {
		return err
	}
	if v, err = d.check(v); err != nil {
		return err
	}
	switch d.key {
	case "transaction_isolation":
		return s.setIsolation(v)
	case "transaction_read_only":
		if !s.block {
			return nil // the transaction that it is about ends with the statement
		}
		local = true
		if v == "off" && s.tx != nil && s.readOnly() {
			return dberr.New(dberr.ActiveTransaction, "transaction read-write mode must be set before any query")
		}
		if s.tx != nil {
			s.tx.SetReadOnly(v == "on")
		}
	case "synchronous_commit":
		if s.tx != nil {
			s.tx.SetAsync(v == "off")
		}
	}
	s.remember(d.key, local)
	if old, ok := s.set[d.key]; !ok || old != v {
		s.set[d.key] = v
		s.changed()
	}
	if c, ok := s.tx.(store.GraphCacher); ok && (d.key == "hedgerow.graph_cache" || d.key == "hedgerow.reference") {
		c.SetGraphCache(s.graphCache())
	}
	s.reportSetting(d)
	return nil
}

// graphCache reports whether neighbourhoods are read from memory. The reference run does without (rules C5).
func (s *Session) graphCache() bool {
	return s.now().graphCache
}

// remember keeps the value that the end of the transaction, or its rollback, brings back. As a rollback undoes SET too, every change
// inside a transaction is remembered; a commit forgets those that were not local.
func (s *Session) remember(key string, local bool) {
	if !local && !s.block && s.tx == nil {
		return
	}
	if s.local == nil {
		s.local = map[string]string{}
	}
	old, had := s.set[key]
	if !had {
		old = "\x00"
	}
	if _, ok := s.local["\x00"+key]; !ok {
		s.local["\x00"+key] = old // for a rollback
	}
	if _, ok := s.local[key]; local && !ok {
		s.local[key] = old
	} else if !local {
		delete(s.local, key) // SET after SET LOCAL stays
	}
}

func (s *Session) restoreLocals(committed bool) {
	if s.local == nil {
		return
	}
	s.changed()
	for mark, old := range s.local {
		key, rollback := strings.CutPrefix(mark, "\x00")
		if rollback == committed {
			continue
		}
		if old == "\x00" {
			delete(s.set, key)
		} else {
			s.set[key] = old
		}
		if d := settings[key]; d != nil {
			s.reportSetting(d)
		}
	}
	s.local = nil
}

// Reset brings a setting back to its initial value; "all" means every one, those of the transaction apart.
func (s *Session) Reset(name string) error {
	if strings.EqualFold(name, "all") {
		for key := range s.set {
			if strings.HasPrefix(key, "transaction_") {
				continue
			}
			s.remember(key, false)
			delete(s.set, key)
			s.changed()
			if d := settings[key]; d != nil {
				s.reportSetting(d)
			}
		}
		return nil
	}
	d, err := findSetting(name)
	if err != nil {
		return err
	}
	if d.kind == internalSetting || strings.HasPrefix(d.key, "transaction_") {
		return dberr.New(dberr.InvalidParameterValue, "parameter %q cannot be reset", d.name)
	}
	s.remember(d.key, false)
	delete(s.set, d.key)
	s.changed()
	s.reportSetting(d)
	return nil
}

// Startup sets a parameter of a connection's first message; it is what RESET goes back to.
func (s *Session) Startup(name, v string) error {
	if strings.EqualFold(name, "datestyle") || strings.EqualFold(name, "timezone") {
		v = strings.Trim(v, `"'`)
	}
	d, err := findSetting(name)
	if err != nil {
		return err
	}
	if v, err = d.check(v); err != nil {
		return err
	}
	s.base[d.key] = v
	s.changed()
	return nil
}

func (s *Session) reportSetting(d *setting) {
	if s.OnReport == nil {
		return
	}
	for _, name := range Reported {
		if name == d.name {
			s.OnReport(name, d.show(s.raw(d)))
		}
	}
}

func (s *Session) notice(severity, code, format string) {
	s.Notify(Notice{Severity: severity, Code: code, Message: format, Pos: -1, End: -1})
}

// Notify hands a notice to the client.
func (s *Session) Notify(n Notice) {
	least := s.now().messages
	if s.OnNotice != nil && least != "error" && !(n.Severity != "WARNING" && least == "warning") {
		s.OnNotice(n)
	}
}

// AppendText appends a value in its type's text form under the session's settings.
func (s *Session) AppendText(dst []byte, t *sqltype.Type, v value.Value) ([]byte, error) {
	if t == sqltype.Agtype && s.now().plain {
		return value.AppendAgtypeOptions(dst, v, value.TextOptions{Plain: true}), nil
	}
	if (t == sqltype.Regclass || t == sqltype.Regnamespc) && v.Kind() == value.Int {
		if name, ok := s.regName(t, v.Int()); ok {
			return append(dst, name...), nil
		}
	}
	if (t == sqltype.Timestamptz || t == sqltype.TstamptzArr) && s.now().zone != "UTC" {
		return sqltype.AppendTextZone(dst, t, v, s.zone())
	}
	return sqltype.AppendText(dst, t, v)
}

// zone returns the session's time zone.
func (s *Session) zone() *time.Location {
	loc, err := location(s.raw(settings["timezone"]))
	if err != nil {
		return time.UTC
	}
	return loc
}
