package plancache

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/lang/cypher"
	"github.com/hedgerowdb/hedgerow/internal/query/plan"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Options of a cache. The zero value works.
type Options struct {
	Entries int              // forms; zero means 1,000
	Bytes   int64            // zero means 64 MiB
	Now     func() time.Time // nil means time.Now
}

// Limits of the cache.
const (
	MaxVariants = 4         // plans of a form
	maxTexts    = 8         // texts of a form that are known as they are
	maxText     = 256 << 10 // bytes of a text that is kept
	minAge      = 10 * time.Second
	maxDrift    = 0.25
	minLook     = 100 * time.Millisecond
	outgrown    = 10  // times as many rows
	smallGraph  = 100 // rows below which growth does not count
)

// Env is what a plan depends on beside the text.
type Env struct {
	Graph string
	Zone  string // time zone
	AGE   bool   // the dialect inside SQL's cypher() (rules C8)
	// ReadOnly: no plan depends on it; it is a part of the key because the rules say so (C6).
	ReadOnly bool
}

func (e *Env) dialect() cypher.Dialect {
	if e.AGE {
		return cypher.AGE
	}
	return cypher.Cypher
}

type key struct {
	Env
	form  string
	exact bool // form is a text that has no normal form
}

// Cache is a plan cache. It is safe for concurrent use.
type Cache struct {
	opt  Options
	seed maphash.Seed

	mu      sync.Mutex // guards the fields below; never held while a plan is made
	texts   map[key]*Text
	entries map[key]*Entry
	lru     Entry // ring: lru.next was used last
	bytes   int64

	stats counters
}

// normalizers keep the memory of those that are not in use.
var normalizers = sync.Pool{New: func() any { return new(cypher.Normalizer) }}

type counters struct{ exact, normal, misses, plans, replans, evicted atomic.Uint64 }

// Stats count what a cache did.
type Stats struct {
	Exact   uint64 // texts found as they are
	Normal  uint64 // forms found
	Misses  uint64 // forms that were new
	Plans   uint64 // plans made
	Replans uint64 // of them in the background, for new statistics
	Evicted uint64 // forms that had to go
	Entries int
	Texts   int
	Bytes   int64
}

// New returns an empty cache.
func New(o Options) *Cache {
	if o.Entries == 0 {
		o.Entries = 1000
	}
	if o.Bytes == 0 {
		o.Bytes = 64 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Cache{opt: o, seed: maphash.MakeSeed(), texts: map[key]*Text{}, entries: map[key]*Entry{}}
	c.lru.next, c.lru.prev = &c.lru, &c.lru
	return c
}

// Stats returns the counters.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.stats
	return Stats{
		Exact: s.exact.Load(), Normal: s.normal.Load(), Misses: s.misses.Load(), Plans: s.plans.Load(), Replans: s.replans.Load(), Evicted: s.evicted.Load(),
		Entries: len(c.entries), Texts: len(c.texts), Bytes: c.bytes,
	}
}

// Text is a statement's text with what its plan leaves open.
type Text struct {
	Env
	Text   string
	Body   string // without the prefix
	Offset int    // of Body in Text
	Mode   plan.ExplainMode
	Replan Replan
	Entry  *Entry
	Lifted []value.Value // values of the literals that the form has parameters for

	cache *Cache
}

// Replan is the option of the prefix of this name.
type Replan uint8

const (
	ReplanDefault Replan = iota
	ReplanForce          // make a plan anew
	ReplanSkip           // use a plan that is there, however old its statistics are
)

// Values returns the values of lifted literals; none for a nil Text.
func (t *Text) Values() []value.Value {
	if t == nil {
		return nil
	}
	return t.Lifted
}

// Of reports whether the text was found in a cache.
func (t *Text) Of(c *Cache) bool { return t.cache == c }

// Entry is a form and its plans.
type Entry struct {
	key      key
	lifted   bool // literals are parameters
	variants atomic.Pointer[[]*Variant]
	query    atomic.Pointer[plan.Query]
	busy     atomic.Bool // a plan is being made in the background
	unfit    atomic.Bool // the form is not to be used: its literals are more than values

	// What follows is guarded by Cache.mu.
	prev, next *Entry
	texts      []*Text
	at         int       // next of texts to go
	seen       [4]uint64 // hashes of texts that came once
	bytes      int64
	gone       bool
}

// Query returns a plan of the form for what is the same in all of them: columns, parameters, kind of statement. It is nil before the first.
func (e *Entry) Query() *plan.Query { return e.query.Load() }

// Lifted reports whether the literals of the text are parameters of its plans.
func (e *Entry) Lifted() bool { return e.lifted }

// Text looks a text up as it is; nil if it is not known.
func (c *Cache) Text(env *Env, text string) *Text {
	c.mu.Lock()
	t := c.texts[key{Env: *env, form: text}]
	if t != nil {
		c.touch(t.Entry)
		c.stats.exact.Add(1)
	}
	c.mu.Unlock()
	return t
}

// Form looks the normal form of a text up, and enters it. An error is one of the text's prefix.
func (c *Cache) Form(env *Env, text string) (*Text, error) {
	t := &Text{Env: *env, Text: text, Body: text, cache: c}
	if err := t.prefix(); err != nil {
		return nil, err
	}
	n := normalizers.Get().(*cypher.Normalizer)
	defer normalizers.Put(n)
	if len(t.Body) > maxText || !n.Run(t.Body, env.dialect()) {
		if n.Command {
			t.Entry = &Entry{gone: true}
			return t, nil
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.exact(t)
		return t, nil
	}
	defer n.Free()
	t.Lifted = values(n)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch t.Entry = c.entries[key{Env: *env, form: string(n.Key)}]; { // makes no string
	case t.Entry == nil:
		t.Entry = c.enter(key{Env: *env, form: string(n.Key)}, true)
	case t.Entry.unfit.Load():
		t.Lifted = nil
		c.exact(t)
		return t, nil
	default:
		c.stats.normal.Add(1)
	}
	c.know(t)
	return t, nil
}

// Plain is a text that no cache knows.
func Plain(env *Env, text string) (*Text, error) {
	t := &Text{Env: *env, Text: text, Body: text, Entry: &Entry{gone: true}}
	return t, t.prefix()
}

// Exact enters a text whose form is of no use.
func (c *Cache) Exact(t *Text) *Text {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.Entry.unfit.Store(true)
	c.forget(t.Entry)
	n := *t
	n.Lifted = nil
	c.exact(&n)
	return &n
}

// exact finds or makes the entry of a text without a form. c.mu must be held.
func (c *Cache) exact(t *Text) {
	k := key{Env: t.Env, form: t.Body, exact: true}
	if t.Entry = c.entries[k]; t.Entry == nil {
		t.Entry = c.enter(k, false)
	} else {
		c.stats.normal.Add(1)
	}
	c.know(t)
}

// enter makes an entry. c.mu must be held.
func (c *Cache) enter(k key, lifted bool) *Entry {
	c.stats.misses.Add(1)
	e := &Entry{key: k, lifted: lifted, gone: len(k.form) > maxText}
	if e.gone {
		return e // serves this text alone
	}
	c.entries[k] = e
	e.prev, e.next = &c.lru, c.lru.next
	e.prev.next, e.next.prev = e, e
	c.charge(e, int64(len(k.form))+entryBytes)
	return e
}

const (
	entryBytes = 512
	textBytes  = 256
)

// charge accounts bytes of an entry and makes room for them.
func (c *Cache) charge(e *Entry, n int64) {
	if e.gone {
		return
	}
	e.bytes += n
	c.bytes += n
	for (c.bytes > c.opt.Bytes || len(c.entries) > c.opt.Entries) && c.lru.prev != &c.lru {
		c.stats.evicted.Add(1)
		c.evict(c.lru.prev)
	}
}

func (c *Cache) evict(e *Entry) {
	c.forget(e)
	if e.gone {
		return
	}
	e.gone = true
	delete(c.entries, e.key)
	e.prev.next, e.next.prev = e.next, e.prev
	c.bytes -= e.bytes
}

// forget drops the texts of an entry.
func (c *Cache) forget(e *Entry) {
	for _, t := range e.texts {
		c.drop(t)
	}
	e.texts, e.at = nil, 0
}

func (c *Cache) drop(t *Text) {
	delete(c.texts, key{Env: t.Env, form: t.Text})
	if !t.Entry.gone {
		n := t.bytes()
		t.Entry.bytes -= n
		c.bytes -= n
	}
}

func (t *Text) bytes() int64 {
	n := int64(len(t.Text)) + textBytes
	for _, v := range t.Lifted {
		n += 24 + int64(len(v.Raw()))
	}
	return n
}

// touch makes an entry the one that was used last.
func (c *Cache) touch(e *Entry) {
	if e.gone || c.lru.next == e {
		return
	}
	e.prev.next, e.next.prev = e.next, e.prev
	e.prev, e.next = &c.lru, c.lru.next
	e.prev.next, e.next.prev = e, e
}

// know makes a text one that is found as it is: at once if it has no literals, else when it comes a second time.
func (c *Cache) know(t *Text) {
	e := t.Entry
	c.touch(e)
	if e.gone || len(t.Text) > maxText {
		return
	}
	if len(t.Lifted) > 0 {
		h := maphash.String(c.seed, t.Text)
		if !slices.Contains(e.seen[:], h) {
			copy(e.seen[1:], e.seen[:])
			e.seen[0] = h
			return
		}
	}
	k := key{Env: t.Env, form: t.Text}
	if c.texts[k] != nil {
		return
	}
	if len(e.texts) < maxTexts {
		e.texts = append(e.texts, t)
	} else {
		c.drop(e.texts[e.at])
		e.texts[e.at] = t
		e.at = (e.at + 1) % maxTexts
	}
	c.texts[k] = t
	c.charge(e, t.bytes())
}

// Clear empties the cache.
func (c *Cache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.lru.prev != &c.lru {
		c.evict(c.lru.prev)
	}
}

// values makes values of the literals of a form: one for each parameter. The normaliser's memory is not kept.
func values(n *cypher.Normalizer) []value.Value {
	if n.Params == 0 {
		return nil
	}
	out := make([]value.Value, n.Params)
	for i := range n.Lifted {
		if l := &n.Lifted[i]; out[l.Param].IsNull() {
			out[l.Param] = literal(l)
		}
	}
	return out
}

func literal(l *cypher.Literal) value.Value {
	switch l.Kind {
	case cypher.Integer:
		return value.NewInt(l.Int)
	case cypher.Float:
		return value.NewFloat(l.Float)
	case cypher.String:
		return value.NewString(l.Str)
	}
	elems := make([]value.Value, len(l.Elems))
	for i := range l.Elems {
		elems[i] = literal(&l.Elems[i])
	}
	return value.NewList(elems...)
}
