package hedgerow_test

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow"
)

// Values that grow inside an expression end at the statement's memory limit, long before the machine's memory, and the connection goes on.
func TestExpressionsStayBelowTheMemoryLimit(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // what lives is judged, not how much garbage a busy machine lets lie
	db, err := hedgerow.OpenMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c := db.Conn()
	defer c.Close()
	if err := c.Set("hedgerow.mem_limit", "64MB"); err != nil {
		t.Fatal(err)
	}
	peak := watchHeap()
	for _, q := range []string{
		"RETURN size(reduce(s = 'x', i IN range(1, 40) | s + s))",
		"RETURN size(reduce(s = 'x', i IN range(1, 40) | replace(s, 'x', 'xx')))",
		"WITH reduce(s = 'x', i IN range(1, 20) | s + s) AS s RETURN size(replace(s, 'x', s))",
		"WITH reduce(s = 'x', i IN range(1, 24) | s + s) AS s RETURN size(split(s, ''))",
		"WITH reduce(s = 'x', i IN range(1, 20) | s + s) AS s UNWIND range(1, 1000) AS i RETURN count(reverse(s + i))",
		"RETURN size(reduce(l = [1], i IN range(1, 40) | l + l))",
		"RETURN size(reduce(l = [1], i IN range(1, 40) | [l, l]))",
		"RETURN size(reduce(m = {a: 1}, i IN range(1, 40) | {a: m, b: m}))",
		"RETURN size(toStringList(range(1, 30000000)))",
		"RETURN size([x IN range(1, 1000) | range(1, 100000)])",
		"UNWIND range(1, 100000000) AS x RETURN size(collect(x))",
	} {
		rows, err := c.Run(context.Background(), q, hedgerow.Cypher, nil)
		if err == nil {
			for _, e := range rows.All() {
				err = e
			}
			rows.Close()
		}
		var e *hedgerow.Error
		if !errors.As(err, &e) || e.SQLState != "53200" {
			t.Errorf("%s: %v", q, err)
		}
		rows, err = c.Run(context.Background(), "RETURN 1", hedgerow.Cypher, nil)
		if err != nil {
			t.Fatalf("after %s: %v", q, err)
		}
		rows.Close()
	}
	n := peak()
	t.Logf("%d MiB of objects at most", n>>20)
	if n > 400<<20 {
		t.Errorf("%d MiB of objects beside those from before", n>>20)
	}
}

// watchHeap looks at the heap once a millisecond until it is asked how far it grew, in bytes of objects, garbage too.
func watchHeap() (peak func() int64) {
	runtime.GC()
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	look := func() int64 {
		metrics.Read(s)
		return int64(s[0].Value.Uint64())
	}
	first := look()
	most := first
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				most = max(most, look())
			}
		}
	}()
	return func() int64 {
		close(stop)
		<-done
		return most - first
	}
}

// A cancelled statement ends soon, wherever it is.
func TestExpressionsAreCancelled(t *testing.T) {
	db, err := hedgerow.OpenMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{
		"UNWIND range(1, 1000000000) AS x WITH x WHERE x < 0 RETURN x",
		"WITH range(1, 300000) AS l RETURN reduce(n = 0, i IN range(0, 100000) | n + size(tail(l)))",
		"WITH range(1, 300000) AS l RETURN reduce(n = 0, i IN range(0, 100000) | n + size(l[1..]))",
		"WITH range(1, 300000) AS l RETURN size([x IN l WHERE NOT -x IN l + x])",
		"WITH reduce(s = 'x', i IN range(1, 20) | s + s) AS s RETURN reduce(n = 0, i IN range(1, 100000) | n + size(toUpper(s)))",
		"WITH reduce(s = 'x', i IN range(1, 20) | s + s) AS s RETURN reduce(n = 0, i IN range(1, 100000) | n + size(replace(s, 'x', 'y')))",
		"WITH reduce(s = 'x', i IN range(1, 20) | s + s) AS s RETURN all(i IN range(1, 100000) WHERE NOT s =~ '(x+x+)+y')",
		"UNWIND range(1, 30000000) AS x RETURN percentileDisc(-x, 0.5)",
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		start := time.Now()
		rows, err := db.Query(ctx, q, nil)
		if err == nil {
			for _, e := range rows.All() {
				err = e
			}
			rows.Close()
		}
		if took := time.Since(start); err == nil || took > 30*time.Second {
			t.Errorf("%s: %v after %v", q, err, took)
		}
		cancel()
	}
}
