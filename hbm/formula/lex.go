package formula

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/transdim/vti/internal/apply"
)

// token is a word or sign of a formula.
type token struct {
	kind     rune   // the sign itself, or one of the kinds below
	text     string // text of a name or number
	position int    // in characters from 1
}

const (
	nameToken   rune = 'a'
	numberToken rune = '0'
	textToken   rune = '"' // in quotes
	doubleBar   rune = 'I'
	endToken    rune = 0
	// Of the following kinds there are no tokens: a sign is of its own kind.
	space rune = ' '
	sign  rune = 's'
)

// String names the token in an error.
func (t token) String() string {
	switch t.kind {
	case endToken:
		return "the end"
	case doubleBar:
		return `"||"`
	case nameToken, numberToken:
		return `"` + t.text + `"`
	case textToken:
		return "the text " + quotedText(t.text)
	}
	return `"` + string(t.kind) + `"`
}

// Error is a mistake in a formula, with its position.
type Error struct {
	// Text is the formula.
	Text string
	// Position is the index of the character at which the error begins, from 1.
	Position int
	// Message says which text the parser found and which it expected.
	Message string
}

// Error shows the formula with a mark below the character at which the error begins.
func (e *Error) Error() string {
	return fmt.Sprintf("formula, character %d: %s\n  %s\n  %s^", e.Position, e.Message, e.Text, strings.Repeat(" ", e.Position-1))
}

type tokenKind struct {
	kind rune
	form string
}

// nameForm is the form of a name that needs no backticks, as a regular expression.
const nameForm = `[\pL_.][\pL\p{Nd}_.]*`

var plainName = regexp.MustCompile("^" + nameForm + "$")

// tokenForms are the forms of tokens, as regular expressions in the order in which they are tried.
// The part of a form in parentheses is the text of the token.
var tokenForms = []tokenKind{
	{space, `[\s\v\x{85}\pZ]+()`},
	{doubleBar, `\|\|()`},
	{sign, `([-~+*:/|()^,=])`},
	{nameToken, "`([^`]+)`"},
	{textToken, `"([^"]+)"`},
	{textToken, `'([^']+)'`},
	{nameToken, "(" + nameForm + ")"},
	{numberToken, `(\p{Nd}[\p{Nd}.]*(?:[eE][-+]?[\p{Nd}.]+)?)`}, // such as 12, 0.5 or 1e-3
}

var tokenForm = regexp.MustCompile("^(?:" + strings.Join(apply.To(tokenForms, func(t tokenKind) string { return t.form }), "|") + ")")

// lex splits a formula into tokens; the last token marks the end of the text.
func lex(text string) ([]token, error) {
	var tokens []token
	position := 1
	for rest := text; rest != ""; {
		places := tokenForm.FindStringSubmatchIndex(rest)
		if places == nil {
			switch r, _ := utf8.DecodeRuneInString(rest); r {
			case '`':
				return nil, &Error{text, position, "got no closing backtick or no name, want a name between backticks"}
			case '"', '\'':
				return nil, &Error{text, position, "got no closing quote or no text, want a label between quotes"}
			default:
				return nil, &Error{text, position, fmt.Sprintf("%q has no meaning in a formula", r)}
			}
		}
		for k, f := range tokenForms {
			if from := places[2+2*k]; from >= 0 && f.kind == sign {
				tokens = append(tokens, token{kind: rune(rest[from]), position: position})
			} else if from >= 0 && f.kind != space {
				tokens = append(tokens, token{f.kind, rest[from:places[3+2*k]], position})
			}
		}
		position += utf8.RuneCountInString(rest[:places[1]])
		rest = rest[places[1]:]
	}
	return append(tokens, token{kind: endToken, position: position}), nil
}
