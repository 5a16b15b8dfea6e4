package txn

import "github.com/hedgerowdb/hedgerow/internal/page"

// XID is a transaction id: 48 bits on disk, never used twice.
type XID uint64

const (
	// InvalidXID is nobody.
	InvalidXID XID = 0
	// BootstrapXID made what exists in a new database. It is committed before every snapshot.
	BootstrapXID XID = 1
	// FirstXID is the first one that a transaction can have.
	FirstXID XID = 1 << chunkBits
	// MaxXID is the last one.
	MaxXID XID = 1<<48 - 1
)

// State is what became of a transaction.
type State uint8

const (
	InProgress State = iota
	Aborted
	Committed
)

func (s State) String() string { return [...]string{"in progress", "aborted", "committed"}[s] }

// A status word is 0 (running), 1 (aborted), parent<<2|2 (released into its parent) or csn<<2|3 (committed).
const (
	wordRunning  = 0
	wordAborted  = 1
	tagReleased  = 2
	tagCommitted = 3
	wordTag      = 3
	wordTagBits  = 2
	allCSN       = page.LSN(1<<62 - 1)
)

func releasedWord(parent XID) uint64    { return uint64(parent)<<wordTagBits | tagReleased }
func committedWord(csn page.LSN) uint64 { return uint64(csn)<<wordTagBits | tagCommitted }
