package engine

import "golang.org/x/sys/unix"

// defaultCache is a quarter of memory, within reason.
func defaultCache() int64 {
	var si unix.Sysinfo_t
	if unix.Sysinfo(&si) != nil {
		return 256 << 20
	}
	return min(max(int64(uint64(si.Totalram)*uint64(si.Unit)/4), 64<<20), 16<<30)
}
