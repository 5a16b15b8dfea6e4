package sql

import "strings"

// CypherTexts appends to dst the spans of the dollar-quoted texts, without their quotes, that stand as second argument behind a plain string in calls
// of cypher(). ok is false if the text has a fault.
func CypherTexts(dst []Span, text string) (spans []Span, ok bool) {
	s := Scanner{text: text}
	state := 0 // tokens of `cypher ( 'graph' ,` met so far
	for {
		t, err := s.Next()
		switch {
		case err != nil:
			return dst, false
		case t.Kind == EOF:
			return dst, true
		case t.Kind == Word && !t.Quoted && strings.EqualFold(text[t.Start:t.End], "cypher"):
			state = 1
		case state == 1 && t.Kind == LParen, state == 2 && t.Kind == String && t.Form != DollarString, state == 3 && t.Kind == Comma:
			state++
		case state == 4 && t.Kind == String && t.Form == DollarString:
			tag := int32(strings.IndexByte(text[t.Start+1:t.End], '$') + 2)
			dst = append(dst, Span{t.Start + tag, t.End - tag})
			state = 0
		default:
			state = 0
		}
	}
}
