// Package shell is the interactive prompt: statements over several lines, history, completion, tables, plans and a few commands of its own.
//
// A [Backend] is what it talks to: an open database or a server. Statements go there as typed; lines that begin with a colon, and psql's
// \d, \q, \timing and their like, are answered here.
//
// H1: a statement's error ends that statement, never the shell; with a script it ends the script, unless told to go on.
// H2: output that is not a terminal has no colours, no boxes that change with its width, and no prompts.
package shell
