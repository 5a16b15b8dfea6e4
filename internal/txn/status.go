package txn

import (
	"sync"
	"sync/atomic"

	"github.com/hedgerowdb/hedgerow/internal/page"
)

const (
	chunkBits = 12
	chunkSize = 1 << chunkBits
)

// chunk holds the words of 4,096 consecutive xids, and who has them while they run.
type chunk struct {
	words  [chunkSize]atomic.Uint64
	owners [chunkSize]atomic.Pointer[Tx] // the top transaction; nil once it has ended
}

// directory is the present window of chunks. It is replaced, never changed, so a reader may go on with an old one.
type directory struct {
	base   uint64 // number of chunks[0]
	chunks []*chunk
}

// words is the status words of all xids that are not yet only in status pages.
type words struct {
	mu  sync.Mutex // serialises replacing dir
	dir atomic.Pointer[directory]
}

func (w *words) init(next XID) {
	w.dir.Store(&directory{base: uint64(next) >> chunkBits})
}

func (w *words) chunk(x XID) *chunk {
	d := w.dir.Load()
	i := uint64(x)>>chunkBits - d.base
	if i >= uint64(len(d.chunks)) { // also below the base, by wrapping around
		return nil
	}
	return d.chunks[i]
}

// load returns the word of x, or false if x is below the window (or was never assigned).
func (w *words) load(x XID) (uint64, bool) {
	c := w.chunk(x)
	if c == nil {
		return 0, false
	}
	return c.words[x&(chunkSize-1)].Load(), true
}

func (w *words) store(x XID, v uint64) { w.chunk(x).words[x&(chunkSize-1)].Store(v) }

// extend makes sure that x has a word.
func (w *words) extend(x XID) {
	if w.chunk(x) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.dir.Load()
	n := &directory{base: d.base, chunks: make([]*chunk, 0, len(d.chunks)+1)}
	n.chunks = append(n.chunks, d.chunks...)
	for n.base+uint64(len(n.chunks)) <= uint64(x)>>chunkBits {
		n.chunks = append(n.chunks, new(chunk))
	}
	w.dir.Store(n)
}

// count returns how many words are in memory.
func (w *words) count() int { return len(w.dir.Load().chunks) * chunkSize }

// resolve returns what became of x, with its CSN (0 when only the status page knows: visible to every snapshot).
func (m *Manager) resolve(x XID) (State, page.LSN) {
	if x == BootstrapXID {
		return Committed, 0
	}
	for x != InvalidXID {
		w, ok := m.words.load(x)
		if !ok {
			switch m.status.get(x) { // a freed word is answered by the status page (A3)
			case statusCommitted:
				return Committed, 0
			default: // no word and no final status: a crash ended it
				return Aborted, 0
			}
		}
		switch w & wordTag {
		case tagCommitted:
			return Committed, page.LSN(w >> wordTagBits)
		case tagReleased:
			x = XID(w >> wordTagBits)
		default:
			if w == wordAborted {
				return Aborted, 0
			}
			return InProgress, 0
		}
	}
	return Aborted, 0
}

// Outcome returns what became of x for one who wants to change what x changed. A commit that is not published yet counts as in
// progress: whoever acts on it must first be able to see it.
func (m *Manager) Outcome(x XID) (State, page.LSN) {
	s, csn := m.resolve(x)
	if s == Committed && csn > page.LSN(m.published.Load()) {
		return InProgress, 0
	}
	return s, csn
}

// compress moves the words of the oldest chunks into status pages as far as the horizon allows (A3, A4).
func (m *Manager) compress() {
	if !m.compressing.TryLock() {
		return
	}
	defer m.compressing.Unlock()
	h := m.Horizon()
	for {
		d := m.words.dir.Load()
		if len(d.chunks) < 2 || XID(d.base+1)<<chunkBits > h.Xmin {
			return
		}
		c := d.chunks[0]
		first := XID(d.base) << chunkBits
		for i := range c.words {
			x := first + XID(i)
			if s, csn := m.resolve(x); s == InProgress || s == Committed && csn > h.CSN {
				return // not durable yet; what was stored before this one is durable
			} else if s == Committed {
				m.status.set(x, statusCommitted)
			} else {
				m.status.set(x, statusAborted)
			}
		}
		m.words.mu.Lock()
		d = m.words.dir.Load()
		n := &directory{base: d.base + 1, chunks: append([]*chunk(nil), d.chunks[1:]...)}
		m.words.dir.Store(n)
		m.words.mu.Unlock()
		m.compressed.Add(chunkSize)
	}
}
