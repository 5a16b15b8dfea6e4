// Package bench measures graph databases, Hedgerow among them, side by side on one social network.
//
// A [Network] is the data, made by package social. A [Scenario] is a question or a change, written once in Cypher and once in SQL, with a rule that draws
// the parameters of its n-th request. A [Target] is a database that can be loaded and asked. [Run] asks every target the same requests in turns and
// makes a [Report], which can be written as JSON, CSV, Markdown or one HTML page. [Scale] measures how Hedgerow's own costs grow with its data.
//
// K1: the n-th request of a scenario is the same for every target, connection and run with the same seed.
// K2: nothing is timed before every target that takes part has given the same answers to the same requests; writes are compared by what a
// transaction that is rolled back reads of them.
// K3: targets take turns within each scenario (A B A B …), so that what else the machine does meets all of them; ratios are of turns beside each other.
// K4: what a scenario writes is taken back afterwards, so that scenarios, and runs, do not depend on those before.
// K5: memory does not grow with the length of a run: times go into histograms of fixed size, at most 1 % wide.
// K6: an error of a target is counted and shown and ends neither its turn nor the run; a cancelled run returns what it has measured.
package bench
