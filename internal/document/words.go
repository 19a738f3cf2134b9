package document

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// These technical words stand in printed answers, and Meanings explains them.
const (
	WordQ        = "q"
	WordKHat     = "k̂"
	WordDraws    = "effective draws"
	WordRHat     = "R-hat"
	WordEvidence = "log evidence"

	WordBayesFactor = "log Bayes factor"

	WordZ = "z"
)

// Meanings lists the meanings of these words.
var Meanings = []struct{ Word, Meaning string }{
	{WordQ, "the trained approximation, before importance weights corrected it"},
	{WordKHat, "how heavy the tail of the importance weights is; averages over them hold up to 0.5, of very many draws up to 0.7"},
	{WordRHat, "how far chains differ from each other; 1 is best, 1.01 is good"},
	{WordDraws, "the number of independent draws that would tell as much"},
	{WordEvidence, "the log density of the table under a model, over all its parameters; a difference of 3 is strong"},
	{WordZ, "the error of a number in its stated standard errors"},
	{WordBayesFactor, "the log evidence of an order less that of order 0; a difference of 3 is strong"},
}

// Explained returns a line that explains the given words, or no line if there are no words.
func Explained(used ...string) (lines []string) {
	var parts []string
	for _, m := range Meanings {
		if slices.Contains(used, m.Word) {
			parts = append(parts, m.Word+": "+m.Meaning)
		}
	}
	if len(parts) > 0 {
		lines = append(lines, fmt.Sprintf("Words: %s.", strings.Join(parts, "; ")))
	}
	return lines
}

// PrintMeanings prints the explanation of the given words.
func PrintMeanings(w io.Writer, used ...string) {
	for _, line := range Explained(used...) {
		fmt.Fprintln(w, line)
	}
}
