package load

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/hedgerowdb/hedgerow/internal/value"
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
	Case   string   // of Labels: "", "title", "upper", "lower"
	Given  bool     // Type was given
	Label  string   // of Start, End: label of the node
	KeyOf  string   // of Start, End: property of the node
	Space  string   // of neo4j-admin's :ID(Space)
	hint   string   // type that an inferred string column could be given
	owners []string // of Start, End: labels under which the node may be found, when they come from a column
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
		side := map[Role]string{Start: "from", End: "to"}[c.Role]
		return fmt.Sprintf("%s (:%s).%s:%s", side, strings.Join(c.labels(), "|"), c.KeyOf, t)
	}
	name := c.Name
	if c.Name != c.Header && !strings.HasPrefix(c.Header, c.Name+":") {
		name = c.Header + "=>" + c.Name
	}
	return name + ":" + t
}

// labels returns the labels under which an end is looked for.
func (c *Column) labels() []string {
	if c.Label != "" {
		return []string{c.Label}
	}
	return c.owners
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
	notDate, notMoment     bool
}

func (g *guess) see(s string) {
	g.seen = true
	digits := strings.TrimPrefix(s, "-")
	// A leading zero or plus is kept, so this is no number: a postal code, a telephone number.
	plain := digits != "" && digits[0] != '+' && (digits[0] != '0' || len(digits) == 1 || digits[1] == '.')
	if !g.notInt {
		_, err := strconv.ParseInt(s, 10, 64)
		g.notInt = err != nil || !plain || s == "-0"
	}
	if !g.notFloat {
		_, err := strconv.ParseFloat(s, 64)
		last := s[len(s)-1]
		whole := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) < 0
		g.notFloat = err != nil || !plain || !(last >= '0' && last <= '9' || last == '.') || strings.ContainsAny(s, "_xXpP") ||
			whole && len(digits) > 15 && !fitsInt(s) // an id too long for an int would lose digits as a float
	}
	if !g.notB {
		switch s {
		case "true", "false", "True", "False", "TRUE", "FALSE":
		default:
			g.notB = true
		}
	}
	if !g.notDate {
		g.notDate = len(s) != 10 || s[4] != '-' || s[7] != '-' || !parses(value.Date, s)
	}
	if !g.notMoment {
		g.notMoment = len(s) < 16 || s[4] != '-' || s[10] != 'T' || !parses(value.DateTime, s) && !parses(value.LocalDateTime, s)
	}
}

func fitsInt(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

func parses(k value.Kind, s string) bool {
	_, err := value.ParseTemporal(k, s)
	return err == nil
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

// hint names a type that must be given to be used, and that every value would fit.
func (g *guess) hint() string {
	switch {
	case !g.seen:
		return ""
	case !g.notDate:
		return "date"
	case !g.notMoment:
		return "datetime"
	}
	return ""
}

// parse turns a field into a value (L4).
func (c *Column) parse(s, arrayDelimiter string) (value.Value, error) {
	if s == "" {
		return value.Value{}, nil
	}
	if !c.List {
		return parseScalar(c.Type, s)
	}
	var list value.ListBuilder
	for rest, more := s, true; more; {
		var e string
		e, rest, more = strings.Cut(rest, arrayDelimiter)
		if e == "" && c.Type != "string" {
			return value.Value{}, fmt.Errorf("%s has an empty element, which is no %s", shorten(s), c.Type)
		}
		v, err := parseScalar(c.Type, e)
		if err != nil {
			return value.Value{}, err
		}
		list.Add(v)
	}
	return list.List(), nil
}

var temporals = map[string]value.Kind{
	"date": value.Date, "time": value.Time, "localtime": value.LocalTime, "datetime": value.DateTime, "localdatetime": value.LocalDateTime, "duration": value.Duration,
}

func parseScalar(t, s string) (value.Value, error) {
	switch t {
	case "string":
		return value.NewString(s), nil
	case "int":
		i, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		if err != nil {
			if errors.Is(err, strconv.ErrRange) {
				return value.Value{}, fmt.Errorf("%s is out of range for an int", shorten(s))
			}
			return value.Value{}, fmt.Errorf("%s is no int", shorten(s))
		}
		return value.NewInt(i), nil
	case "float":
		f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil {
			return value.Value{}, fmt.Errorf("%s is no float", shorten(s))
		}
		return value.NewFloat(f), nil
	case "bool":
		switch strings.ToLower(strings.TrimSpace(s)) {
		case "true", "t", "yes", "1":
			return value.NewBool(true), nil
		case "false", "f", "no", "0":
			return value.NewBool(false), nil
		}
		return value.Value{}, fmt.Errorf("%s is no bool", shorten(s))
	}
	v, err := value.ParseTemporal(temporals[t], strings.TrimSpace(s))
	if err != nil {
		return value.Value{}, fmt.Errorf("%s is no %s", shorten(s), t)
	}
	return v, nil
}

// shorten quotes a field for a message.
func shorten(s string) string {
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return strconv.Quote(s)
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
