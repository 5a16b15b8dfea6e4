package spill

import (
	"encoding/binary"
)

// Log keeps records in the order in which they were added, for reading more than once. It lies in a file but for its last block.
type Log struct {
	p    *Place
	f    File
	size int64
	buf  []byte // what is not in the file
	r    reader
	mem  charge
}

// Init makes an empty one of a zero one. p.Temp must not be nil.
func (l *Log) Init(p *Place) { *l = Log{p: p} }

func (l *Log) block() int { return int(min(max(l.p.Share/16, 1<<10), 64<<10)) }

// Add adds a record.
func (l *Log) Add(body []byte) error {
	if len(l.buf)+8+len(body) > l.block() && len(l.buf) > 0 {
		if err := l.write(); err != nil {
			return err
		}
	}
	l.buf = binary.LittleEndian.AppendUint32(l.buf, 0)
	l.buf = binary.LittleEndian.AppendUint32(l.buf, uint32(len(body)))
	l.buf = append(l.buf, body...)
	return l.mem.set(l.p.Mem, int64(cap(l.buf)))
}

func (l *Log) write() error {
	if l.f == nil {
		f, err := l.p.Temp.Create()
		if err != nil {
			return err
		}
		l.f = f
	}
	if _, err := l.f.Write(l.buf); err != nil {
		return fileError(err)
	}
	l.size += int64(len(l.buf))
	l.buf = l.buf[:0]
	return l.p.check()
}

// Rewind begins to read from the start; nothing is added afterwards.
func (l *Log) Rewind() error {
	if l.f == nil {
		l.r = reader{buf: l.buf}
		return nil
	}
	if len(l.buf) > 0 {
		if err := l.write(); err != nil {
			return err
		}
	}
	buf := l.r.buf
	if cap(buf) == 0 {
		buf = make([]byte, 0, l.block())
	}
	l.r = reader{f: l.f, end: l.size, buf: buf[:0]}
	return l.mem.set(l.p.Mem, int64(cap(l.buf)+cap(buf)))
}

// Next returns the next record; false at the end.
func (l *Log) Next() ([]byte, bool, error) {
	ok, err := l.r.next()
	return l.r.body, ok, err
}

// Close frees everything; idempotent.
func (l *Log) Close() {
	if l.p == nil {
		return
	}
	if l.f != nil {
		_ = l.f.Close()
	}
	_ = l.mem.set(l.p.Mem, 0)
	*l = Log{p: l.p}
}
