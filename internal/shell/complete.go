package shell

import (
	"context"
	"strings"
	"unicode"

	"github.com/reeflective/readline"
)

var keywords = strings.Fields(`MATCH OPTIONAL WHERE RETURN WITH UNWIND ORDER BY SKIP LIMIT CREATE MERGE DELETE DETACH SET REMOVE DISTINCT UNION ALL
	ON AS AND OR XOR NOT IN IS NULL STARTS ENDS CONTAINS CASE WHEN THEN ELSE END EXISTS COUNT COLLECT FOREACH CALL YIELD INDEX CONSTRAINT FOR REQUIRE UNIQUE
	SHOW INDEXES CONSTRAINTS DROP EXPLAIN PROFILE ASC DESC true false null`)

var functions = strings.Fields(`abs( avg( ceil( coalesce( collect( count( elementId( exists( floor( head( id( keys( labels( last( left( length( max( min( nodes(
	percentileCont( properties( rand( range( reduce( relationships( replace( reverse( right( round( shortestPath( size( split( sqrt( startNode( endNode( sum( substring(
	tail( toFloat( toInteger( toLower( toString( toUpper( trim( type(`)

// learn reads the graph's names, for completion.
func (s *Shell) learn(ctx context.Context) {
	if s.b.Status() == 'E' || !s.o.Interactive {
		return
	}
	if names, err := s.b.Names(ctx); err == nil {
		s.names = names
	}
}

// complete offers commands, words of the language and names of the graph.
func (s *Shell) complete(line []rune, cursor int) readline.Completions {
	from := cursor
	for from > 0 && (unicode.IsLetter(line[from-1]) || unicode.IsDigit(line[from-1]) || line[from-1] == '_') {
		from--
	}
	if from == 1 && (line[0] == ':' || line[0] == '\\') || from == 0 && cursor > 0 && line[0] == ':' {
		var list []string
		for _, c := range commands {
			list = append(list, c.names[0], c.help)
		}
		c := readline.CompleteValuesDescribed(list...)
		c.PREFIX = string(line[:cursor])
		return c
	}
	word := string(line[from:cursor])
	var list []string
	after := ' '
	if from > 0 {
		after = line[from-1]
	}
	for _, n := range s.names {
		if hasPrefixFold(n, word) {
			list = append(list, n)
		}
	}
	if after != ':' && after != '.' && word != "" {
		for _, group := range [][]string{keywords, functions} {
			for _, k := range group {
				if hasPrefixFold(k, word) {
					list = append(list, k)
				}
			}
		}
	}
	c := readline.CompleteValues(list...).NoSpace('(', ':', '.')
	c.PREFIX = word // what is completed begins after a bracket or colon, not only after a space
	return c
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
