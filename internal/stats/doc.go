// Package stats describes what a sample said about data: how the values of a property are distributed ([Key]), and how many
// relationships vertices have ([Degree]). It takes samples apart ([Sampler], [DegreeSampler]) and writes itself as bytes for the
// catalog ([Label.Append], [Decode]).
//
// Statistics are opinions. They may be missing, old or plainly wrong, and nothing but the choice among plans of one answer may hang on
// them.
//
// S1: every share that is handed out lies in 0 … 1 and every number is finite and not negative, whatever the statistics hold.
// S2: what is kept of a label is bounded: at most [MaxKeys] keys with at most [MaxCommon] common values and [Buckets]+1 bounds each, a
// value of at most [MaxWidth] bytes; a sample in the making holds at most [SampleBytes].
// S3: equal samples give equal bytes: nothing depends on the order of a Go map or on a clock.
//
// Formulas. With n sampled rows out of N, d different values among those that are there and f₁ of them met once, the number of different
// values of all rows is Haas and Stokes' n·d / (n − f₁ + f₁·n/N). A value that is not among the common ones has the share
// (1 − null − Σ common) / (distinct − common values). A range is the common values within it and the part of the histogram
// between its bounds; within a bucket values are taken to lie evenly. A vertex that a relationship leads to has more relationships than the
// mean: E[d·d'] / E[d] with d the degree by which it was reached and d' the one that is asked for; for d = d' this is E[d²] / E[d].
package stats
