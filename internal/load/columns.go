package load

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
)

// Role says what a column is for.
type Role uint8

const (
	Property Role = iota
	Key           // property by which relationships find the node
	Start         // key of a relationship's start
	End
	Labels // labels of the node, separated by the array delimiter
	Type   // type of the relationship
	Ignore
)

// Column is a column of a file.
type Column struct {
	Header string // as written in the file
	Name   string // property
	Type   string // "" until inferred: string, int, float, bool, date, time, localtime, datetime, localdatetime, duration
	List   bool
	Role   Role
	Case   string // of Labels: "", "title", "upper", "lower"
	Given  bool   // Type was given
	Label  string // of Start, End: label of the node
	KeyOf  string // of Start, End: property of the node
	Space  string // of neo4j-admin's :ID(Space)
}

// Describe prints the column as --columns would take it.
func (c Column) Describe() string {
	t := c.Type
	if c.List {
		t += "[]"
	}
	switch c.Role {
	case Ignore:
		return c.Header + ":IGNORE"
	case Labels:
		if c.Case != "" {
			return c.Header + ":LABEL(" + c.Case + ")"
		}
		return c.Header + ":LABEL"
	case Type:
		return c.Header + ":TYPE"
	case Start, End:
		return fmt.Sprintf("(%s).%s:%s", c.Label, c.KeyOf, t)
	}
	name := c.Name
	if c.Name != c.Header && !strings.HasPrefix(c.Header, c.Name+":") {
		name = c.Header + "=>" + c.Name
	}
	return name + ":" + t
}

var typeNames = map[string]string{
	"string": "string", "text": "string", "char": "string", "int": "int", "integer": "int", "long": "int", "short": "int", "byte": "int",
	"bigint": "int", "float": "float", "double": "float", "bool": "bool", "boolean": "bool", "date": "date", "time": "time",
	"localtime": "localtime", "datetime": "datetime", "timestamp": "datetime", "localdatetime": "localdatetime", "duration": "duration",
}

// parseColumn reads one header cell or one entry of --columns.
func parseColumn(text string) (Column, error) {
	text = strings.TrimSpace(text)
	c := Column{Header: text, Name: text}
	name, typ, typed := strings.Cut(text, ":")
	if from, to, ok := strings.Cut(name, "=>"); ok {
		c.Header, name = strings.TrimSpace(from), strings.TrimSpace(to)
	} else {
		c.Header = strings.TrimSpace(name)
	}
	c.Name = strings.TrimSpace(name)
	if !typed {
		return c, nil
	}
	typ = strings.TrimSpace(typ)
	base, arg := typ, ""
	if i := strings.IndexByte(typ, '('); i >= 0 && strings.HasSuffix(typ, ")") {
		base, arg = typ[:i], typ[i+1:len(typ)-1]
	}
	switch strings.ToUpper(base) {
	case "ID":
		c.Role, c.Space = Key, arg
		if c.Name == "" {
			c.Name = "id"
		}
		return c, nil
	case "START_ID":
		c.Role, c.Space = Start, arg
		return c, nil
	case "END_ID":
		c.Role, c.Space = End, arg
		return c, nil
	case "LABEL":
		c.Role, c.Case = Labels, strings.ToLower(arg)
		switch c.Case {
		case "", "title", "upper", "lower":
			return c, nil
		}
		return c, fmt.Errorf("column %q: LABEL takes title, upper or lower, not %q", text, arg)
	case "TYPE":
		c.Role = Type
		return c, nil
	case "IGNORE":
		c.Role = Ignore
		return c, nil
	}
	if rest, ok := strings.CutSuffix(typ, "[]"); ok {
		c.List, typ = true, rest
	}
	t, ok := typeNames[strings.ToLower(typ)]
	if !ok {
		return c, fmt.Errorf("column %q: unknown type %q; known are string, int, float, bool, date, time, localtime, datetime, localdatetime, duration, each with [] for a list, and LABEL, TYPE, ID, START_ID, END_ID, IGNORE", text, typ)
	}
	c.Type, c.Given = t, true
	return c, nil
}

// apply lays the entries of --columns over a header.
func apply(header []Column, spec string) error {
	if spec == "" {
		return nil
	}
	for _, entry := range splitSpec(spec) {
		c, err := parseColumn(entry)
		if err != nil {
			return err
		}
		found := false
		for i := range header {
			h := &header[i]
			if h.Header != c.Header && !strings.EqualFold(h.Name, c.Header) {
				continue
			}
			found = true
			if strings.Contains(entry, "=>") {
				h.Name = c.Name
			}
			if strings.Contains(entry, ":") {
				label, keyOf := h.Label, h.KeyOf
				role := c.Role
				if role == Property && (h.Role == Start || h.Role == End || h.Role == Key) {
					role = h.Role
				}
				h.Type, h.List, h.Given, h.Role, h.Case, h.Space = c.Type, c.List, c.Given, role, c.Case, c.Space
				h.Label, h.KeyOf = label, keyOf
			}
		}
		if !found {
			names := make([]string, len(header))
			for i := range header {
				names[i] = header[i].Header
			}
			return fmt.Errorf("there is no column %q; the header has %s", c.Header, strings.Join(names, ", "))
		}
	}
	return nil
}

// splitSpec splits at commas outside parentheses.
func splitSpec(s string) []string {
	var out []string
	depth, from := 0, 0
	for i, r := range s {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
	}
	return append(out, s[from:])
}

// guess narrows what type a column's values so far allow.
type guess struct {
	seen                   bool
	notInt, notFloat, notB bool
}

func (g *guess) see(s string) {
	g.seen = true
	if !g.notInt {
		if _, err := strconv.ParseInt(s, 10, 64); err != nil || len(s) > 1 && (s[0] == '0' || s[0] == '+' || strings.HasPrefix(s, "-0")) {
			g.notInt = true // a leading zero is kept: a postal code is no number
		}
	}
	if !g.notFloat {
		_, err := strconv.ParseFloat(s, 64)
		last := s[len(s)-1]
		if err != nil || !(last >= '0' && last <= '9' || last == '.') || strings.ContainsAny(s, "_xXpP") || len(s) > 1 && s[0] == '0' && s[1] != '.' {
			g.notFloat = true
		}
	}
	if !g.notB && s != "true" && s != "false" {
		g.notB = true
	}
}

func (g *guess) result() string {
	switch {
	case !g.seen:
		return "string"
	case !g.notInt:
		return "int"
	case !g.notFloat:
		return "float"
	case !g.notB:
		return "bool"
	}
	return "string"
}

// parse turns a field into a parameter's value. Temporal types stay text and are converted by the statement.
func (c *Column) parse(s, arrayDelimiter string) (any, error) {
	if s == "" {
		return nil, nil
	}
	if !c.List {
		return parseScalar(c.Type, s)
	}
	parts := strings.Split(s, arrayDelimiter)
	out := make([]any, len(parts))
	for i, p := range parts {
		v, err := parseScalar(c.Type, p)
		if err != nil {
			return nil, err
		}
		if v == nil {
			v = ""
		}
		out[i] = v
	}
	return out, nil
}

func parseScalar(t, s string) (any, error) {
	switch t {
	case "int":
		i, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no int", s)
		}
		return i, nil
	case "float":
		f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no float", s)
		}
		return f, nil
	case "bool":
		switch strings.ToLower(strings.TrimSpace(s)) {
		case "true", "t", "yes", "1":
			return true, nil
		case "false", "f", "no", "0":
			return false, nil
		}
		return nil, fmt.Errorf("%q is no bool", s)
	}
	return s, nil
}

// cypher returns the expression that makes the property's value of the parameter expression e.
func (c *Column) cypher(e string) string {
	fn := ""
	switch c.Type {
	case "date", "time", "localtime", "datetime", "localdatetime", "duration":
		fn = c.Type
	default:
		return e
	}
	if c.List {
		return "[x IN " + e + " | " + fn + "(x)]"
	}
	return fn + "(" + e + ")"
}

// withCase turns a field of a LABEL column into a label.
func withCase(s, mode string) string {
	s = strings.TrimSpace(s)
	switch mode {
	case "upper":
		return strings.ToUpper(s)
	case "lower":
		return strings.ToLower(s)
	case "title":
		r := []rune(s)
		if len(r) > 0 {
			r[0] = unicode.ToUpper(r[0])
		}
		return string(r)
	}
	return s
}

// LabelFromFile guesses a label from a file's name: people.csv is Person's, order_items.csv OrderItem's.
func LabelFromFile(path string) string {
	base := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	words := strings.FieldsFunc(base, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for len(words) > 1 {
		if _, err := strconv.Atoi(words[len(words)-1]); err != nil {
			break
		}
		words = words[:len(words)-1]
	}
	if len(words) == 0 {
		return "Node"
	}
	words[len(words)-1] = singular(words[len(words)-1])
	for i, w := range words {
		words[i] = withCase(w, "title")
	}
	label := strings.Join(words, "")
	if unicode.IsDigit([]rune(label)[0]) {
		label = "N" + label
	}
	return label
}

func singular(w string) string {
	l := strings.ToLower(w)
	switch {
	case l == "people":
		return w[:1] + "erson"
	case l == "children":
		return w[:5]
	case strings.HasSuffix(l, "ies") && len(l) > 4:
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(l, "sses") || strings.HasSuffix(l, "xes") || strings.HasSuffix(l, "ches") || strings.HasSuffix(l, "shes"):
		return w[:len(w)-2]
	case strings.HasSuffix(l, "s") && !strings.HasSuffix(l, "ss") && !strings.HasSuffix(l, "us") && !strings.HasSuffix(l, "is") && len(l) > 3:
		return w[:len(w)-1]
	}
	return w
}
