package engine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/recovery"
	"github.com/hedgerowdb/hedgerow/internal/schema"
	"github.com/hedgerowdb/hedgerow/internal/store"
)

const (
	tick            = 200 * time.Millisecond
	writesPerTick   = 128              // dirty pages ahead of the clock hand
	analyzeInterval = 10 * time.Second // between looks for old statistics
	checkpointPart  = 0.5              // of the interval over which a timed checkpoint spreads its writes
)

// start begins the background work.
func (db *DB) start() {
	if db.o.Steps {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	db.stop = stop
	db.tasks.Go(func() { db.checkpointer(ctx) })
	db.tasks.Go(func() { db.writer(ctx) })
	if db.o.AnalyzeInterval >= 0 {
		db.tasks.Go(func() { db.analyzer(ctx) })
	}
}

// checkpointer makes a checkpoint when it is time, or when enough log was written.
func (db *DB) checkpointer(ctx context.Context) {
	t := time.NewTicker(tick)
	defer t.Stop()
	last, at := time.Now(), db.wal.InsertedLSN()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if db.fate.Err() != nil {
			return
		}
		grown := int64(db.wal.InsertedLSN() - at)
		late := db.o.CheckpointInterval > 0 && time.Since(last) >= db.o.CheckpointInterval
		if grown < db.o.CheckpointBytes && !(late && grown > 4096) {
			if late {
				last = time.Now()
			}
			continue
		}
		began, from := time.Now(), db.wal.InsertedLSN()
		budget := time.Duration(float64(db.o.CheckpointInterval) * checkpointPart)
		err := db.checkpoint(ctx, func(done, total int) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			// Spread the writes, unless the log grows so fast that the next checkpoint is near.
			if budget <= 0 || int64(db.wal.InsertedLSN()-from) > db.o.CheckpointBytes/2 {
				return nil
			}
			ahead := time.Duration(float64(budget)*float64(done)/float64(total)) - time.Since(began)
			if ahead <= 0 {
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(min(ahead, tick)):
			}
			return nil
		})
		if err != nil && ctx.Err() == nil {
			db.log.LogAttrs(ctx, slog.LevelError, "checkpoint failed", slog.Any("error", err))
		}
		last, at = time.Now(), from
	}
}

// Checkpoint makes a checkpoint now, as fast as it can.
func (db *DB) Checkpoint(ctx context.Context) error { return db.checkpoint(ctx, nil) }

func (db *DB) checkpoint(ctx context.Context, pace func(done, total int) error) error {
	st, err := db.cp.Run(ctx, recovery.Online, pace)
	if err != nil {
		return err
	}
	db.checkpoints.Add(1)
	db.log.LogAttrs(ctx, slog.LevelInfo, "checkpoint done", slog.Uint64("redo_lsn", uint64(st.Redo)), slog.Int("pages", st.Pages),
		slog.Duration("took", st.Took))
	return nil
}

// writer writes pages that the clock hand will come to, so that whoever needs a frame finds a clean one.
func (db *DB) writer(ctx context.Context) {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if db.fate.Err() != nil {
			return
		}
		if _, err := db.pool.BackgroundWrite(ctx, writesPerTick); err != nil && ctx.Err() == nil {
			db.log.LogAttrs(ctx, slog.LevelWarn, "background write failed", slog.Any("error", err))
		}
		db.txns.Horizon() // others use the newest one that was computed
	}
}

// analyzer renews statistics where much has changed, one label at a time.
func (db *DB) analyzer(ctx context.Context) {
	t := time.NewTicker(cmp.Or(db.o.AnalyzeInterval, analyzeInterval))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if db.fate.Err() != nil {
			return
		}
		if _, err := db.AnalyzeDue(ctx); err != nil && ctx.Err() == nil && db.fate.Err() == nil {
			db.log.LogAttrs(ctx, slog.LevelWarn, "statistics are not renewed", slog.Any("error", err))
		}
	}
}

// AnalyzeDue renews the statistics of every label and type that has changed enough, and returns of how many. Each is looked at in a
// transaction of its own, which holds back nothing but a change of that label's schema.
func (db *DB) AnalyzeDue(ctx context.Context) (int, error) {
	n := 0
	for _, d := range db.store.StatsDue() {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		if err := db.analyze(ctx, d.Graph, d.Label); err != nil {
			if dberr.Is(err, dberr.UndefinedTable) || dberr.Is(err, dberr.InvalidSchema) || dberr.Is(err, dberr.SerializationFailure) {
				continue // dropped meanwhile
			}
			return n, fmt.Errorf("analyse %s.%s: %w", d.Graph, d.Name, err)
		}
		n++
	}
	return n, nil
}

func (db *DB) analyze(ctx context.Context, graph string, l schema.LabelID) error {
	tx, err := db.store.Begin(ctx, store.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it writes nothing
	// DDL that waits for the label shall not wait for us as well when we wait for it.
	tx.SetLockTimeout(time.Second)
	st, err := tx.Begin(ctx)
	if err != nil {
		return err
	}
	defer st.Close()
	g, err := st.Graph(ctx, graph)
	if err != nil {
		return err
	}
	return g.(store.Analyzer).Analyze(ctx, st.View(0), l)
}
