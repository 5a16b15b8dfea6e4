package bolt

import (
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/server/bolt/packstream"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// Tags of messages.
const (
	msgHello, msgLogon, msgLogoff, msgTelemetry, msgGoodbye, msgReset = 0x01, 0x6A, 0x6B, 0x54, 0x02, 0x0F
	msgRun, msgBegin, msgCommit, msgRollback, msgPull, msgDiscard     = 0x10, 0x11, 0x12, 0x13, 0x3F, 0x2F
	msgRoute                                                          = 0x66
	msgSuccess, msgRecord, msgIgnored, msgFailure                     = 0x70, 0x71, 0x7E, 0x7F
)

// message is a kind of request.
type message struct {
	name   string
	fields []value.Kind
	states [numStates]bool
	in     func(version) bool
	handle func(*conn, []value.Value) error
}

func always(version) bool { return true }

func during(states ...state) (out [numStates]bool) {
	for _, s := range states {
		out[s] = true
	}
	return out
}

// messages are the requests by tag.
var messages map[byte]*message

func init() {
	inTx := during(txReady, txStreaming)
	messages = map[byte]*message{
		msgHello:     {"HELLO", []value.Kind{value.Map}, during(negotiation), always, (*conn).hello},
		msgLogon:     {"LOGON", []value.Kind{value.Map}, during(authentication), version.logon, (*conn).logon},
		msgLogoff:    {"LOGOFF", nil, during(ready), version.logon, (*conn).logoffMessage},
		msgTelemetry: {"TELEMETRY", []value.Kind{value.Int}, during(ready, streaming, txReady, txStreaming), version.telemetry, (*conn).telemetry},
		msgGoodbye:   {name: "GOODBYE", in: always},
		msgReset:     {"RESET", nil, during(ready, streaming, txReady, txStreaming, failed), always, (*conn).reset},
		msgRun:       {"RUN", []value.Kind{value.String, value.Map, value.Map}, during(ready, txReady, txStreaming), always, (*conn).run},
		msgBegin:     {"BEGIN", []value.Kind{value.Map}, during(ready), always, (*conn).begin},
		msgCommit:    {"COMMIT", nil, inTx, always, (*conn).commit},
		msgRollback:  {"ROLLBACK", nil, inTx, always, (*conn).rollback},
		msgPull:      {"PULL", []value.Kind{value.Map}, during(streaming, txStreaming), always, (*conn).pull},
		msgDiscard:   {"DISCARD", []value.Kind{value.Map}, during(streaming, txStreaming), always, (*conn).discard},
		msgRoute:     {"ROUTE", []value.Kind{value.Map, value.List, value.Map}, during(ready), always, (*conn).route},
	}
}

// decode reads a message's fields. Bytes that are no message are an error of the protocol; a parameter that means nothing is one of the
// statement.
func (m *message) decode(d *packstream.Decoder, n int) ([]value.Value, error) {
	fields := make([]value.Value, 0, len(m.fields))
	var bad error
	for range n {
		v, err := d.Value()
		if dberr.Is(err, dberr.ProtocolViolation) {
			return nil, err
		}
		if err != nil && bad == nil {
			bad = err
		}
		fields = append(fields, v)
	}
	switch {
	case d.Rest() > 0:
		return nil, dberr.New(dberr.ProtocolViolation, "message %s is followed by %d bytes that do not belong to it", m.name, d.Rest())
	case n != len(m.fields):
		return nil, dberr.New(dberr.ProtocolViolation, "message %s has %d fields, not %d", m.name, len(m.fields), n)
	}
	for i, k := range m.fields {
		if fields[i].Kind() != k {
			return nil, dberr.New(dberr.ProtocolViolation, "field %d of message %s is a %v, not a %v", i+1, m.name, fields[i].Kind(), k)
		}
	}
	return fields, bad
}

// noMeta is the empty map.
var noMeta = value.NewMap(nil, nil)

// meta builds the map of an answer.
type meta struct{ b *value.MapBuilder }

func newMeta() meta { return meta{value.NewMapBuilder()} }

func (m meta) text(key, s string)            { m.b.Put(key, value.NewString(s)) }
func (m meta) int(key string, i int64)       { m.b.Put(key, value.NewInt(i)) }
func (m meta) bool(key string, b bool)       { m.b.Put(key, value.NewBool(b)) }
func (m meta) put(key string, v value.Value) { m.b.Put(key, v) }
func (m meta) float(key string, f float64)   { m.b.Put(key, value.NewFloat(f)) }
func (m meta) value() value.Value            { return m.b.Map() }

func texts(ss []string) value.Value {
	var b value.ListBuilder
	for _, s := range ss {
		b.Add(value.NewString(s))
	}
	return b.List()
}

// entry reads an optional entry of a message's map; null counts as absent.
func entry(m value.Value, key string, kind value.Kind) (v value.Value, ok bool, err error) {
	v, ok = m.Get(key)
	if !ok || v.IsNull() {
		return value.Value{}, false, nil
	}
	if v.Kind() != kind {
		return v, false, dberr.New(dberr.ProtocolViolation, "entry %q of the message is a %v, not a %v", key, v.Kind(), kind)
	}
	return v, true, nil
}

func textEntry(m value.Value, key string) (string, error) {
	v, _, err := entry(m, key, value.String)
	return v.Text(), err
}

// textsEntry reads a list of strings; nil if there is none.
func textsEntry(m value.Value, key string) ([]string, error) {
	v, ok, err := entry(m, key, value.List)
	if err != nil || !ok {
		return nil, err
	}
	return listOfTexts(v)
}

func listOfTexts(v value.Value) ([]string, error) {
	out := []string{}
	for _, e := range v.All() {
		if e.Kind() != value.String {
			return nil, dberr.New(dberr.ProtocolViolation, "a list of the message holds a %v where a String is meant", e.Kind())
		}
		out = append(out, e.Str())
	}
	return out, nil
}
