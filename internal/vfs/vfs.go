// Package vfs is the small file system that storage asks for: the operating system's, one in memory that can be cloned as a
// crash would leave it, and one that fails on demand.
//
// V1: ReadAt and WriteAt of one file may run at the same time from several goroutines; WriteAt beyond the end grows the file,
// and what lies between reads as zeros.
//
// V2: what was written is durable once a Sync of the file that began after the write has returned; that a name exists, is gone
// or has moved is durable once a SyncDir of its directory has returned. Nothing is promised before, and anything may have
// happened: each 4,096-byte block and each directory entry for itself.
//
// V3: a short read at the end returns io.EOF with the bytes that there are; a short write is an error.
//
// V4: a Sync that failed says nothing about what is on disk, and a later one that succeeds says nothing either: callers stop
// (A11).
package vfs

import (
	"io"
	"io/fs"
	"path"
)

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	// Sync makes the content and the size durable (fdatasync).
	Sync() error
	// Truncate sets the size.
	Truncate(size int64) error
	// Size returns the size.
	Size() (int64, error)
	// Preallocate reserves blocks for [off, off+n). With grow the size becomes at least off+n, else it stays.
	Preallocate(off, n int64, grow bool) error
	io.Closer
}

// Info describes a file.
type Info struct {
	Name string // last element
	Size int64
	Dir  bool
}

// FS is a file system. Paths are slash-separated.
type FS interface {
	// Open opens an existing file for reading and writing; the error is fs.ErrNotExist if there is none.
	Open(name string) (File, error)
	// Create makes a file, or empties one that exists.
	Create(name string) (File, error)
	// SyncDir makes the entries of a directory durable.
	SyncDir(dir string) error
	Rename(from, to string) error
	Remove(name string) error
	// RemoveAll removes a tree; it is no error if there is none.
	RemoveAll(name string) error
	MkdirAll(dir string) error
	// List returns the entries of a directory in order of their names.
	List(dir string) ([]Info, error)
	Stat(name string) (Info, error)
	// Lock takes an exclusive lock on a file, which is made if there is none and holds content afterwards; ErrLocked comes
	// with the holder's content.
	Lock(name string, content []byte) (io.Closer, error)
}

// LockedError reports that somebody else holds the lock file, and what that one wrote into it.
type LockedError struct {
	Name   string
	Holder []byte
}

func (e *LockedError) Error() string { return e.Name + " is locked by " + string(e.Holder) }

// ErrNotExist is what errors.Is finds in the error for a missing file.
var ErrNotExist = fs.ErrNotExist

// Join joins path elements.
func Join(elem ...string) string { return path.Join(elem...) }
