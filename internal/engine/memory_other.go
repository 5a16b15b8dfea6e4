//go:build !linux

package engine

// defaultCache is modest where the size of memory is not asked for.
func defaultCache() int64 { return 512 << 20 }
