package formula

import (
	"fmt"
	"strings"
	"unicode"
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

// lex splits a formula into tokens; the last token marks the end of the text.
func lex(text string) ([]token, error) {
	var tokens []token
	runes := []rune(text)
	for i := 0; i < len(runes); {
		start, r := i, runes[i]
		i++
		switch {
		case unicode.IsSpace(r):
		case r == '|' && i < len(runes) && runes[i] == '|':
			i++
			tokens = append(tokens, token{kind: doubleBar, position: start + 1})
		case strings.ContainsRune("~+-*:/|()^,=", r):
			tokens = append(tokens, token{kind: r, position: start + 1})
		case strings.ContainsRune("`\"'", r):
			kind, mistake := textToken, "got no closing quote or no text, want a label between quotes"
			if r == '`' {
				kind, mistake = nameToken, "got no closing backtick or no name, want a name between backticks"
			}
			for i < len(runes) && runes[i] != r {
				i++
			}
			if i == len(runes) || i == start+1 {
				return nil, &Error{text, start + 1, mistake}
			}
			tokens = append(tokens, token{kind, string(runes[start+1 : i]), start + 1})
			i++
		case nameRune(r, true):
			for i < len(runes) && nameRune(runes[i], false) {
				i++
			}
			tokens = append(tokens, token{nameToken, string(runes[start:i]), start + 1})
		case unicode.IsDigit(r):
			i = endOfNumber(runes, i)
			tokens = append(tokens, token{numberToken, string(runes[start:i]), start + 1})
		default:
			return nil, &Error{text, start + 1, fmt.Sprintf("%q has no meaning in a formula", r)}
		}
	}
	return append(tokens, token{kind: endToken, position: len(runes) + 1}), nil
}

// endOfNumber returns the index of the first character after a number, such as 12, 0.5 or 1e-3,
// that began before index i.
func endOfNumber(runes []rune, i int) int {
	digits := func(i int) int {
		for i < len(runes) && (unicode.IsDigit(runes[i]) || runes[i] == '.') {
			i++
		}
		return i
	}
	i = digits(i)
	if i < len(runes) && (runes[i] == 'e' || runes[i] == 'E') {
		from := i + 1
		if from < len(runes) && (runes[from] == '-' || runes[from] == '+') {
			from++
		}
		if end := digits(from); end > from {
			return end
		}
	}
	return i
}
