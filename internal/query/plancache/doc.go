// Package plancache keeps plans of Cypher statements, so that a statement is parsed, bound and planned once for all sessions and for all texts
// that differ from it in literals alone.
//
// A text is looked up twice: as it is ([Cache.Text]), and in its normal form ([Cache.Form]), in which literals are typed parameters (see
// cypher.Normalizer). The form has up to [MaxVariants] plans, each good for other values: the values that the choice hung on were put into
// classes of selectivity (plan.Guard), and a plan serves whoever's values are of its classes.
//
// It promises:
//
//	C1  A statement run by a plan from the cache gives the rows, column names, errors and effects that it gives without the cache.
//	    A literal is lifted only where the tree has nothing but its value there; bind checks that for every form.
//	C2  A plan serves only under the catalog version that it was made for. Statistics that are outdated (rows of a label changed by more than
//	    a quarter, and the plan is older than 10 seconds) are not waited for: the old plan serves while another one is made.
//	C3  A guard only chooses. It evaluates, refuses and raises nothing; a parameter's presence is checked elsewhere (rules C8).
//	C4  The cache holds at most Options.Entries forms and Options.Bytes bytes by its own account; the form that was used longest ago goes first.
//	C5  A look-up of a text that is known allocates nothing.
//	C6  What is found is never changed: plans are immutable, and an entry that was evicted still serves who holds it.
//
// Start reading at [Cache.Text].
package plancache
