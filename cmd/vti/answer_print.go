package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/report"
	"github.com/transdim/vti/varsel"
)

// printAnswer prints the answer of a run for a reader: the answer in a sentence, what it rests on,
// what was asked, and where everything is.
func (a *app) printAnswer(dir string, answer func(w io.Writer), asked func()) {
	if sentences, err := report.Answer(dir); err == nil && len(sentences) > 0 {
		// pages forbid breaks with it
		fmt.Fprintf(a.text, "%s\n\n", strings.ReplaceAll(sentences[0], "\u2060", ""))
	}
	answer(a.text)
	if asked != nil {
		fmt.Fprintln(a.text)
		asked()
	}
	printFiles(a.text, dir)
}

// printFiles says where everything is.
func printFiles(w io.Writer, dir string) {
	fmt.Fprintf(w, "%s holds\n", dir)
	files := &grid{}
	for _, file := range []struct{ name, pattern, what string }{
		{report.File, report.File, "all of this with pictures, for a browser"},
		{rundir.ResultFile, rundir.ResultFile, "the numbers, as --json prints them, and *.csv, the same as tables"},
		{"draws.parquet", "draws.parquet", "posterior draws"},
		{report.FiguresDir + "/", report.FiguresDir, "its pictures as SVG and PNG"},
	} {
		if found, err := filepath.Glob(filepath.Join(dir, file.pattern)); err == nil && len(found) > 0 {
			files.add(file.name, file.what)
		}
	}
	if len(files.rows) > 0 {
		files.rows[0][1] = "<" + files.rows[0][1]
	}
	files.print(w)
}

// probability writes a probability with four decimals and its standard error where that shows: one
// below or beyond what they show is not written as 0 or 1.
func probability(p, se varsel.Number) string {
	const least = 1e-4
	switch {
	case !finite(&p):
		return "?"
	case p == 0 || p == 1:
		return fmt.Sprintf("%.0f", float64(p))
	case finite(&se) && se >= least/2 && p < least:
		return fmt.Sprintf("%.0e ± %.0e", float64(p), float64(se))
	case finite(&se) && se >= least/2:
		return fmt.Sprintf("%.4f ± %.4f", float64(p), float64(se))
	case p < least:
		return "<1e-4"
	case p > 1-least:
		return ">0.9999"
	}
	return fmt.Sprintf("%.4f", float64(p))
}

// inThree is probability with three decimals, for tables of many.
func inThree(p, se varsel.Number) string {
	if p > 0 && p < 0.0005 && !(se >= 0.0005) {
		if p < 1e-4 {
			return "<1e-4"
		}
		return fmt.Sprintf("%.0e", float64(p))
	}
	if p == 0 || p == 1 {
		return fmt.Sprintf("%.0f", float64(p))
	}
	if se < 0.0005 {
		se = 0
	}
	return plusMinus(&p, &se, 3)
}

// averagedInterval is an interval of a number that is zero with a probability: that probability
// where the interval is nothing but zero.
func averagedInterval(low, high, zero varsel.Number) string {
	if low == 0 && high == 0 && finite(&zero) {
		return "0 (" + strings.TrimPrefix(probability(zero, varsel.Number(math.NaN())), ">") + ")"
	}
	return interval(low, high)
}

// Words that printed answers use without saying what they mean.
const (
	wordQ        = "q"
	wordKHat     = "k̂"
	wordDraws    = "effective draws"
	wordRHat     = "R-hat"
	wordEvidence = "log evidence"

	wordBayesFactor = "log Bayes factor"

	wordZ = "z"
)

// meanings are what the words mean, in the order of the list.
var meanings = []struct{ word, meaning string }{
	{wordQ, "the trained approximation, before importance weights corrected it"},
	{wordKHat, "how heavy the tail of the importance weights is; averages over them hold up to 0.5, of very many draws up to 0.7"},
	{wordRHat, "how far chains differ from each other; 1 is best, 1.01 is good"},
	{wordDraws, "the number of independent draws that would tell as much"},
	{wordEvidence, "the log density of the table under a model, over all its parameters; a difference of 3 is strong"},
	{wordZ, "the error of a number in its stated standard errors"},
	{wordBayesFactor, "the log evidence of an order less that of order 0; a difference of 3 is strong"},
}

// printMeanings explains the words that were used.
func printMeanings(w io.Writer, used ...string) {
	var parts []string
	for _, m := range meanings {
		for _, word := range used {
			if word == m.word {
				parts = append(parts, word+": "+m.meaning)
			}
		}
	}
	if len(parts) > 0 {
		fmt.Fprintf(w, "Words: %s.\n", strings.Join(parts, "; "))
	}
}
