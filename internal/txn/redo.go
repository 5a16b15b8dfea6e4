package txn

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/recovery"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

var (
	_ recovery.Redoer      = (*Manager)(nil)
	_ recovery.Participant = (*Manager)(nil)
)

// PayloadRedo repeats what a participant added to a commit record.
type PayloadRedo func(rc *recovery.Context, rec *wal.Record, data []byte) error

// OnRedo registers the function for a kind of payload. It is called before recovery.
func (m *Manager) OnRedo(kind uint8, f PayloadRedo) { m.payloads[kind] = f }

type redoState struct {
	next XID           // above every xid of the log
	subs map[XID][]XID // from continuation records, until their commit record
}

// Name is the name of the resource manager and of the participant.
func (m *Manager) Name() string { return "xact" }

// Redo repeats a record.
func (m *Manager) Redo(rc *recovery.Context, rec *wal.Record) error {
	d := decoder{b: rec.Data}
	top := XID(rec.XID)
	m.redone.next = max(m.redone.next, top+1)
	switch rec.Info {
	case infoXIDs:
		m.redone.next = max(m.redone.next, XID(d.u64()))
	case infoSubs:
		if m.redone.subs == nil {
			m.redone.subs = make(map[XID][]XID)
		}
		m.redone.subs[top] = append(m.redone.subs[top], d.xids(top)...)
	case infoCommit:
		subs := append(m.redone.subs[top], d.xids(top)...)
		delete(m.redone.subs, top)
		drops := d.rels()
		for _, x := range subs {
			m.status.set(x, statusCommitted)
			m.redone.next = max(m.redone.next, x+1)
		}
		m.status.set(top, statusCommitted)
		for len(d.b) > 0 && d.err == nil {
			kind := d.b[0]
			d.b = d.b[1:]
			n := d.uvarint()
			if n > uint64(len(d.b)) {
				d.err = errShort
				break
			}
			data := d.b[:n]
			d.b = d.b[n:]
			f := m.payloads[kind]
			if f == nil {
				return dberr.New(dberr.DataCorrupted, "commit record at %v has a payload of unknown kind %d", rec.LSN, kind)
			}
			if err := f(rc, rec, data); err != nil {
				return fmt.Errorf("redo payload %d of the commit at %v: %w", kind, rec.LSN, err)
			}
		}
		for _, r := range drops {
			if err := rc.DropRel(rec, r); err != nil {
				return err
			}
		}
	case infoAbort:
		delete(m.redone.subs, top)
		m.status.set(top, statusAborted)
		for _, r := range d.rels() {
			if err := rc.DropRel(rec, r); err != nil {
				return err
			}
		}
	default:
		return dberr.New(dberr.DataCorrupted, "xact record at %v has the unknown kind %d", rec.LSN, rec.Info)
	}
	if d.err != nil {
		return dberr.New(dberr.DataCorrupted, "xact record at %v is cut short", rec.LSN)
	}
	return nil
}

// WaitFinal publishes every commit below redo, which is flushed: their words are stored when it returns (A4).
func (m *Manager) WaitFinal(ctx context.Context, redo page.LSN) error {
	if m.log == nil {
		return nil
	}
	if err := m.log.FlushTo(redo); err != nil {
		return err
	}
	_, err := m.publish(redo)
	sched.Point("txn.checkpoint.final")
	return err
}

// Checkpoint writes the status pages: all final states below redo (A4). The record carries how far xids may be in use and the
// subxids of commits that redo cuts in two.
func (m *Manager) Checkpoint(ctx context.Context, redo page.LSN) ([]byte, error) {
	if m.log != nil {
		m.storeFinal(redo)
	}
	if _, err := m.status.write(ctx, statusDir{m.opts.FS, m.opts.Dir}); err != nil {
		return nil, err
	}
	limit := m.redone.next
	if m.log != nil {
		m.run.Lock()
		limit = m.run.limit
		m.run.Unlock()
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(limit))
	m.straddle.Lock()
	defer m.straddle.Unlock()
	keep := m.straddle.list[:0]
	for _, s := range m.straddle.list {
		if s.csn == 0 || s.csn > redo {
			keep = append(keep, s)
		}
	}
	clear(m.straddle.list[len(keep):])
	m.straddle.list = keep
	b = binary.AppendUvarint(b, uint64(len(keep)))
	for _, s := range keep {
		b = binary.AppendUvarint(b, uint64(s.top))
		b = appendXIDs(b, s.top, s.subs)
	}
	return b, nil
}

// storeFinal copies the final states with records below redo from words into status pages. An abort may be stored early: without
// its record the transaction is aborted as well.
func (m *Manager) storeFinal(redo page.LSN) {
	d := m.words.dir.Load()
	next := XID(m.next.Load())
	for i, c := range d.chunks {
		first := XID(d.base+uint64(i)) << chunkBits
		for k := range c.words {
			x := first + XID(k)
			if x >= next {
				return
			}
			switch s, csn := m.resolve(x); {
			case s == Committed && csn <= redo:
				m.status.set(x, statusCommitted)
			case s == Aborted:
				m.status.set(x, statusAborted)
			}
		}
	}
}

// Restore reads the status pages and what the checkpoint record carried. Redo follows.
func (m *Manager) Restore(data []byte) error {
	m.redone = redoState{next: FirstXID}
	if data == nil {
		return m.status.read(statusDir{m.opts.FS, m.opts.Dir}, 0)
	}
	d := decoder{b: data}
	m.redone.next = XID(d.u64())
	n := d.uvarint()
	m.redone.subs = make(map[XID][]XID)
	for ; n > 0 && d.err == nil; n-- {
		top := XID(d.uvarint())
		m.redone.subs[top] = d.xids(top)
	}
	if d.err != nil || m.redone.next < FirstXID {
		return dberr.New(dberr.DataCorrupted, "the checkpoint's transaction state is damaged")
	}
	return m.status.read(statusDir{m.opts.FS, m.opts.Dir}, m.redone.next)
}

var errShort = dberr.New(dberr.DataCorrupted, "record is cut short")

type decoder struct {
	b   []byte
	err error
}

func (d *decoder) u64() uint64 {
	if len(d.b) < 8 {
		d.err = errShort
		return 0
	}
	v := binary.LittleEndian.Uint64(d.b)
	d.b = d.b[8:]
	return v
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.err, d.b = errShort, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) xids(base XID) []XID {
	n := d.uvarint()
	if n > uint64(len(d.b)) { // each takes a byte at least
		d.err = errShort
		return nil
	}
	xs := make([]XID, 0, n)
	for range n {
		base += XID(d.uvarint())
		xs = append(xs, base)
	}
	return xs
}

func (d *decoder) rels() []page.RelFile {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.err = errShort
		return nil
	}
	rs := make([]page.RelFile, 0, n)
	for range n {
		rs = append(rs, page.RelFile(d.uvarint()))
	}
	return rs
}

// statusDir keeps status pages in a directory of a file system.
type statusDir struct {
	fs  vfs.FS
	dir string
}

func (s statusDir) open(name string, create bool) (vfs.File, error) {
	p := vfs.Join(s.dir, name)
	f, err := s.fs.Open(p)
	if err == nil {
		return f, nil
	}
	if !errors.Is(err, vfs.ErrNotExist) {
		return nil, dberr.Wrap(dberr.IOError, err, "open %s", p)
	}
	if !create {
		return nil, nil
	}
	if err := s.fs.MkdirAll(s.dir); err != nil {
		return nil, dberr.Wrap(dberr.IOError, err, "make %s", s.dir)
	}
	if f, err = s.fs.Create(p); err != nil {
		return nil, dberr.Wrap(dberr.IOError, err, "create %s", p)
	}
	return f, nil
}
