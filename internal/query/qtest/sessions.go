package qtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

// SessionStep is one statement of one session.
type SessionStep struct {
	S         string     // the session
	Q         string     // the statement; @vacuum reclaims space
	Async     bool       // do not wait for it
	Await     bool       // wait for the session's pending step first
	MayFail   bool       `json:"may_fail"`
	MustFail  bool       `json:"must_fail"`
	Rows      [][]string // nil if they do not matter
	Isolation string     // of a BEGIN
}

// Crowd is a statement that Parallel sessions run Repeat times each, again after errors of the classes in RetryOn (SQLSTATEs or words of the text;
// none means whatever is worth a retry).
type Crowd struct {
	Parallel, Repeat int
	RetryOn          retryOn `json:"retry_on"`
	Q                string
}

type retryOn []string

// UnmarshalJSON takes one word or a list.
func (r *retryOn) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*r = retryOn{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(r))
}

func (r retryOn) has(err error) bool {
	if len(r) == 0 {
		return dberr.Retryable(err)
	}
	for _, s := range r {
		if dberr.As(err).Code.SQLState() == s || strings.Contains(strings.ToLower(err.Error()), strings.ToLower(s)) || dberr.Retryable(err) {
			return true
		}
	}
	return false
}

func (c *Case) steps(raw json.RawMessage) error {
	switch {
	case len(raw) == 0:
		return nil
	case raw[0] == '[':
		return json.Unmarshal(raw, &c.Steps)
	}
	c.Crowd = &Crowd{Parallel: 1, Repeat: 1}
	return json.Unmarshal(raw, c.Crowd)
}

// Client is one session of a [House].
type Client interface {
	Run(text string, params map[string]value.Value) (*Result, error)
	Close()
}

// House is an engine that several clients use at once.
type House interface {
	Target
	Client() Client
	// Begin is the statement that begins a transaction; an empty isolation is the default one.
	Begin(isolation string) string
	// Vacuum reclaims the space of what nobody can see any more.
	Vacuum() error
}

// stuck is when a step is given up.
const stuck = 60 * time.Second

// RunSessions runs a case of kind sessions, with every time of making its indexes.
func RunSessions(h House, c *Case) error {
	params, err := c.params()
	if err != nil {
		return err
	}
	for _, when := range c.times() {
		if err := prepare(h, c, when); err != nil {
			return err
		}
		run := c.runSteps
		if c.Crowd != nil {
			run = c.runCrowd
		}
		if err := run(h, params); err != nil {
			return fmt.Errorf("indexes %s: %w", when, err)
		}
		if err := c.follow(h, params); err != nil {
			return fmt.Errorf("indexes %s: %w", when, err)
		}
	}
	return nil
}

// pending is a step that a session has not answered yet.
type pending struct {
	step SessionStep
	done chan error
}

func (p *pending) wait() error {
	if p == nil {
		return nil
	}
	select {
	case err := <-p.done:
		return err
	case <-time.After(stuck):
		return fmt.Errorf("%s never came back", clipText(p.step.Q))
	}
}

func (c *Case) runSteps(h House, params map[string]value.Value) error {
	clients, open := map[string]Client{}, map[string]*pending{}
	defer func() {
		for _, p := range open {
			_ = p.wait() // a client is one goroutine's
		}
		for _, cl := range clients {
			cl.Close()
		}
	}()
	for i, st := range c.Steps {
		cl := clients[st.S]
		if cl == nil {
			cl = h.Client()
			clients[st.S] = cl
		}
		if p := open[st.S]; p != nil {
			if !st.Await {
				return fmt.Errorf("step %d: session %s still runs", i, st.S)
			}
			delete(open, st.S)
			if err := p.wait(); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
		}
		p := &pending{step: st, done: make(chan error, 1)}
		go func() { p.done <- st.run(h, cl, params) }()
		if open[st.S] = p; st.Async {
			continue
		}
		delete(open, st.S)
		if err := p.wait(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	var errs []error
	for s, p := range open {
		errs = append(errs, p.wait())
		delete(open, s)
	}
	return errors.Join(errs...)
}

// run carries a step out and judges it.
func (st SessionStep) run(h House, cl Client, params map[string]value.Value) error {
	var res *Result
	var err error
	switch {
	case st.Q == "@vacuum":
		err = h.Vacuum()
	case st.Q == "BEGIN":
		_, err = cl.Run(h.Begin(st.Isolation), nil)
	default:
		res, err = cl.Run(expand(st.Q), params)
	}
	switch {
	case err == nil && st.MustFail:
		return fmt.Errorf("%s has not failed", st.Q)
	case err != nil && (st.MayFail || st.MustFail):
		if dberr.Is(err, dberr.Internal) {
			return fmt.Errorf("%s: %s", st.Q, Explain(err))
		}
		return nil
	case err != nil:
		return fmt.Errorf("%s: %s", st.Q, Explain(err))
	case st.Rows == nil:
		return nil
	}
	if err := Compare(Table{Columns: res.Columns, Rows: st.Rows}, res, false, false); err != nil {
		return fmt.Errorf("%s: %w", st.Q, err)
	}
	return nil
}

// runCrowd runs the statement from many sessions at once.
func (c *Case) runCrowd(h House, params map[string]value.Value) error {
	const tries = 1000
	errs := make([]error, c.Crowd.Parallel)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			cl := h.Client()
			defer cl.Close()
			for range c.Crowd.Repeat {
				for try := 0; ; try++ {
					_, err := cl.Run(expand(c.Crowd.Q), params)
					if err == nil {
						break
					}
					if try == tries || !c.Crowd.RetryOn.has(err) {
						errs[i] = fmt.Errorf("session %d: %s", i, Explain(err))
						return
					}
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
