package bolt

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

const maxHTTPHead = 64 << 10 // bytes of a request's head

// http answers an HTTP request. Drivers in browsers ask for a web socket and get it; everybody else is told in JSON where they are.
func (c *conn) http(in *bufio.Reader) (net.Conn, error) {
	head := &io.LimitedReader{R: in, N: maxHTTPHead}
	lines := bufio.NewReaderSize(head, 1) // of the least size: what follows the head must not be read
	req, err := http.ReadRequest(lines)
	if err != nil {
		io.WriteString(c.wire, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		linger(c.wire)
		return nil, errHangUp
	}
	key := req.Header.Get("Sec-WebSocket-Key")
	if req.Method != http.MethodGet || key == "" || !strings.EqualFold(req.Header.Get("Upgrade"), "websocket") {
		return nil, c.answerHTTP(req)
	}
	if lines.Buffered() > 0 {
		in = bufio.NewReaderSize(io.MultiReader(io.LimitReader(lines, int64(lines.Buffered())), in), 16<<10)
	}
	_, err = fmt.Fprintf(c.wire, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", acceptKey(key))
	if err != nil {
		return nil, err
	}
	return &webSocket{Conn: c.wire, in: in}, nil
}

// answerHTTP says where the client is.
func (c *conn) answerHTTP(req *http.Request) error {
	host := req.Host
	if host == "" {
		host = c.sock.LocalAddr().String()
	}
	body, _ := json.Marshal(map[string]string{"message": doorText, "bolt_direct": "bolt://" + host, "bolt_routing": "neo4j://" + host})
	status := "400 Bad Request"
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		status = "200 OK" // drivers' tools look here for the addresses
	}
	fmt.Fprintf(c.wire, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n", status, len(body))
	if req.Method != http.MethodHead {
		c.wire.Write(body)
	}
	linger(c.wire)
	return errHangUp
}

// acceptKey proves to a client that its wish for a web socket was understood (RFC 6455, 4.2.2).
func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Opcodes of frames.
const (
	wsContinue, wsText, wsBinary = 0, 1, 2
	wsClose, wsPing, wsPong      = 8, 9, 10
)

var errFrame = errors.New("bad web socket frame")

// webSocket carries bytes in the binary frames of RFC 6455. Frames mean nothing: the bytes in them are one stream.
type webSocket struct {
	net.Conn
	in   *bufio.Reader
	left uint64 // bytes of the current frame that were not read yet
	mask [4]byte
	at   int // in mask

	mu sync.Mutex // guards writes, which the reader makes too, to answer pings
}

func (w *webSocket) Read(b []byte) (int, error) {
	for w.left == 0 {
		if err := w.frame(); err != nil {
			return 0, err
		}
	}
	n, err := w.in.Read(b[:min(uint64(len(b)), w.left)])
	w.unmask(b[:n])
	w.left -= uint64(n)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (w *webSocket) unmask(b []byte) {
	for i := range b {
		b[i] ^= w.mask[w.at&3]
		w.at++
	}
}

// frame reads a frame's head; control frames are answered and done with.
func (w *webSocket) frame() error {
	var head [2]byte
	if _, err := io.ReadFull(w.in, head[:]); err != nil {
		return err
	}
	op, masked, n := head[0]&0x0F, head[1]&0x80 != 0, uint64(head[1]&0x7F)
	if head[0]&0x70 != 0 || !masked || op >= wsClose && (n > 125 || head[0]&0x80 == 0) {
		return errFrame // extensions were not agreed on, clients mask, control frames are short and whole
	}
	var long [8]byte
	switch n {
	case 126:
		if _, err := io.ReadFull(w.in, long[6:]); err != nil {
			return err
		}
		n = binary.BigEndian.Uint64(long[:])
	case 127:
		if _, err := io.ReadFull(w.in, long[:]); err != nil {
			return err
		}
		n = binary.BigEndian.Uint64(long[:])
	}
	if _, err := io.ReadFull(w.in, w.mask[:]); err != nil {
		return err
	}
	w.at = 0
	switch op {
	case wsContinue, wsBinary:
		w.left = n
		return nil
	case wsClose, wsPing, wsPong:
		body := make([]byte, n)
		if _, err := io.ReadFull(w.in, body); err != nil {
			return err
		}
		w.unmask(body)
		switch op {
		case wsPing:
			return w.send(wsPong, body)
		case wsClose:
			w.send(wsClose, body[:min(len(body), 2)])
			return io.EOF
		}
		return nil
	}
	return errFrame // text among others
}

func (w *webSocket) send(op byte, b []byte) error {
	var head [10]byte
	head[0] = 0x80 | op
	out := head[:2]
	switch n := len(b); {
	case n < 126:
		head[1] = byte(n)
	case n <= 0xFFFF:
		head[1] = 126
		out = binary.BigEndian.AppendUint16(out, uint16(n))
	default:
		head[1] = 127
		out = binary.BigEndian.AppendUint64(out, uint64(n))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	bufs := net.Buffers{out, b}
	if t, ok := w.Conn.(*net.TCPConn); ok {
		_, err := bufs.WriteTo(t)
		return err
	}
	_, err := w.Conn.Write(append(out[:len(out):len(out)], b...))
	return err
}

func (w *webSocket) Write(b []byte) (int, error) {
	if err := w.send(wsBinary, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// CloseWrite says that nothing more is written.
func (w *webSocket) CloseWrite() error { return w.send(wsClose, nil) }
