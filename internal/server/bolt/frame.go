package bolt

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

const (
	maxMessage = 256 << 20 // bytes of any message (rules C12)
	maxHello   = 1 << 20   // bytes of a message before the client is known
	maxChunk   = 0xFFFF
	flushAt    = 32 << 10  // bytes of answers that are handed over at once
	maxPending = 256 << 10 // bytes of answers that wait for the client to read
	keepBuffer = 1 << 20   // a buffer larger than this is given back after use
)

// chunks reads messages, which come in chunks.
type chunks struct {
	in  *bufio.Reader
	max atomic.Int64 // bytes of a message: few until the client is known
}

// partSize is how much of a long message is read into one piece of memory: a message that grows by copying would take several times its size.
const partSize = 1 << 20

// next returns the next message in memory of its own. Empty chunks between messages keep the connection alive and mean nothing.
func (r *chunks) next() ([]byte, error) {
	var parts [][]byte // full ones
	var body []byte
	total := int64(0)
	for {
		head, err := r.in.Peek(2)
		if err != nil {
			if (len(head) > 0 || total > 0) && err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		n := int(binary.BigEndian.Uint16(head))
		r.in.Discard(2)
		switch {
		case n == 0 && total == 0:
			continue
		case n == 0 && parts != nil:
			return bytes.Join(append(parts, body), nil), nil
		case n == 0:
			return body, nil
		}
		if total += int64(n); total > r.max.Load() {
			return nil, dberr.New(dberr.ProtocolViolation, "a message is longer than %d bytes", r.max.Load())
		}
		if len(body)+n > partSize {
			parts, body = append(parts, body), make([]byte, 0, partSize)
		}
		at := len(body)
		body = append(body, make([]byte, n)...) // at most one chunk ahead of what has arrived (B1)
		if _, err := io.ReadFull(r.in, body[at:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

// raise changes the longest message.
func (r *chunks) raise(max int64) { r.max.Store(max) }

// appendChunked makes a message of dst[start:], which begins with two bytes that are left free for the first chunk's length.
func appendChunked(dst []byte, start int) []byte {
	n := len(dst) - start - 2
	more := (n - 1) / maxChunk // chunks after the first
	if more == 0 {
		binary.BigEndian.PutUint16(dst[start:], uint16(n))
		return append(dst, 0, 0)
	}
	dst = append(dst, make([]byte, 2*more)...)
	for i := more; i > 0; i-- { // from the back, for they move into each other
		from := start + 2 + i*maxChunk
		size := min(n-i*maxChunk, maxChunk)
		to := from + 2*i
		copy(dst[to:to+size], dst[from:from+size])
		binary.BigEndian.PutUint16(dst[to-2:], uint16(size))
	}
	binary.BigEndian.PutUint16(dst[start:], maxChunk)
	return append(dst, 0, 0)
}

// outbox writes answers to the client on a goroutine of its own, so that whoever makes them can stop when the client does not read.
type outbox struct {
	conn net.Conn

	mu      sync.Mutex // guards the fields below
	changed *sync.Cond
	pending []byte
	now     bool // pending is to be written
	spare   []byte
	hurry   bool // put never waits
	ended   bool // nothing more will be put
	err     error
	done    chan struct{}
}

func newOutbox(c net.Conn) *outbox {
	o := &outbox{conn: c, done: make(chan struct{})}
	o.changed = sync.NewCond(&o.mu)
	go o.write()
	return o
}

// put hands bytes over, to be written now or with what follows. It waits while much is pending, unless the client has asked to be quick.
func (o *outbox) put(b []byte, now bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.pending) > maxPending && !o.hurry && o.err == nil {
		o.now = true
		o.changed.Broadcast()
		o.changed.Wait()
	}
	if o.err != nil {
		return o.err
	}
	o.pending = append(o.pending, b...)
	if now {
		o.now = true
		o.changed.Broadcast()
	}
	return nil
}

// wake has what is pending written.
func (o *outbox) wake() {
	o.mu.Lock()
	o.now = true
	o.changed.Broadcast()
	o.mu.Unlock()
}

// nudge sends an empty chunk, unless there is something to be read anyway. What is put are whole messages, so it comes between two.
func (o *outbox) nudge() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending) == 0 && !o.ended && o.err == nil {
		o.pending = append(o.pending, 0, 0)
	}
	o.now = true
	o.changed.Broadcast()
}

// rush makes put return at once, from now on or until it is taken back.
func (o *outbox) rush(on bool) {
	o.mu.Lock()
	o.hurry = on
	o.changed.Broadcast()
	o.mu.Unlock()
}

func (o *outbox) write() {
	defer close(o.done)
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		for (len(o.pending) == 0 || !o.now) && !o.ended && o.err == nil {
			o.changed.Wait()
		}
		o.now = false
		if o.err != nil || len(o.pending) == 0 {
			return
		}
		out := o.pending
		o.pending = o.spare[:0]
		o.mu.Unlock()
		_, err := o.conn.Write(out)
		o.mu.Lock()
		if o.spare = out; cap(out) > keepBuffer {
			o.spare = nil
		}
		if err != nil && o.err == nil {
			o.err = err
		}
		o.changed.Broadcast()
	}
}

// close writes what is pending, for a limited time, and ends the goroutine.
func (o *outbox) close(limit time.Duration) {
	o.mu.Lock()
	o.ended = true
	o.changed.Broadcast()
	o.mu.Unlock()
	o.conn.SetWriteDeadline(time.Now().Add(limit))
	<-o.done
}

var errGone = errors.New("the client is gone")

// abandon makes every put fail: nobody reads any more.
func (o *outbox) abandon() {
	o.mu.Lock()
	if o.err == nil {
		o.err = errGone
	}
	o.changed.Broadcast()
	o.mu.Unlock()
}
