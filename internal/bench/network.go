package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/hedgerowdb/hedgerow/internal/social"
)

// PersonsPerScale is the number of persons at scale factor 1. An organisation comes for ten persons, a tag for each, a forum for 25, five posts and
// five comments for each.
const PersonsPerScale = 2000

// networkFile describes the CSV files that it lies beside.
const networkFile = "network.json"

// File is a file of nodes or relationships.
type File struct {
	Name string `json:"name"` // labels with colons between, or the type
	Path string `json:"path"` // below the network's directory
}

// Network is a directory of CSV files and what requests have to know of them.
type Network struct {
	Scale         float64 `json:"scale"`
	Seed          uint64  `json:"seed"`
	Persons       int     `json:"persons"`
	Organisations int     `json:"organisations"`
	Tags          int     `json:"tags"`
	Forums        int     `json:"forums"`
	Cities        int     `json:"cities"`
	Posts         int     `json:"posts"`
	Comments      int     `json:"comments"`
	Vertices      int     `json:"vertices"`
	Edges         int     `json:"edges"`
	NodeFiles     []File  `json:"nodeFiles"`
	EdgeFiles     []File  `json:"edgeFiles"`

	dir     string
	friends func() ([]friendship, error)
}

// friendship is a line of knows.csv.
type friendship struct{ a, b, since int64 }

// Generate writes a network of a scale into a directory, which is made. Equal scale and seed give equal bytes.
func Generate(dir string, scale float64, seed uint64, progress func(file string, rows int)) (*Network, error) {
	persons := int(scale * PersonsPerScale)
	if persons < 100 || scale > 1e4 {
		return nil, fmt.Errorf("bench: the scale is between 0.05 and 10000, not %v", scale)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	n := &Network{Scale: scale, Seed: seed, dir: dir}
	rows := map[string]int{}
	made, err := social.Write(dir, social.Options{Persons: persons, Seed: seed, Benchmark: true, Progress: func(file string, k int) {
		rows[file] = k
		if progress != nil {
			progress(file, k)
		}
	}})
	if err != nil {
		return nil, err
	}
	files := func(specs []string, sum *int) (out []File) {
		for _, s := range specs {
			name, path, _ := strings.Cut(s, "=")
			base := filepath.Base(path)
			*sum += rows[base]
			out = append(out, File{name, base})
		}
		return out
	}
	n.NodeFiles, n.EdgeFiles = files(made.Nodes, &n.Vertices), files(made.Edges, &n.Edges)
	n.Persons, n.Organisations, n.Tags, n.Forums = rows["person.csv"], rows["organisation.csv"], rows["tag.csv"], rows["forum.csv"]
	n.Cities, n.Posts, n.Comments = rows["city.csv"], rows["post.csv"], rows["comment.csv"]
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return nil, err
	}
	// Written last: a directory that has it is whole.
	if err := os.WriteFile(filepath.Join(dir, networkFile), append(text, '\n'), 0o644); err != nil {
		return nil, err
	}
	return OpenNetwork(dir)
}

// OpenNetwork reads the description of a network that Generate has written.
func OpenNetwork(dir string) (*Network, error) {
	text, err := os.ReadFile(filepath.Join(dir, networkFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no network (it has no %s); make one with: hedgerow bench generate --sf 1 --out %s", dir, networkFile, dir)
	}
	if err != nil {
		return nil, err
	}
	n := &Network{dir: dir}
	if err := json.Unmarshal(text, n); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, networkFile), err)
	}
	if n.Persons < 2 || n.Posts < 1 || n.Forums < 1 || n.Tags < 1 || n.Cities < 1 || n.Organisations < 1 {
		return nil, fmt.Errorf("%s describes an empty network", filepath.Join(dir, networkFile))
	}
	n.friends = sync.OnceValues(n.readFriendships)
	return n, nil
}

// readFriendships reads knows.csv in an order of its own, which is the order in which scenarios delete friendships.
func (n *Network) readFriendships() ([]friendship, error) {
	path := filepath.Join(n.dir, "knows.csv")
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []friendship
	s := bufio.NewScanner(f)
	for line := 1; s.Scan(); line++ {
		if line == 1 {
			continue
		}
		var v [3]int64
		parts := strings.Split(s.Text(), "|")
		for i := range v {
			if i < len(parts) {
				v[i], err = strconv.ParseInt(parts[i], 10, 64)
			}
			if err != nil || len(parts) != len(v) {
				return nil, fmt.Errorf("%s:%d: %q is no friendship", path, line, s.Text())
			}
		}
		out = append(out, friendship{v[0], v[1], v[2]})
	}
	rnd := rand.New(rand.NewPCG(n.Seed, 1))
	rnd.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, s.Err()
}
