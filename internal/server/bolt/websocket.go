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

// http answers an HTTP request: drivers in browsers ask for a web socket, everybody else is told what is here.
func (c *conn) http(in *bufio.Reader) (net.Conn, error) {
	req, err := http.ReadRequest(bufio.NewReader(io.LimitReader(in, 64<<10)))
	if err != nil {
		return nil, err
	}
	return nil, c.answerHTTP(req)
}

// answerHTTP says in JSON where the client is.
func (c *conn) answerHTTP(req *http.Request) error {
	body, _ := json.Marshal(map[string]string{"error": text, "bolt_direct": "bolt://" + req.Host, "bolt_routing": "neo4j://" + req.Host})
	fmt.Fprintf(c.wire, "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
	linger(c.wire)
	return errHangUp
}

var _ = []any{sha1.New, base64.StdEncoding, binary.BigEndian, errors.New, strings.Cut, sync.Mutex{}}
