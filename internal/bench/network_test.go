package bench

import (
	"bufio"
	"crypto/sha256"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// small is a network for tests.
func small(t testing.TB, scale float64) *Network {
	t.Helper()
	n, err := Generate(filepath.Join(t.TempDir(), "net"), scale, 7, nil)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestGenerate(t *testing.T) {
	a, b := small(t, 0.1), small(t, 0.1)
	files := 0
	for _, f := range append(slices.Clone(a.NodeFiles), a.EdgeFiles...) {
		x, err := os.ReadFile(filepath.Join(a.dir, f.Path))
		if err != nil {
			t.Fatal(err)
		}
		y, err := os.ReadFile(filepath.Join(b.dir, f.Path))
		if err != nil {
			t.Fatal(err)
		}
		if sha256.Sum256(x) != sha256.Sum256(y) {
			t.Errorf("%s differs between two networks of one scale and seed", f.Path)
		}
		files++
	}
	if files != 22 {
		t.Errorf("%d files", files)
	}
	other, err := Generate(filepath.Join(t.TempDir(), "other"), 0.1, 8, nil)
	if err != nil {
		t.Fatal(err)
	}
	x, _ := os.ReadFile(filepath.Join(a.dir, "knows.csv"))
	y, _ := os.ReadFile(filepath.Join(other.dir, "knows.csv"))
	if string(x) == string(y) {
		t.Error("another seed gives the same friendships")
	}
	for _, c := range []struct {
		what      string
		got, want int
	}{{"persons", a.Persons, 200}, {"organisations", a.Organisations, 20}, {"tags", a.Tags, 200}, {"forums", a.Forums, 8}, {"posts", a.Posts, 1000}, {"comments", a.Comments, 1000},
		{"vertices", a.Vertices, 200 + 20 + 200 + 8 + 1000 + 1000 + a.Cities}} {
		if c.got != c.want {
			t.Errorf("%d %s, not %d", c.got, c.what, c.want)
		}
	}
	if _, err := Generate(t.TempDir(), 0.01, 1, nil); err == nil {
		t.Error("a network of 20 persons was made")
	}
	if _, err := OpenNetwork(t.TempDir()); err == nil || !strings.Contains(err.Error(), "bench generate") {
		t.Errorf("an empty directory: %v", err)
	}
}

// TestDegrees holds friendships to a mean degree of ten and a tail that falls as a power of the degree does.
func TestDegrees(t *testing.T) {
	n := small(t, 5)
	f, err := os.Open(filepath.Join(n.dir, "knows.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	degree := map[string]int{}
	edges := 0
	seen := map[string]bool{}
	s := bufio.NewScanner(f)
	for s.Scan() {
		p := strings.Split(s.Text(), "|")
		if p[0] == "Person.id" {
			continue
		}
		edges++
		degree[p[0]]++
		degree[p[1]]++
		a, b := min(p[0], p[1]), max(p[0], p[1])
		if a == b || seen[a+"|"+b] {
			t.Fatalf("%s and %s are friends twice, or one person", a, b)
		}
		seen[a+"|"+b] = true
	}
	mean := 2 * float64(edges) / float64(n.Persons)
	if mean < 9.3 || mean > 10.7 {
		t.Errorf("the mean degree is %.2f", mean)
	}
	above := func(d int) (k int) {
		for _, x := range degree {
			if x >= d {
				k++
			}
		}
		return k
	}
	// What a person has chosen falls with exponent 1/0.7; the five friends that chance adds to each make the beginning steeper.
	for _, d := range []int{20, 40} {
		slope := math.Log2(float64(above(d)) / float64(max(1, above(2*d))))
		if slope < 1.2 || slope > 2.8 {
			t.Errorf("%d persons have %d friends, %d twice as many: the tail falls with exponent %.2f", above(d), d, above(2*d), slope)
		}
	}
	if above(100) == 0 || above(400) > 0 {
		t.Errorf("%d persons have a hundred friends, %d four hundred", above(100), above(400))
	}
}
