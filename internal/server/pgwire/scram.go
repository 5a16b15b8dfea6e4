package pgwire

import (
	"bytes"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/xdg-go/scram"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

const scramIterations = 4096

// Secret makes the stored form of a password: SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey, as PostgreSQL keeps it.
func Secret(password string) (string, error) {
	salt := make([]byte, 16)
	rand.Read(salt)
	salted, err := pbkdf2.Key(sha256.New, password, salt, scramIterations, sha256.Size)
	if err != nil {
		return "", err
	}
	mac := func(key []byte, s string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(s))
		return h.Sum(nil)
	}
	stored := sha256.Sum256(mac(salted, "Client Key"))
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", scramIterations, b64(salt), b64(stored[:]), b64(mac(salted, "Server Key"))), nil
}

// Matches reports whether a password is the one that a stored form was made of.
func Matches(secret, password string) bool {
	cred, ok := parseSecret(secret)
	if !ok {
		return false
	}
	salted, err := pbkdf2.Key(sha256.New, password, []byte(cred.Salt), cred.Iters, sha256.Size)
	if err != nil {
		return false
	}
	h := hmac.New(sha256.New, salted)
	h.Write([]byte("Client Key"))
	key := sha256.Sum256(h.Sum(nil))
	return hmac.Equal(key[:], cred.StoredKey)
}

func parseSecret(s string) (cred scram.StoredCredentials, ok bool) {
	s, ok = strings.CutPrefix(s, "SCRAM-SHA-256$")
	head, keys, ok2 := strings.Cut(s, "$")
	iter, salt, ok3 := strings.Cut(head, ":")
	stored, server, ok4 := strings.Cut(keys, ":")
	if !ok || !ok2 || !ok3 || !ok4 {
		return cred, false
	}
	var err [4]error
	var saltBytes []byte
	cred.Iters, err[0] = strconv.Atoi(iter)
	saltBytes, err[1] = base64.StdEncoding.DecodeString(salt)
	cred.StoredKey, err[2] = base64.StdEncoding.DecodeString(stored)
	cred.ServerKey, err[3] = base64.StdEncoding.DecodeString(server)
	cred.Salt = string(saltBytes)
	for _, e := range err {
		if e != nil {
			return cred, false
		}
	}
	return cred, true
}

// decoy is a secret nobody knows: an unknown user goes through the same exchange as a known one.
var decoy = func() string {
	var b [32]byte
	rand.Read(b[:])
	s, _ := Secret(base64.StdEncoding.EncodeToString(b[:]))
	return s
}()

func (c *conn) scram(user string) error {
	refused := dberr.New(dberr.InvalidPassword, "password authentication failed for user %q", user)
	secret := ""
	if c.srv.opt.Verifier != nil {
		secret = c.srv.opt.Verifier(user)
	}
	cred, known := parseSecret(secret)
	if !known {
		cred, _ = parseSecret(decoy)
	}
	// Clients send an empty or "*" name inside SCRAM: the startup message's user counts.
	server, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) { return cred, nil })
	if err != nil {
		return err
	}
	if err := c.w.send(&pgproto3.AuthenticationSASL{AuthMechanisms: []string{"SCRAM-SHA-256"}}); err != nil {
		return err
	}
	if err := c.w.flush(); err != nil {
		return err
	}
	kind, body, err := c.w.read()
	if err != nil {
		return err
	}
	var first pgproto3.SASLInitialResponse
	if kind != 'p' || len(body) > maxStartup || decode(&first, body) != nil {
		return dberr.New(dberr.ProtocolViolation, "expected SASL response, got message type %d", kind)
	}
	if first.AuthMechanism != "SCRAM-SHA-256" {
		return dberr.New(dberr.ProtocolViolation, "client selected an invalid SASL authentication mechanism")
	}
	conv := server.NewConversation()
	reply, err := conv.Step(string(first.Data))
	if err != nil {
		return refused
	}
	if err := c.w.send(&pgproto3.AuthenticationSASLContinue{Data: []byte(reply)}); err != nil {
		return err
	}
	if err := c.w.flush(); err != nil {
		return err
	}
	if kind, body, err = c.w.read(); err != nil {
		return err
	}
	if kind != 'p' || len(body) > maxStartup {
		return dberr.New(dberr.ProtocolViolation, "expected SASL response, got message type %d", kind)
	}
	reply, err = conv.Step(string(bytes.Clone(body)))
	if err != nil || !conv.Valid() || !known {
		return refused
	}
	return c.w.send(&pgproto3.AuthenticationSASLFinal{Data: []byte(reply)})
}
