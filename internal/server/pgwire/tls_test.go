package pgwire

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"fmt"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
)

func certificate(t testing.TB) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1")},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, NextProtos: []string{"postgresql"}}
}

// TestTLS: after SSLRequest and by direct negotiation, with passwords over it; cancelling works too.
func TestTLS(t *testing.T) {
	secret, err := Secret("pw")
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, Options{TLS: certificate(t), Auth: Password, Verifier: func(string) string { return secret }})
	for _, mode := range []string{"require", "prefer", "disable"} {
		conf, err := pgx.ParseConfig("postgres://ada:pw@" + s.addr + "/main?sslmode=" + mode)
		if err != nil {
			t.Fatal(err)
		}
		c, err := pgx.ConnectConfig(ctx, conf)
		if err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
		exec(t, c, "SELECT 1")
		go func() {
			time.Sleep(100 * time.Millisecond)
			c.PgConn().CancelRequest(ctx)
		}()
		if _, err := c.Exec(ctx, "SELECT pg_sleep(20)"); pgErr(err).Code != "57014" {
			t.Errorf("%s: %v", mode, err)
		}
		c.Close(ctx)
	}
	// direct negotiation, as libpq 17 with sslnegotiation=direct
	conn, err := tls.Dial("tcp", s.addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"postgresql"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	if p := conn.ConnectionState().NegotiatedProtocol; p != "postgresql" {
		t.Errorf("protocol %q", p)
	}
	f := pgproto3.NewFrontend(conn, conn)
	f.Send(&pgproto3.StartupMessage{ProtocolVersion: protocol3, Parameters: map[string]string{"user": "ada"}})
	f.Flush()
	if m, err := f.Receive(); err != nil || name(m) != "AuthenticationSASL" {
		t.Errorf("%v %v", m, err)
	}
	// bytes in the clear after SSLRequest are refused, and so is a second SSLRequest
	ssl := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, sslRequest)
	r := s.dial(t)
	r.Write(append(append([]byte{}, ssl...), "clear text"...))
	if got := readAll(r.Conn); !strings.Contains(got, "received unencrypted data after SSL request") {
		t.Errorf("%q", got)
	}
	gss := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, gssRequest)
	r = s.dial(t)
	r.Write(gss)
	var one [1]byte
	if r.Read(one[:]); one[0] != 'N' {
		t.Errorf("GSS request: %q", one)
	}
	r.Write(ssl)
	if r.Read(one[:]); one[0] != 'S' {
		t.Errorf("SSL request: %q", one)
	}
	over := tls.Client(r.Conn, &tls.Config{InsecureSkipVerify: true})
	over.Write(ssl)
	if got := readAll(over); !strings.Contains(got, "encrypted already") {
		t.Errorf("%q", got)
	}
}

// TestProtocolVersion: a client that asks for a later minor version is told which one it gets.
func TestProtocolVersion(t *testing.T) {
	s := serve(t, Options{})
	r := s.dial(t)
	b := binary.BigEndian.AppendUint32(nil, protocol3|2)
	b = append(b, "user\x00u\x00_pq_.some\x00x\x00\x00"...)
	r.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b)+4)), b...))
	got := r.until("ReadyForQuery")
	if got[0] != "NegotiateProtocolVersion" {
		t.Errorf("%q", got)
	}
	if out := r.query("SELECT 1"); fmt.Sprint(out) != "[RowDescription DataRow 1 CommandComplete SELECT 1 ReadyForQuery I]" {
		t.Errorf("%q", out)
	}
}

// TestExtendedFlow: row limits, Flush, skipping after an error, and what Sync commits (W3, W4).
func TestExtendedFlow(t *testing.T) {
	s := serve(t, Options{})
	r := s.open(t)
	say := func(want string, kind string, msgs ...pgproto3.FrontendMessage) {
		t.Helper()
		r.send(msgs...)
		if got := fmt.Sprint(r.until(kind)); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	parse := func(name, q string) pgproto3.FrontendMessage { return &pgproto3.Parse{Name: name, Query: q} }
	bind := func(portal, name string) pgproto3.FrontendMessage {
		return &pgproto3.Bind{DestinationPortal: portal, PreparedStatement: name}
	}
	run := func(portal string, max uint32) pgproto3.FrontendMessage {
		return &pgproto3.Execute{Portal: portal, MaxRows: max}
	}
	sync, flush := &pgproto3.Sync{}, &pgproto3.Flush{}
	say("[ParseComplete BindComplete DataRow 1 DataRow 2 PortalSuspended]", "PortalSuspended", parse("s", "SELECT x FROM generate_series(1, 5) x"), bind("p", "s"), run("p", 2), flush)
	say("[DataRow 3 DataRow 4 PortalSuspended]", "PortalSuspended", run("p", 2), flush)
	say("[DataRow 5 CommandComplete SELECT 1 CommandComplete SELECT 0 ReadyForQuery I]", "ReadyForQuery", run("p", 0), run("p", 0), sync)
	say("[ErrorResponse ERROR 34000 ReadyForQuery I]", "ReadyForQuery", run("p", 0), sync) // gone with its transaction
	say("[BindComplete RowDescription DataRow 1 DataRow 2 DataRow 3 DataRow 4 DataRow 5 CommandComplete SELECT 5 CloseComplete CloseComplete ReadyForQuery I]", "ReadyForQuery",
		bind("", "s"), &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{MaxRows: 0}, &pgproto3.Close{ObjectType: 'S', Name: "s"}, &pgproto3.Close{ObjectType: 'P', Name: "nosuch"}, sync)
}

func TestSync(t *testing.T) {
	s := serve(t, Options{})
	r := s.open(t)
	r.query("SELECT create_graph('social')")
	create := "SELECT * FROM cypher('social', $$ CREATE (:S) $$) AS (a agtype)"
	count := func() string {
		return r.query("SELECT * FROM cypher('social', $$ MATCH (n:S) RETURN count(n) $$) AS (a agtype)")[1]
	}
	do := func(q string) []pgproto3.FrontendMessage {
		return []pgproto3.FrontendMessage{&pgproto3.Parse{Query: q}, &pgproto3.Bind{}, &pgproto3.Execute{}}
	}
	// two statements up to one Sync are one transaction; an error drops what follows and undoes both
	r.send(append(append(do(create), do("SELECT 1/0")...), append(do(create), &pgproto3.Sync{})...)...)
	got := fmt.Sprint(r.until("ReadyForQuery"))
	if got != "[ParseComplete BindComplete CommandComplete SELECT 0 ParseComplete BindComplete ErrorResponse ERROR 22012 ReadyForQuery I]" || count() != "DataRow 0" {
		t.Errorf("%s, then %s", got, count())
	}
	r.send(append(append(do(create), do(create)...), &pgproto3.Sync{})...)
	r.until("ReadyForQuery")
	if count() != "DataRow 2" {
		t.Error(count())
	}
	// a pipeline with BEGIN and COMMIT in it
	r.send(append(append(append(do("BEGIN"), do(create)...), do("COMMIT")...), &pgproto3.Sync{})...)
	if got := r.until("ReadyForQuery"); got[len(got)-1] != "ReadyForQuery I" || count() != "DataRow 3" {
		t.Errorf("%q, then %s", got, count())
	}
	// a client that goes away before its Sync has committed nothing
	other := s.open(t)
	other.send(append(do(create), &pgproto3.Flush{})...)
	other.until("CommandComplete")
	other.Close()
	for s.db.Sessions() > 1 {
		time.Sleep(5 * time.Millisecond)
	}
	if count() != "DataRow 3" {
		t.Error(count())
	}
	// wrong numbers of things
	for _, c := range []struct {
		m    *pgproto3.Bind
		want string
	}{
		{&pgproto3.Bind{}, "08P01"},
		{&pgproto3.Bind{Parameters: [][]byte{{'1'}, {'2'}}}, "08P01"},
		{&pgproto3.Bind{Parameters: [][]byte{{'1'}}, ParameterFormatCodes: []int16{0, 0}}, "08P01"},
		{&pgproto3.Bind{Parameters: [][]byte{{'1'}}, ParameterFormatCodes: []int16{7}}, "22023"},
		{&pgproto3.Bind{Parameters: [][]byte{{'1'}}, ParameterFormatCodes: []int16{1}}, "22P03"},
		{&pgproto3.Bind{Parameters: [][]byte{{'1'}}, ResultFormatCodes: []int16{0, 0}}, "08P01"},
		{&pgproto3.Bind{Parameters: [][]byte{{'x'}}}, "22P02"},
		{&pgproto3.Bind{Parameters: [][]byte{{0xff}}}, "22021"},
		{&pgproto3.Bind{Parameters: [][]byte{{'1', 0}}}, "08P01"},
		{&pgproto3.Bind{PreparedStatement: "nosuch"}, "26000"},
	} {
		r.send(&pgproto3.Parse{Query: "SELECT $1::int"}, c.m, &pgproto3.Execute{}, &pgproto3.Sync{})
		got := r.until("ReadyForQuery")
		if fmt.Sprint(got) != "[ParseComplete ErrorResponse ERROR "+c.want+" ReadyForQuery I]" {
			t.Errorf("%+v: %q", c.m, got)
		}
	}
	r.send(&pgproto3.Parse{Query: "SELECT $1", ParameterOIDs: []uint32{99999}}, &pgproto3.Parse{Query: "SELECT 1; SELECT 2"}, &pgproto3.Sync{})
	if got := fmt.Sprint(r.until("ReadyForQuery")); got != "[ErrorResponse ERROR 42704 ReadyForQuery I]" {
		t.Error(got)
	}
}
