package cypher

// Split returns the spans of the statements in a text, without their semicolons and the white space and comments around
// them. A semicolon within a string, a name in backticks or a comment ends nothing. Text that cannot be read as tokens
// belongs to the statement that it stands in, whose parsing then reports the fault.
func Split(text string, dialect Dialect) []Span {
	var spans []Span
	for at := 0; ; {
		span, next, ok := NextStatement(text, at, dialect)
		if !ok {
			return spans
		}
		spans = append(spans, span)
		at = next
	}
}

// NextStatement returns the span of the first statement at or behind an offset, and where the next one may begin; ok is
// false if only white space, comments and semicolons are left.
func NextStatement(text string, at int, dialect Dialect) (span Span, next int, ok bool) {
	s := Scanner{text: text, pos: at, dialect: dialect}
	for {
		t, err := s.Next()
		if err != nil {
			if !ok {
				span.Start = int32(s.pos)
			}
			return Span{span.Start, int32(len(text))}, len(text), true
		}
		switch {
		case t.Kind == EOF:
			return span, len(text), ok
		case t.Kind == Semicolon && ok:
			return span, s.pos, true
		case t.Kind == Semicolon:
			continue
		case !ok:
			span.Start, ok = t.Start, true
		}
		span.Stop = t.End
	}
}

// FirstWords returns the first tokens of a text that are names, at most len(words), in upper case: what a door needs to
// tell the language of a statement. It returns how many there are.
func FirstWords(text string, words []string) int {
	s := Scanner{text: text}
	for n := range words {
		t, err := s.Next()
		if err != nil || t.Kind != Name || t.Quoted {
			return n
		}
		words[n] = upper(text[t.Start:t.End])
	}
	return len(words)
}

// PatternFollows reports whether a pattern stands behind the first n tokens of a text: a parenthesis, or a variable and an equals sign.
func PatternFollows(text string, n int) bool {
	s := Scanner{text: text}
	var t Token
	for range n + 1 {
		var err error
		if t, err = s.Next(); err != nil {
			return false
		}
	}
	if t.Kind == Name {
		var err error
		t, err = s.Next()
		return err == nil && t.Kind == Eq
	}
	return t.Kind == LParen
}

// upper is strings.ToUpper for words that mostly are keywords, which need no memory then.
func upper(s string) string {
	if k := lookupKeyword(s); k != NotKeyword {
		return keywordText[k]
	}
	b := []byte(s)
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] = c - ('a' - 'A')
		}
	}
	return string(b)
}
