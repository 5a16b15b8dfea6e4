// Package catalog knows what a database contains: graphs, labels, label sets, property keys, indexes, constraints, and
// the relation files in which each of them lies.
//
// The truth is ten ordinary heaps with fixed relation files, each with one B-tree over its natural key, and one page array
// of sequences; all of it is versioned, logged and recovered like any other data. Beside it stands the relation cache: every
// catalog row in memory, together with the opened heaps and trees, under the same stamps (xmin, cmin, xmax, cmax) as
// its row on disk. A reader judges these stamps by its own snapshot, so a cached object appears and disappears for each
// transaction exactly when its row does: no invalidation message can be missed, a rollback needs no clean-up, and an old
// snapshot still sees what was dropped since. [Catalog.Epoch] grows before the commit that changed something is published;
// plans are outdated by it.
//
// There are two sorts of objects. Graphs, indexes and constraints are transactional. Tokens (property keys, labels, label
// sets, and the fact that heap H may hold label L) are made by system transactions that commit at once (rules B7): whoever
// looks one up by name finds it, whichever transaction caused it. Only whether a label is *shown* is transactional.
//
// Statistics belong to nobody's transaction either: a system transaction replaces them, everybody plans with the newest at once, and
// those that cannot be read are as if there were none.
//
// C1: token ids only grow and are never used again; a token is in the log before any record that uses it.
// C2: the heaps that may hold a label only grow in number; a scan reads them after it took its snapshot.
// C3: a stamp in memory equals the stamp of its row on disk; cached objects change in nothing else once they are published.
// C4: an index's ordinals name heaps one to one; an ordinal is never given to a second heap.
// C5: a sequence never returns a number twice, also after a crash: the limit on disk is logged before numbers below it are used.
// C6: a relation file belongs to at most one catalog row. Files of no committed row are removed when the database opens.
//
// Start reading at [Catalog], then [Graph.EnsureLabel]. The rows are drawn in docs/format/catalog.md.
package catalog
