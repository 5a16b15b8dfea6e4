package store

// Counters are what a statement cost: EXPLAIN ANALYZE, PROFILE and tests read them.
type Counters struct {
	NodesCreated, NodesDeleted, RelsCreated, RelsDeleted, PropsSet, LabelsAdded, LabelsRemoved int64
	IndexesAdded, IndexesRemoved, ConstraintsAdded, ConstraintsRemoved                         int64
	GraphsChanged                                                                              int64 // made or dropped

	HintOK       int64 // rows found where their hint said
	HintOwnChain int64 // rows found by following the versions behind their hint
	HintMissing  int64 // rows asked for without a hint
	HintStale    int64 // hints that led to something else; such a row is found by its id
	IDProbes     int64 // look-ups in an id index
	IndexProbes  int64 // look-ups in a property index or an adjacency index
	UniqueProbes int64 // look-ups for a unique constraint
	RowsRead     int64
	EdgesRead    int64
	SeqScans     int64 // heaps read from end to end

	RootHits   int64 // rows found by the table of places, without a hint and without a look-up
	HopsCached int64 // lists of one vertex, type and direction that were in memory
	HopsDirty  int64 // of them, lists with changes since their segment was folded
	HopsIndex  int64 // lists read from an index although they might have been in memory

	PagesPinned int64 // pages asked for
	PagesRead   int64 // of them, pages that came from a file
	WALBytes    int64 // log records written
}

// AddDifference adds what was counted between before and now.
func (c *Counters) AddDifference(now, before *Counters) {
	to, n, b := c.fields(), now.fields(), before.fields()
	for i, p := range to {
		*p += *n[i] - *b[i]
	}
}

// DBHits is how often the store was asked for a row, a relationship or an index entry, in the way in which Neo4j counts.
func (c *Counters) DBHits() int64 {
	return c.RowsRead + c.EdgesRead + c.IDProbes + c.IndexProbes + c.UniqueProbes +
		c.NodesCreated + c.NodesDeleted + c.RelsCreated + c.RelsDeleted + c.PropsSet + c.LabelsAdded + c.LabelsRemoved
}

func (c *Counters) fields() [29]*int64 {
	return [29]*int64{
		&c.NodesCreated, &c.NodesDeleted, &c.RelsCreated, &c.RelsDeleted, &c.PropsSet, &c.LabelsAdded, &c.LabelsRemoved,
		&c.IndexesAdded, &c.IndexesRemoved, &c.ConstraintsAdded, &c.ConstraintsRemoved, &c.GraphsChanged,
		&c.HintOK, &c.HintOwnChain, &c.HintMissing, &c.HintStale, &c.IDProbes, &c.IndexProbes, &c.UniqueProbes,
		&c.RowsRead, &c.EdgesRead, &c.SeqScans, &c.RootHits, &c.HopsCached, &c.HopsDirty, &c.HopsIndex, &c.PagesPinned, &c.PagesRead, &c.WALBytes,
	}
}
