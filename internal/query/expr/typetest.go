package expr

import (
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/hedgerowdb/hedgerow/internal/dberr"
	"github.com/hedgerowdb/hedgerow/internal/value"
	"github.com/hedgerowdb/hedgerow/internal/vec"
)

// isType compiles x IS [NOT] :: TYPE. A column of one kind that is no list is decided at once.
func (c *comp) isType(e *IsType) (evalFn, error) {
	x, err := c.child(e.X)
	if err != nil {
		return nil, err
	}
	return func(f *frame, b *Batch, sel []uint16, out *vec.Column) (*vec.Column, error) {
		col, err := x.eval(f, b, sel)
		if err != nil {
			return nil, err
		}
		words := out.Fill(value.Bool, count(b, sel))
		var last value.Kind
		var answer uint64
		known := false
		for i := range words {
			k := col.Kinds[i]
			if !known || k != last || k == value.List {
				last, known = k, true
				answer = boolWord(e.Spec.Has(col.Value(i), f.c.tick) != e.Not)
			}
			words[i] = answer
		}
		return out, nil
	}, nil
}

// tick notes that one element of a list was looked at.
func (c *call) tick() { c.walk(elemCost) }

var normalForms = map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}

func formArg(v value.Value) (norm.Form, error) {
	form, ok := normalForms[strings.ToUpper(v.Text())]
	if !ok {
		return 0, dberr.New(dberr.ArgumentError, "unknown normal form %s", brief(v)).WithToken("InvalidArgumentValue").
			WithHint("Use NFC, NFD, NFKC or NFKD.")
	}
	return form, nil
}

func init() {
	register(
		&Def{Name: "normalize", Category: "string", Description: "A string in a Unicode normal form: NFC (the default), NFD, NFKC or NFKD.", Sigs: sigs(sig(TString, TString, TString).opt(1)), Raises: true,
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if a[0].Kind() != value.String {
					return value.Value{}, wantKind("normalize", a[0], "a String")
				}
				form := norm.NFC
				if len(a) > 1 {
					var err error
					if form, err = formArg(a[1]); err != nil {
						return value.Value{}, err
					}
				}
				c.room(3 * len(a[0].Str()))
				c.walk(len(a[0].Str()))
				return c.str(form.String(a[0].Str())), nil
			}},
		// x IS NORMALIZED: null for what is no string.
		&Def{Name: "::normalized", Category: "string", Description: "Whether a string is in a Unicode normal form.", Sigs: sigs(sig(TBool, Any, TString)),
			kernel: func(c *call, a []value.Value) (value.Value, error) {
				if a[0].Kind() != value.String {
					return value.Value{}, nil
				}
				form, err := formArg(a[1])
				if err != nil {
					return value.Value{}, err
				}
				c.walk(len(a[0].Str()))
				return value.NewBool(form.IsNormalString(a[0].Str())), nil
			}},
	)
}

// normalForm tells a test for a normal form from other calls.
func normalForm(e *Func) (form string, ok bool) {
	if e.Def.Name != "::normalized" || len(e.Args) != 2 {
		return "", false
	}
	k, ok := e.Args[1].(*Const)
	if !ok {
		return "", false
	}
	return k.V.Text(), true
}
