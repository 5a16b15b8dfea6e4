//go:build !linux

package vfs

import "os"

func datasync(f *os.File) error { return f.Sync() }

func preallocate(f *os.File, off, n int64, grow bool) error { return growOnly(f, off, n, grow) }
