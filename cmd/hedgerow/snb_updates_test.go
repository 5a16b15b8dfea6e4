package main

import (
	"bufio"
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hedgerowdb/hedgerow"
	"github.com/hedgerowdb/hedgerow/internal/testkit"
)

// snbUpdates names the fields of each kind of event after its two times; # is a list of ints, #2 one of pairs, $ one of texts.
var snbUpdates = map[string]string{
	"1": "personId personFirstName personLastName gender:text birthday creationDate locationIP:text browserUsed:text cityId languages$ emails$ tagIds# studyAt#2 workAt#2",
	"2": "personId postId creationDate",
	"3": "personId commentId creationDate",
	"4": "forumId forumTitle creationDate moderatorPersonId tagIds#",
	"5": "forumId personId joinDate",
	"6": "postId imageFile:text creationDate locationIP:text browserUsed:text language:text content:text length authorPersonId forumId countryId tagIds#",
	"7": "commentId creationDate locationIP:text browserUsed:text content:text length authorPersonId countryId replyToPostId replyToCommentId tagIds#",
	"8": "person1Id person2Id creationDate",
}

func snbEvent(kind string, fields []string) hedgerow.Params {
	p := hedgerow.Params{}
	number := func(s string) any {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return i
		}
		return s
	}
	for i, name := range strings.Fields(snbUpdates[kind]) {
		f := fields[i]
		list := []any{}
		switch base, mark, _ := strings.Cut(name, "#"); {
		case strings.HasSuffix(name, ":text"):
			p[strings.TrimSuffix(name, ":text")] = f
		case strings.HasSuffix(name, "$"):
			p[strings.TrimSuffix(name, "$")] = strings.Split(f, ";")
		case base != name:
			for _, e := range strings.FieldsFunc(f, func(r rune) bool { return r == ';' }) {
				if mark == "2" {
					a, b, _ := strings.Cut(e, ",")
					list = append(list, []any{number(a), number(b)})
				} else {
					list = append(list, number(e))
				}
			}
			p[base] = list
		default:
			p[name] = number(f)
		}
	}
	return p
}

// TestSNBUpdates replays the update streams, one transaction an event, and counts what they must have made.
func TestSNBUpdates(t *testing.T) {
	if testing.Short() {
		t.Skip("replays 6,920 transactions: not with -short")
	}
	dir := snb(t)
	db, err := hedgerow.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()
	if _, err := db.Exec(ctx, snbIndexes, nil); err != nil {
		t.Fatal(err)
	}
	text := map[string]string{}
	for k := range snbUpdates {
		b, err := os.ReadFile(testkit.Shared(t, "snb", "v1-small", "queries", "iu"+k+".cypher"))
		if err != nil {
			t.Fatal(err)
		}
		text[k] = string(b)
	}
	type event struct {
		at     int64
		kind   string
		fields []string
	}
	var events []event
	for _, name := range []string{"person", "forum"} {
		f, err := os.Open(testkit.Shared(t, "snb", "v1-small", "cypher", "test-data", "update_streams", "updateStream_0_0_"+name+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		for s := bufio.NewScanner(f); s.Scan(); {
			c := strings.Split(s.Text(), "|")
			at, _ := strconv.ParseInt(c[0], 10, 64)
			events = append(events, event{at, c[2], c[3:]})
		}
		f.Close()
	}
	slices.SortStableFunc(events, func(a, b event) int { return int(a.at - b.at) })
	var got, want hedgerow.Result
	began := time.Now()
	for i, e := range events {
		p := snbEvent(e.kind, e.fields)
		res, err := db.Exec(ctx, text[e.kind], p)
		if err != nil {
			t.Fatalf("event %d, kind %s, %v: %v", i, e.kind, p, err)
		}
		got.NodesCreated += res.NodesCreated
		got.RelationshipsCreated += res.RelationshipsCreated
		count := func(name string) int64 { l, _ := p[name].([]any); return int64(len(l)) }
		switch e.kind {
		case "1":
			want.NodesCreated++
			want.RelationshipsCreated += 1 + count("tagIds")
			if count("tagIds") > 0 { // UNWIND of an empty list ends the row
				if want.RelationshipsCreated += count("studyAt"); count("studyAt") > 0 {
					want.RelationshipsCreated += count("workAt")
				}
			}
		case "4":
			want.NodesCreated++
			want.RelationshipsCreated += 1 + count("tagIds")
		case "6", "7":
			want.NodesCreated++
			want.RelationshipsCreated += 3 + count("tagIds")
		default:
			want.RelationshipsCreated++
		}
	}
	t.Logf("%d events, %s each", len(events), (time.Since(began) / time.Duration(len(events))).Round(time.Microsecond))
	if got.NodesCreated != want.NodesCreated || got.RelationshipsCreated != want.RelationshipsCreated {
		t.Errorf("made %d nodes and %d relationships, want %d and %d", got.NodesCreated, got.RelationshipsCreated, want.NodesCreated, want.RelationshipsCreated)
	}
	rows, err := db.Query(ctx, "MATCH (n) RETURN count(n)", nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := hedgerow.Collect[int64](rows); err != nil || n[0] != 34735+want.NodesCreated {
		t.Errorf("%v nodes, %v; want %d", n, err, 34735+want.NodesCreated)
	}
	if faults, err := db.Check(ctx); err != nil || len(faults) > 0 {
		t.Errorf("%v, %v", faults, err)
	}
}
