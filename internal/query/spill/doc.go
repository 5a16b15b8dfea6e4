// Package spill moves what operators, aggregates and index builds cannot keep in memory to temporary files.
//
// There is one algorithm behind all of it: an external sort of records by bytes ([Sorter]). Operators that work by hash sort by the
// hash, so that equal keys meet wherever they were; a second sort by ordinal brings results back into the order in which a run in
// memory would have had them. Unlike partitions, sorted runs know no skew: a key that everybody has is a long run of records and no
// partition that cannot be divided (see docs/adr/spilling.md).
//
// S1: memory stays within a sorter's share, and one record, however much is added; it is charged to Place.Mem as it grows.
// S2: records of equal keys come back in the order in which they were added.
// S3: files are closed by Close, and as soon as their records have been merged into others.
package spill
