// Package bolt is the door for Neo4j's drivers. It is not built yet: it answers every client, so that a driver hears at once that it
// cannot be served instead of waiting, and points people at the doors that are open.
package bolt

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"
)

var magic = [4]byte{0x60, 0x60, 0xB0, 0x17}

// Serve turns clients away until the listener is closed.
func Serve(l net.Listener, log *slog.Logger) error {
	for {
		c, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			time.Sleep(50 * time.Millisecond)
			continue
		}
		go refuse(c, log)
	}
}

// refuse speaks to a Bolt client in Bolt ("no version in common", all that its handshake lets a server say), to others in plain text.
func refuse(c net.Conn, log *slog.Logger) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	var head [20]byte
	n, _ := io.ReadAtLeast(c, head[:], 8)
	for range 2 { // libpq first asks for encryption, in two ways
		if n != 8 || head[4] != 4 || head[5] != 0xD2 {
			break
		}
		c.Write([]byte{'N'})
		n, _ = io.ReadAtLeast(c, head[:], 8)
	}
	text := "The Bolt door is not open yet. Use the PostgreSQL or HTTP port.\n"
	switch {
	case n >= 4 && [4]byte(head[:4]) == magic:
		log.Info("a Bolt client was turned away: this version does not speak Bolt yet", slog.Any("remote", c.RemoteAddr()))
		c.Write([]byte{0, 0, 0, 0})
	case n >= 4 && (string(head[:4]) == "GET " || string(head[:4]) == "POST"):
		fmt.Fprintf(c, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(text), text)
	case n >= 8 && head[4] == 0 && head[5] == 3: // a PostgreSQL startup packet
		msg := "this port is for Bolt, which is not served yet; use the PostgreSQL port"
		body := "SFATAL\x00VFATAL\x00C08P01\x00M" + msg + "\x00\x00"
		c.Write(append([]byte{'E', 0, 0, byte((len(body) + 4) >> 8), byte(len(body) + 4)}, body...))
	case n > 0:
		io.WriteString(c, text)
	}
	// A socket closed with unread bytes is reset, and the answer may be lost.
	if t, ok := c.(*net.TCPConn); ok {
		t.CloseWrite()
	}
	c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	io.CopyN(io.Discard, c, 64<<10)
}
