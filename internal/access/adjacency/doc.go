// Package adjacency keeps in memory what the covering indexes of relationships say about the neighbourhood of vertices, and where rows were seen. It
// is a cache: nothing of it is on disk, and no answer depends on whether it is there (rules B10, docs/adr/adjacency.md).
//
// A vertex is its graphid: label in the upper 16 bits, entry in the lower 48. A run is the vertices of one label whose entries differ in
// the lowest 12 bits only; its number is the graphid without them. A [Side] is one covering index, a [Segment] one run of it. The lists of a segment
// are a [Generation]: a base that never changes, and the changes since, each with its xid and command id.
//
// Promised: a list is what the index and the heap say at the same snapshot, command id and refresh set, in the same order; readers take no lock and
// wait for nobody; memory is bounded by [Options]. Refused: answering while a segment is not there; then the reader asks the index.
//
// J1: [Runs] tells of a run that has no entry in an index only if every committed transaction's entries were in the index when it was read, or
// have been told of since. Writers tell after they have written the entry, builders say that they build before they read (B10).
// J2: a generation's base has exactly the relationships whose coming every snapshot sees and whose going not every one does.
// J3: the coming or going of a relationship is in a generation once, in its base or among its changes: builders fix their horizon before they say that
// they build, and compare by identity what they found with what they were told, as long as somebody may still tell.
// J4: state and generation of a segment change under its mutex, and so does the number of changes; whoever changes them has the newest generation.
// J5: what was lent stays what it is; a generation is freed when nobody reads it.
//
// Start reading at [Segment.Ready], [Generation.List] and [Side.Tell]; builds are in build.go.
package adjacency
