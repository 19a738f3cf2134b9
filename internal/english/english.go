// Package english writes counts of things in English: 1 row, 2 rows, 0 rows, rows 1, 2 and 7 more.
package english

import (
	"fmt"
	"strings"
)

// integer is a type of whole numbers.
type integer interface {
	~int | ~int32 | ~int64 | ~uint | ~uint64
}

// Count returns a number with its noun: "1 row" or "2 rows" for the noun "row".
func Count[N integer](n N, one string) string {
	return fmt.Sprintf("%d %s", n, Noun(n, one))
}

// Noun returns the form of a noun for n things. The plural of the noun has to be regular.
func Noun[N integer](n N, one string) string {
	return Form(n, one, plural(one))
}

// Form returns the text one if n is 1, and otherwise the text many.
func Form[N integer](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// List joins texts by commas. In a list longer than the argument most, it counts the texts after
// the first ones: "a, b and 7 more".
func List(texts []string, most int) string {
	if more := len(texts) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(texts[:most], ", "), more)
	}
	return strings.Join(texts, ", ")
}

// Join joins texts by commas, with a word such as "or" before the last: "a, b or c".
func Join(texts []string, word string) string {
	last := len(texts) - 1
	if last < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " " + word + " " + texts[last]
}

func plural(noun string) string {
	before, isY := strings.CutSuffix(noun, "y")
	switch {
	case isY && !strings.ContainsAny(noun[max(0, len(before)-1):], "aeiou"):
		return before + "ies"
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "ch"):
		return noun + "es"
	}
	return noun + "s"
}
