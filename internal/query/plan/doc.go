// Package plan turns bound Cypher queries into immutable physical plans.
//
// [Make] takes a bound query and a [Catalog] (names, indexes, statistics), builds a query graph for every clause group, chooses start
// points, indexes and the order of expansion by cost, lays the clauses over command ids and barriers, and returns a [Query]: a
// tree of data-only operators that any number of executions may share. Nothing in a plan is resolved to storage: labels, types
// and keys are names, found when an operator opens at its clause's command id (rules B7); no plan holds a row's place.
//
// P1: a plan is never changed after Make returned it. Executions keep their state elsewhere, keyed by [Base.ID], which is unique in
// the plan and lies in 0 … Query.Nodes-1 (sub-plans of expressions included).
//
// P2: there is one slot space per plan. A row is a set of slots; an operator passes every slot of its input on and adds its own,
// except that Project, Aggregate and Distinct cut the row down to what they name. Base.Out lists the slots that something above
// still reads; a breaker need keep no others. The right side of an Apply shares the slot space with the left.
//
// P3: an entity slot holds the bare graphid; its hint, if one is kept, stands in Query.Slots[s].Hint. A hint column may hold
// zeros; it is data of no promise (law 1).
//
// P4: command ids. A clause belongs to a segment (Base.CID.Seg) and reads at base+Read, writes at base+Write; own-inclusive
// reads use base+Write+1, base being what [store.Stmt.Segment] gave for the segment. Segment 0 opens when the statement starts;
// every other one when the operator that names it in Opens has finished what lies before it (Eager: its input is
// drained; Union: the branches before are exhausted; Foreach, Apply with PerRow: at every iteration).
//
// P5: an operator with two inputs pulls its Left (input) to the first batch before it touches Right, so that segments open in clause
// order. Whoever stops early (Limit, TopN, Semi) honours Exhaustive: it then still pulls its input to the end.
//
// P6: the right side of a batched Apply begins at an [Argument] that yields the left rows and their ordinal in the slot RowID;
// every row that comes out on top carries its RowID. Operators that work on a whole input (Aggregate, Distinct, Sort,
// TopN, Skip, Limit, Union) name that slot in Part and work on each of its values apart.
//
// P7: between two clauses whose footprints conflict (rules C2) stands an [Eager] with the reason. In reference mode (rules C5) one stands
// between all clauses.
package plan
