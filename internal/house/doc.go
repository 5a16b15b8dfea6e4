// Package house holds the tests that keep the tree what ARCHITECTURE.md says it is: imports run one way, every package says
// what it promises, and every path that the documents name exists. It has no code of its own.
package house
