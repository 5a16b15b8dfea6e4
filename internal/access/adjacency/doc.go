// Package adjacency keeps in memory what the covering indexes of relationships say about the neighbourhood of vertices. It is a cache: nothing
// of it is on disk, and no answer depends on whether it is there (rules B10).
//
// A vertex is its graphid: label in the upper 16 bits, entry in the lower 48. A run is the vertices of one label whose entries differ in
// the lowest 12 bits only; its number is the graphid without them.
//
// J1: [Runs] tells of a run that has no entry in an index only if every committed transaction's entries were in the index when it was read, or
// have been told of since. Writers tell after they have written the entry, builders say that they build before they read (B10).
package adjacency
