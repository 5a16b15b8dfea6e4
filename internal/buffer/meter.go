package buffer

import "context"

// Meter is a context that counts the pages which are asked for under it, so that a statement knows its own share. It belongs to one
// goroutine at a time. What is wrapped around it again is not counted.
type Meter struct {
	context.Context
	Pins  int64 // pages asked for
	Reads int64 // of them, pages that were read from their file
}

func meterPin(ctx context.Context) {
	if m, ok := ctx.(*Meter); ok {
		m.Pins++
	}
}
