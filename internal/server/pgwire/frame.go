package pgwire

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

const (
	maxMessage    = 256 << 20 // bytes of any message
	maxStatement  = 16 << 20  // bytes of a statement's text (rules C12)
	maxStartup    = 10000
	maxParameters = 65535
	keepBuffer    = 1 << 20 // a body buffer larger than this is given back after its message
	flushAt       = 32 << 10
)

// wire frames messages on one connection. Reads and writes are each made by one goroutine at a time.
type wire struct {
	conn  net.Conn
	in    *bufio.Reader
	body  []byte
	out   []byte
	start int   // of the message that is being made, in out
	max   int64 // bytes of a message: few until the client is known
}

func newWire(c net.Conn) *wire {
	return &wire{conn: c, in: bufio.NewReaderSize(c, 16<<10), out: make([]byte, 0, 4096), max: maxStartup}
}

// errTooLong is a message that was read past because of its size; the conversation can go on.
var errTooLong = dberr.New(dberr.LimitExceeded, "statement text is longer than %d bytes", maxStatement).
	WithHint("Send the data as parameters, or load it with COPY or hedgerow load.")

// read returns the next message's type and body, which is valid until the next read.
func (w *wire) read() (kind byte, body []byte, err error) {
	head, err := w.in.Peek(5)
	if err != nil {
		if len(head) > 0 && err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	kind = head[0]
	n := int64(binary.BigEndian.Uint32(head[1:])) - 4
	w.in.Discard(5)
	if n < 0 || n > w.max {
		return kind, nil, dberr.New(dberr.ProtocolViolation, "invalid message length %d", n+4)
	}
	if (kind == 'Q' || kind == 'P') && n > maxStatement+(64<<10) {
		if _, err := io.CopyN(io.Discard, w.in, n); err != nil {
			return kind, nil, err
		}
		return kind, nil, errTooLong
	}
	body, err = w.fill(n)
	return kind, body, err
}

// fill reads n bytes, growing the buffer only as they arrive (W1).
func (w *wire) fill(n int64) ([]byte, error) {
	if cap(w.body) > keepBuffer && n <= keepBuffer {
		w.body = nil
	}
	w.body = w.body[:0]
	for int64(len(w.body)) < n {
		step := min(n-int64(len(w.body)), 64<<10)
		if len(w.body) >= 64<<10 {
			step = min(n-int64(len(w.body)), int64(len(w.body)))
		}
		at := len(w.body)
		w.body = append(w.body, make([]byte, step)...)
		if _, err := io.ReadFull(w.in, w.body[at:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return w.body, nil
}

// readStartup returns the code and body of a message without a type byte.
func (w *wire) readStartup() (code uint32, body []byte, err error) {
	var head [8]byte
	if _, err = io.ReadFull(w.in, head[:]); err != nil {
		return 0, nil, err
	}
	n := int64(binary.BigEndian.Uint32(head[:4])) - 8
	code = binary.BigEndian.Uint32(head[4:])
	if n < 0 || n > maxStartup {
		return 0, nil, dberr.New(dberr.ProtocolViolation, "invalid length of startup packet")
	}
	body, err = w.fill(n)
	return code, body, err
}

type encoder interface {
	Encode(dst []byte) ([]byte, error)
}

// send buffers a message.
func (w *wire) send(m encoder) error {
	out, err := m.Encode(w.out)
	if err != nil {
		return err
	}
	w.out = out
	return w.drain()
}

// begin begins a message, and end ends it: what was appended to out in between is its body.
func (w *wire) begin(kind byte) {
	w.start = len(w.out)
	w.out = append(w.out, kind, 0, 0, 0, 0)
}

func (w *wire) end() error {
	binary.BigEndian.PutUint32(w.out[w.start+1:], uint32(len(w.out)-w.start-1))
	return w.drain()
}

// empty buffers a message without a body.
func (w *wire) empty(kind byte) error {
	w.out = append(w.out, kind, 0, 0, 0, 4)
	return w.drain()
}

// drain writes the buffer out once it is large.
func (w *wire) drain() error {
	if len(w.out) < flushAt {
		return nil
	}
	return w.flush()
}

func (w *wire) flush() error {
	if len(w.out) == 0 {
		return nil
	}
	_, err := w.conn.Write(w.out)
	if cap(w.out) > keepBuffer {
		w.out = make([]byte, 0, 4096)
	}
	w.out = w.out[:0]
	return err
}
