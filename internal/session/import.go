package session

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
)

// importDir is the directory below which LOAD CSV may read; "" means that it may not read at all. Links are followed, but never out of the
// directory: the operating system is asked for a name relative to it and refuses what leaves it.
type importDir string

// Open opens a regular file by a file: URL or by its path in the directory. A gzip file is unpacked on the way.
func (d importDir) Open(text string) (io.ReadCloser, string, error) {
	name, err := d.name(text)
	if err != nil {
		return nil, "", err
	}
	dir, err := filepath.Abs(string(d))
	if err != nil {
		return nil, "", dberr.Wrap(dberr.ExternalResource, err, "cannot load from %q", text)
	}
	full := filepath.Join(dir, filepath.FromSlash(name))
	fail := func(err error) (io.ReadCloser, string, error) {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, "", dberr.Wrap(dberr.ExternalResource, err, "cannot load from %q", text).WithHint("files are looked for below %s", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fail(err)
	}
	defer root.Close()
	// Without waiting: a pipe that nobody writes to would hold the statement for ever.
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fail(err)
	}
	in, err := unpack(f)
	if err != nil {
		f.Close()
		return fail(err)
	}
	return in, full, nil
}

// name returns the file's name in the directory, with slashes.
func (d importDir) name(text string) (string, error) {
	refuse := func(code dberr.Code, format string, args ...any) (string, error) {
		return "", dberr.New(code, "cannot load from %q: "+format, append([]any{text}, args...)...)
	}
	if d == "" {
		return "", dberr.New(dberr.PermissionDenied, "cannot load from %q: LOAD CSV is not allowed to read files", text).
			WithHint("name a directory that it may read: serve --import DIR, shell --import DIR, or Options.ImportDir in Go")
	}
	name := text
	if scheme, rest, ok := strings.Cut(text, ":"); ok && isScheme(scheme) {
		if !strings.EqualFold(scheme, "file") {
			return refuse(dberr.FeatureNotSupported, "only files below the import directory are read, not %s: URLs", strings.ToLower(scheme))
		}
		if strings.ContainsAny(rest, "?#") {
			return refuse(dberr.ExternalResource, "a file URL has neither a query nor a fragment; write %%3F and %%23")
		}
		if host, ok := strings.CutPrefix(rest, "//"); ok {
			if !strings.HasPrefix(host, "/") {
				return refuse(dberr.ExternalResource, "a file URL names no host; write file:///%s", host)
			}
			rest = host
		}
		decoded, err := url.PathUnescape(rest)
		if err != nil {
			return refuse(dberr.ExternalResource, "the URL is not valid: %s", err)
		}
		name = decoded
	}
	if strings.ContainsRune(name, 0) {
		return refuse(dberr.ExternalResource, "a file's name holds no NUL")
	}
	// A path that begins with the directory's own is taken from there.
	if dir, err := filepath.Abs(string(d)); err == nil {
		if rest, ok := strings.CutPrefix(name, filepath.ToSlash(dir)+"/"); ok {
			name = rest
		}
	}
	for _, part := range strings.Split(filepath.ToSlash(name), "/") {
		if part == ".." {
			return refuse(dberr.PermissionDenied, "the path leaves the import directory")
		}
	}
	name = strings.TrimPrefix(path.Clean("/"+filepath.ToSlash(name)), "/")
	if name == "" {
		return refuse(dberr.ExternalResource, "the URL names no file")
	}
	return name, nil
}

// isScheme reports whether a word before a colon is a URL's scheme. One letter is a Windows drive.
func isScheme(s string) bool {
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", c)) {
			return false
		}
	}
	return len(s) > 1
}

// unpacked reads what a file holds; Close closes the file too.
type unpacked struct {
	io.Reader
	files []io.Closer
}

func (u *unpacked) Close() (err error) {
	for _, f := range u.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// unpack looks at a file's first bytes and returns its text.
func unpack(f *os.File) (io.ReadCloser, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	var head [2]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if bytes.HasPrefix(head[:n], []byte("\x1f\x8b")) {
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, err
		}
		return &unpacked{z, []io.Closer{z, f}}, nil
	}
	return f, nil
}
