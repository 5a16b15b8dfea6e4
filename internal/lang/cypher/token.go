package cypher

// Kind is the kind of a token.
type Kind uint8

const (
	EOF       Kind = iota
	Name           // identifier or keyword, also in backticks
	Integer        // digits, hexadecimal and octal too, without a sign
	Float          // with a dot or an exponent, without a sign
	String         // in either kind of quotes
	Parameter      // $name, $1, $`a name`
	Dollar         // a lone $, before ( in a dynamic label
	LParen
	RParen
	LBracket
	RBracket
	LBrace
	RBrace
	Comma
	Semicolon
	Dot
	DotDot
	Colon
	DoubleColon
	Bar
	DoubleBar
	Amp
	Bang
	Percent
	Plus
	PlusEq
	Minus
	Star
	Slash
	Caret
	Eq
	RegexEq // =~
	NotEq   // <>; != too
	Lt
	LtEq
	Gt
	GtEq
)

// Token is a piece of the text. Text[Start:End] is its source.
type Token struct {
	Kind    Kind
	Keyword Keyword // of a Name without backticks that is a word of the grammar
	Quoted  bool    // a Name in backticks
	Start   int32
	End     int32
	Match   int32 // index of the closing token of an opening bracket, and the other way; -1 elsewhere
}

// Keyword is a word that the parser looks for often; the rare ones are compared by text. None is reserved: each may
// name a label, a key, an alias and, where the grammar leaves no doubt, a variable.
type Keyword uint8

const (
	NotKeyword Keyword = iota
	kwALL
	kwALLSHORTESTPATHS
	kwAND
	kwANY
	kwAS
	kwASC
	kwASCENDING
	kwBY
	kwCALL
	kwCASE
	kwCOLLECT
	kwCONTAINS
	kwCOUNT
	kwCREATE
	kwCYPHER
	kwDELETE
	kwDESC
	kwDESCENDING
	kwDETACH
	kwDISTINCT
	kwDROP
	kwELSE
	kwEND
	kwENDS
	kwEXISTS
	kwEXPLAIN
	kwFALSE
	kwFINISH
	kwFOREACH
	kwFROM
	kwIN
	kwIS
	kwLIMIT
	kwLOAD
	kwMATCH
	kwMERGE
	kwNODETACH
	kwNONE
	kwNOT
	kwNULL
	kwOFFSET
	kwON
	kwOPTIONAL
	kwOR
	kwORDER
	kwPROFILE
	kwREDUCE
	kwREMOVE
	kwRETURN
	kwSET
	kwSHORTEST
	kwSHORTESTPATH
	kwSHOW
	kwSINGLE
	kwSKIP
	kwSTARTS
	kwTERMINATE
	kwTHEN
	kwTRUE
	kwUNION
	kwUNWIND
	kwUSE
	kwUSING
	kwWHEN
	kwWHERE
	kwWITH
	kwXOR
	kwYIELD
)

var keywordText = [...]string{
	kwALL: "ALL", kwALLSHORTESTPATHS: "ALLSHORTESTPATHS", kwAND: "AND", kwANY: "ANY", kwAS: "AS", kwASC: "ASC",
	kwASCENDING: "ASCENDING", kwBY: "BY", kwCALL: "CALL", kwCASE: "CASE", kwCOLLECT: "COLLECT", kwCONTAINS: "CONTAINS",
	kwCOUNT: "COUNT", kwCREATE: "CREATE", kwCYPHER: "CYPHER", kwDELETE: "DELETE", kwDESC: "DESC",
	kwDESCENDING: "DESCENDING", kwDETACH: "DETACH", kwDISTINCT: "DISTINCT", kwDROP: "DROP", kwELSE: "ELSE", kwEND: "END",
	kwENDS: "ENDS", kwEXISTS: "EXISTS", kwEXPLAIN: "EXPLAIN", kwFALSE: "FALSE", kwFINISH: "FINISH",
	kwFOREACH: "FOREACH", kwFROM: "FROM", kwIN: "IN", kwIS: "IS", kwLIMIT: "LIMIT", kwLOAD: "LOAD", kwMATCH: "MATCH",
	kwMERGE: "MERGE", kwNODETACH: "NODETACH", kwNONE: "NONE", kwNOT: "NOT", kwNULL: "NULL", kwOFFSET: "OFFSET", kwON: "ON",
	kwOPTIONAL: "OPTIONAL", kwOR: "OR", kwORDER: "ORDER", kwPROFILE: "PROFILE", kwREDUCE: "REDUCE", kwREMOVE: "REMOVE",
	kwRETURN: "RETURN", kwSET: "SET", kwSHORTEST: "SHORTEST", kwSHORTESTPATH: "SHORTESTPATH", kwSHOW: "SHOW",
	kwSINGLE: "SINGLE", kwSKIP: "SKIP", kwSTARTS: "STARTS", kwTERMINATE: "TERMINATE", kwTHEN: "THEN", kwTRUE: "TRUE",
	kwUNION: "UNION", kwUNWIND: "UNWIND", kwUSE: "USE", kwUSING: "USING", kwWHEN: "WHEN", kwWHERE: "WHERE",
	kwWITH: "WITH", kwXOR: "XOR", kwYIELD: "YIELD",
}

// String returns the keyword in upper case.
func (k Keyword) String() string { return keywordText[k] }

const maxKeywordLen = len("ALLSHORTESTPATHS")

// keywords are the words by length and first letter: at most four of each.
var keywords = func() (m [maxKeywordLen + 1][26][]Keyword) {
	for k, text := range keywordText {
		if text != "" {
			at := &m[len(text)][text[0]-'A']
			*at = append(*at, Keyword(k))
		}
	}
	return m
}()

func lookupKeyword(s string) Keyword {
	if len(s) < 2 || len(s) > maxKeywordLen {
		return NotKeyword
	}
	first := s[0]&^0x20 - 'A'
	if first >= 26 {
		return NotKeyword
	}
next:
	for _, k := range keywords[len(s)][first] {
		text := keywordText[k]
		for i := 1; i < len(s); i++ {
			if s[i] != text[i] && (s[i] != text[i]|0x20 || text[i] < 'A') {
				continue next
			}
		}
		return k
	}
	return NotKeyword
}

var punctText = [...]string{LParen: "(", RParen: ")", LBracket: "[", RBracket: "]", LBrace: "{", RBrace: "}", Comma: ",",
	Semicolon: ";", Dot: ".", DotDot: "..", Colon: ":", DoubleColon: "::", Bar: "|", DoubleBar: "||", Amp: "&", Bang: "!",
	Percent: "%", Plus: "+", PlusEq: "+=", Minus: "-", Star: "*", Slash: "/", Caret: "^", Eq: "=", RegexEq: "=~",
	NotEq: "<>", Lt: "<", LtEq: "<=", Gt: ">", GtEq: ">=", Dollar: "$"}
