// Package english writes counts of things in English: 1 row, 2 rows, 0 rows, rows 1, 2 and 7 more.
package english

import (
	"fmt"
	"strings"
)

// integer is any whole number that counts things.
type integer interface {
	~int | ~int32 | ~int64 | ~uint | ~uint64
}

// Count is a number of things: "1 row" and "2 rows" of "row".
func Count[N integer](n N, one string) string {
	return fmt.Sprintf("%d %s", n, Noun(n, one))
}

// Noun is the form of a noun for n things; its plural has to be regular.
func Noun[N integer](n N, one string) string {
	return Form(n, one, plural(one))
}

// Form is one of two forms of a word: the first for one thing, the second for any other number.
func Form[N integer](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// List joins the first most texts by commas and counts the rest: "a, b and 7 more".
func List(texts []string, most int) string {
	if more := len(texts) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(texts[:most], ", "), more)
	}
	return strings.Join(texts, ", ")
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
