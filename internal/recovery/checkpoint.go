package recovery

import (
	"context"
	"sync"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/buffer"
	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/invariant"
	"github.com/hedgerowdb/hedgerow/internal/page"
	"github.com/hedgerowdb/hedgerow/internal/sched"
	"github.com/hedgerowdb/hedgerow/internal/vfs"
	"github.com/hedgerowdb/hedgerow/internal/wal"
)

// Participant has state that a checkpoint carries: transactions, counters, what labels are shown.
type Participant interface {
	// Name identifies the state in the checkpoint record.
	Name() string
	// WaitFinal returns when every final record that begins below redo is stored in its status word (A4). The log is flushed
	// to redo by then.
	WaitFinal(ctx context.Context, redo page.LSN) error
	// Checkpoint writes and syncs what the participant keeps in files of its own, and returns what the checkpoint record
	// shall carry.
	Checkpoint(ctx context.Context, redo page.LSN) ([]byte, error)
	// Restore gets the bytes back before redo begins; nil if the last checkpoint had none.
	Restore(data []byte) error
}

// Beginner is a Participant that must do something before the redo pointer is chosen, and be told when the checkpoint is over,
// as counters that hold a horizon slot (B9).
type Beginner interface {
	BeginCheckpoint(ctx context.Context) (end func(), err error)
}

// Continuer is a Participant whose commits may need several records (A6).
type Continuer interface {
	// OldestContinuation returns where the first continuation record begins of all commits whose final record is not yet
	// inserted, or 0. It is called under the insert lock, so it must not insert or wait.
	OldestContinuation() page.LSN
}

// Checkpointer makes the checkpoints of an open database.
type Checkpointer struct {
	fs           vfs.FS
	dir          string
	pool         *buffer.Pool
	log          *wal.Log
	storage      *Storage
	participants []Participant
	fate         *invariant.Fate
	spare        int

	mu      sync.Mutex // held over a whole checkpoint; guards control
	control Control
}

// CheckpointerOptions join a Checkpointer with the rest.
type CheckpointerOptions struct {
	FS           vfs.FS
	Dir          string
	Pool         *buffer.Pool
	Log          *wal.Log
	Storage      *Storage
	Participants []Participant
	Fate         *invariant.Fate
	Control      Control // as recovery returned it, or as a new database's begins
	// SpareSegments is how many used log segments are kept for another turn; zero means 2.
	SpareSegments int
}

// NewCheckpointer returns a Checkpointer.
func NewCheckpointer(o CheckpointerOptions) *Checkpointer {
	if o.SpareSegments == 0 {
		o.SpareSegments = 2
	}
	if o.Fate == nil {
		o.Fate = new(invariant.Fate)
	}
	return &Checkpointer{fs: o.FS, dir: o.Dir, pool: o.Pool, log: o.Log, storage: o.Storage, participants: o.Participants,
		fate: o.Fate, spare: o.SpareSegments, control: o.Control}
}

// Kind says why a checkpoint is made.
type Kind uint8

const (
	Online        Kind = iota // the database goes on meanwhile
	Shutdown                  // nobody changes anything any more
	EndOfRecovery             // after redo, before the first client
)

// CheckpointStats say what a checkpoint did and how long it took.
type CheckpointStats struct {
	Redo   page.LSN
	Record page.LSN
	Pages  int
	Took   time.Duration
}

const (
	infoCreate     uint8 = 1
	infoDrop       uint8 = 2
	infoTruncate   uint8 = 3
	infoNumbers    uint8 = 4
	infoCheckpoint uint8 = 5
)

// Run makes a checkpoint (R2). pace, if any, is called between slices of the writing and may sleep. Between the steps stand
// scheduling points.
func (c *Checkpointer) Run(ctx context.Context, kind Kind, pace func(done, total int) error) (CheckpointStats, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	began := time.Now()
	var st CheckpointStats
	if err := c.fate.Err(); err != nil {
		return st, err
	}
	for _, p := range c.participants {
		if b, ok := p.(Beginner); ok {
			end, err := b.BeginCheckpoint(ctx)
			if err != nil {
				return st, err
			}
			defer end()
		}
	}
	sched.Point("checkpoint.begin")
	var from, upTo page.LSN
	redo := c.log.BeginCheckpoint(func(redo page.LSN) {
		from, upTo = redo, c.log.InsertedLSN()
		for _, p := range c.participants {
			if k, ok := p.(Continuer); ok {
				if l := k.OldestContinuation(); l != 0 {
					from = min(from, l)
				}
			}
		}
	})
	sched.Point("checkpoint.redo")
	if err := c.log.FlushTo(upTo); err != nil {
		return st, err
	}
	sched.Point("checkpoint.flushed")
	for _, p := range c.participants {
		if err := p.WaitFinal(ctx, redo); err != nil {
			return st, err
		}
	}
	sched.Point("checkpoint.final")
	states := make([][]byte, len(c.participants))
	for i, p := range c.participants {
		var err error
		if states[i], err = p.Checkpoint(ctx, redo); err != nil {
			return st, err
		}
	}
	sched.Point("checkpoint.status")
	ws, err := c.pool.WriteDirty(ctx, pace)
	if err != nil {
		return st, err
	}
	sched.Point("checkpoint.written")
	if err := c.pool.SyncFiles(ctx); err != nil {
		return st, err
	}
	sched.Point("checkpoint.synced")

	b := wal.NewBuilder().Begin(wal.RmgrStorage, infoCheckpoint, 0)
	var head []byte
	head = le.AppendUint64(head, uint64(from))
	head = le.AppendUint64(head, uint64(c.storage.Limit()))
	head = append(head, byte(kind), byte(len(states)))
	b.Data(head)
	for i, p := range c.participants {
		name := p.Name()
		b.Data([]byte{byte(len(name))}, []byte(name), le.AppendUint32(nil, uint32(len(states[i]))), states[i])
	}
	if b.Size() > c.log.MaxRecord() {
		return st, dberr.New(dberr.LimitExceeded, "a checkpoint of %d bytes does not fit the log buffer", b.Size())
	}
	var start page.LSN
	end, err := c.log.InsertAt(b, func(s, _ page.LSN) { start = s })
	if err != nil {
		return st, err
	}
	if err := c.log.FlushTo(end); err != nil {
		return st, err
	}
	sched.Point("checkpoint.logged")

	older := c.control.Redo // the copy that stays: its log must stay too
	next := c.control
	next.Checkpoint, next.CheckpointEnd, next.Redo = start, end, from
	next.NextRelFile, next.Time, next.State = c.storage.Limit(), time.Now(), Running
	if kind == Shutdown {
		next.State = ShutDown
	}
	if err := WriteControl(c.fs, c.dir, &next); err != nil {
		return st, c.fate.Fail(err, "writing the control file")
	}
	c.control = next
	sched.Point("checkpoint.control")
	if err := c.log.Recycle(older, c.spare); err != nil {
		return st, err
	}
	st = CheckpointStats{Redo: from, Record: end, Pages: ws.Pages, Took: time.Since(began)}
	return st, nil
}

// Control returns what the control file says now.
func (c *Checkpointer) Control() Control {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.control
}

// checkpointRecord is the decoded data of a checkpoint record.
type checkpointRecord struct {
	redo        page.LSN
	nextRelFile page.RelFile
	kind        Kind
	states      map[string][]byte
}

func decodeCheckpoint(b []byte) (*checkpointRecord, error) {
	bad := dberr.New(dberr.DataCorrupted, "the checkpoint record cannot be read")
	if len(b) < 18 {
		return nil, bad
	}
	c := &checkpointRecord{redo: page.LSN(le.Uint64(b)), nextRelFile: page.RelFile(le.Uint64(b[8:])), kind: Kind(b[16]),
		states: map[string][]byte{}}
	n := int(b[17])
	b = b[18:]
	for range n {
		if len(b) < 1 || len(b) < 1+int(b[0])+4 {
			return nil, bad
		}
		name := string(b[1 : 1+b[0]])
		b = b[1+len(name):]
		size := int(le.Uint32(b))
		if b = b[4:]; size > len(b) {
			return nil, bad
		}
		c.states[name] = append([]byte{}, b[:size]...)
		b = b[size:]
	}
	return c, nil
}
