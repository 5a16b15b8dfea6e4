package bench

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
)

func TestScenarios(t *testing.T) {
	names := map[string]bool{}
	nineteen, err := Select(Scenarios(10), nil)
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]int{}
	for _, s := range nineteen {
		groups[s.Group]++
	}
	if groups[Short] != 10 || groups[Heavy] != 5 || groups[Write] != 4 {
		t.Errorf("the nineteen are %v", groups)
	}
	placeholder := regexp.MustCompile(`\$\d+`)
	for _, s := range Scenarios(10) {
		if names[s.Name] || s.Title == "" || s.Next == nil || len(s.Statements) == 0 {
			t.Errorf("%s is there twice, or not whole", s.Name)
		}
		names[s.Name] = true
		for _, st := range s.Statements {
			if (len(st.Columns) > 0) == (st.Probe != nil || s.Bulk != nil) && s.Name != "b01_read" && s.Name != "b01_read_100" {
				t.Errorf("%s: a statement answers, or has a probe", s.Name)
			}
			if n := len(placeholder.FindAllString(st.SQL, -1)); n < len(st.Args) {
				t.Errorf("%s: %d parameters for %q", s.Name, len(st.Args), st.SQL)
			}
		}
	}
	for _, c := range []struct {
		names []string
		want  string
	}{{[]string{"s04*"}, "s04_person_by_id"}, {[]string{"mixed", "f02_return_1"}, "f02_return_1 m01_mixed_80_20"}} {
		list, err := Select(Scenarios(10), c.names)
		var got []string
		for _, s := range list {
			got = append(got, s.Name)
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%v selects %v, %v", c.names, got, err)
		}
	}
	for _, wrong := range []string{"s99", "[", ""} {
		if _, err := Select(Scenarios(10), []string{wrong}); err == nil {
			t.Errorf("%q selects something", wrong)
		}
	}
}

// TestRequestsAreTheSame: the n-th request does not depend on who asks, nor on those before (K1).
func TestRequestsAreTheSame(t *testing.T) {
	n := small(t, 0.1)
	for _, s := range Scenarios(10) {
		a, err := newDraw(n, s, 0)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := newDraw(n, s, 0)
		different := map[string]bool{}
		for i := range 50 {
			x, okX := a.request(s, i)
			b.request(s, 7*i+3)
			y, okY := b.request(s, i)
			if okX != okY || !reflect.DeepEqual(x, y) {
				t.Errorf("%s: request %d is %v and %v", s.Name, i, x, y)
			}
			different[paramText(x.Params)] = true
		}
		if len(different) < 5 && s.Group != Floor && s.Bulk == nil && paramText(mustDraw(a, s).Params) != "" {
			t.Errorf("%s: only %d requests are different", s.Name, len(different))
		}
	}
}

func mustDraw(d *Draw, s *Scenario) Request {
	r, _ := d.request(s, 0)
	return r
}

// TestEveryFriendshipOnce: deletions take each friendship of the network once and then end.
func TestEveryFriendshipOnce(t *testing.T) {
	n := small(t, 0.1)
	list, err := Select(Scenarios(10), []string{"w07_delete_edge"})
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDraw(n, list[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[2]int64]bool{}
	i := 0
	for ; ; i++ {
		r, ok := d.request(list[0], i)
		if !ok {
			break
		}
		seen[[2]int64{r.Params["a"].(int64), r.Params["b"].(int64)}] = true
	}
	if i != len(seen) || i != len(d.friends) || i < 500 {
		t.Errorf("%d deletions of %d friendships, %d of them different", i, len(d.friends), len(seen))
	}
}
