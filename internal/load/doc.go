// Package load reads CSV files of nodes and relationships into a graph.
//
// A [Plan] is made first: every file is read once to learn its columns, types and length, and to find what is wrong with it before anything is
// written. Then [Plan.Run] writes nodes before relationships, by batches of UNWIND … CREATE, so that what is loaded is what the same statements
// would have made. A [Target] is where statements go: an open database or a server.
//
// L1: a file is one transaction, or with a batch size one transaction for so many rows. What failed is named by file and line.
// L2: a relationship is made for exactly one start and one end. One that has none, or several, is reported by line; the file fails, unless
// missing ends are to be skipped.
// L3: memory does not grow with the files: batches are bounded in rows and bytes, no map of keys is kept.
// L4: an empty field is null, a null is not stored. Types are those given, else the narrowest of int, float, bool, string that fits every row
// and loses nothing of its text but white space: 007, +49 and a number too long for an int stay strings.
// L5: a value that does not fit its column's type is found while the plan is made, before the first write.
package load
