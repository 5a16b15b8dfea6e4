package shell

import (
	"strings"
	"testing"

	"github.com/hedgerowdb/hedgerow"
	"github.com/hedgerowdb/hedgerow/internal/value"
)

func TestComplete(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, ":help": true, `\d`: true, "RETURN 1": false, "RETURN 1;": true, "RETURN 1\n": true, "RETURN ';": false, "RETURN ';';": true, `RETURN '\';`: false,
		"RETURN `;": false, "MATCH (a)--(b) RETURN a;": true, "MATCH (a) // it's\nRETURN a;": true, "/* ; ": false, "/* it's */ RETURN 1;": true, "$$ ;": false, "$$ ' $$;": true,
	} {
		if got := complete(text, hedgerow.Cypher); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	for text, want := range map[string]bool{"SELECT 1; -- it's": false, "SELECT 'a\\';": true, "SELECT 1 -- it's\n;": true} {
		if got := complete(text, hedgerow.SQL); got != want {
			t.Errorf("SQL %q: %v", text, got)
		}
	}
}

func TestNumber(t *testing.T) {
	params := hedgerow.Params{"a": value.NewInt(1), "name": value.NewString("x'y"), "ä": value.NewBool(true)}
	for text, want := range map[string]string{
		"RETURN $a":                        "RETURN $1",
		"RETURN $name, '$a' // $a\n, $a":   "RETURN $1   , '$a' // $a\n, $2",
		"RETURN $name + $name, $other, $ä": "RETURN $1    + $1   , $other, $2 ",
		"RETURN `$a`, /* $a */ 1":          "RETURN `$a`, /* $a */ 1",
		"RETURN '$a":                       "RETURN '$a",
		"$$ $a $$, $a":                     "$$ $a $$, $1",
	} {
		got, args, err := number(text, params)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
		if strings.Contains(want, "$2") && len(args) != 2 {
			t.Errorf("%q: %d values", text, len(args))
		}
	}
	_, args, _ := number("RETURN $name", params)
	if string(args[0]) != `"x'y"` {
		t.Errorf("%s", args[0])
	}
}

func FuzzNumber(f *testing.F) {
	f.Add("RETURN $a, '$a'")
	f.Fuzz(func(t *testing.T, text string) {
		open(text, hedgerow.Cypher)
		open(text, hedgerow.SQL)
		if got, args, err := number(text, hedgerow.Params{"a": value.NewInt(1)}); err != nil || len(args) == 0 && got != text {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	})
}

func TestWords(t *testing.T) {
	for in, want := range map[string]string{"": "", " a  b ": "a|b", `--delimiter '|' "a b"=c ''`: "--delimiter|||a b=c|"} {
		if got := strings.Join(words(in), "|"); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
