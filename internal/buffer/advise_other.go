//go:build unix && !linux && !heapframes

package buffer

func advise([]byte) {}
