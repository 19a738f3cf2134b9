package vti_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// plainWords gives, for words that only this project used, the words of the field to be used
// instead (the keys).
var plainWords = map[string]*regexp.Regexp{
	"reports whether":                    regexp.MustCompile(`(?i)\btells? whether\b`),
	"is called with":                     regexp.MustCompile(`(?i)\bhears? (of|what)\b`),
	"importance sampler":                 regexp.MustCompile(`(?i)\bweigher`),
	"Laplace approximation":              regexp.MustCompile(`(?i)\bosculation`),
	"pilot run, warm start":              regexp.MustCompile(`(?i)\b(first|cheap) looks?\b|\blook at every model`),
	"k-th":                               regexp.MustCompile(`(?i)\bmanieth`),
	"to within their Monte Carlo errors": regexp.MustCompile(`(?i)\bas exactly as so many`),
	"unknown …":                          regexp.MustCompile(`\bis none"`),
}

// TestWordsAreThoseOfTheField keeps words that only this project used out of the sources.
func TestWordsAreThoseOfTheField(t *testing.T) {
	for _, path := range goFiles(t) {
		if path == "words_test.go" {
			continue
		}
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		for instead, word := range plainWords {
			for _, match := range word.FindAllIndex(source, -1) {
				t.Errorf("%s: got %q, want %q", path, source[match[0]:match[1]], instead)
			}
		}
	}
}

var updateWords = flag.Bool("update-words", false, "lower the counts of testdata/words.txt to the present ones")

// pronouns holds patterns of words in comments whose noun a reader would have to look for. goal is
// the number of matches per thousand words that is always allowed.
var pronouns = [3]struct {
	name    string
	pattern *regexp.Regexp
	goal    float64
}{
	{"that of, those of", regexp.MustCompile(`(?i)\b(that|those) of\b`), 0.5},
	{"what", regexp.MustCompile(`(?i)\bwhat\b`), 1},
	{"so many, as many", regexp.MustCompile(`(?i)\b(so|as) many\b`), 0.5},
}

// wordCount holds the number of words and of matches of each of pronouns in the comments of a
// folder.
type wordCount struct {
	words    int
	pronouns [len(pronouns)]int
}

// countWords counts words and pronouns in comment lines other than directives.
func countWords(source string) wordCount {
	var text strings.Builder
	for line := range strings.Lines(source) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "//")
		if ok && !strings.HasPrefix(comment, "go:") {
			text.WriteString(comment + " ")
		}
	}
	count := wordCount{words: len(strings.Fields(text.String()))}
	for i, pronoun := range pronouns {
		count.pronouns[i] = len(pronoun.pattern.FindAllString(text.String(), -1))
	}
	return count
}

// allowed returns the allowed number of matches of each of pronouns in a folder with the number of
// words of c. It is the larger of the goal and listed, the numbers of the folder in
// testdata/words.txt.
func (c wordCount) allowed(listed [len(pronouns)]int) [len(pronouns)]int {
	for i, pronoun := range pronouns {
		listed[i] = max(listed[i], int(pronoun.goal*float64(c.words)/1000+1))
	}
	return listed
}

// readWords reads testdata/words.txt: a folder and the three numbers allowed on each line.
func readWords(t *testing.T) map[string][len(pronouns)]int {
	content, err := os.ReadFile("testdata/words.txt")
	require.NoError(t, err)
	listed := map[string][len(pronouns)]int{}
	for line := range strings.Lines(string(content)) {
		var folder string
		var numbers [len(pronouns)]int
		_, err := fmt.Sscan(line, &folder, &numbers[0], &numbers[1], &numbers[2])
		require.NoErrorf(t, err, "testdata/words.txt: %q", line)
		listed[folder] = numbers
	}
	return listed
}

// TestWordsRatchet fails if the number of pronouns in the comments of a folder increases beyond the
// number that is allowed.
func TestWordsRatchet(t *testing.T) {
	counts := map[string]wordCount{}
	for _, path := range goFiles(t) {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		folder, count := filepath.Dir(path), countWords(string(source))
		sum := counts[folder]
		sum.words += count.words
		for i, n := range count.pronouns {
			sum.pronouns[i] += n
		}
		counts[folder] = sum
	}
	listed := readWords(t)
	var lowered strings.Builder
	for _, folder := range slices.Sorted(maps.Keys(counts)) {
		count := counts[folder]
		allowed := count.allowed(listed[folder])
		over := false
		for i, n := range count.pronouns {
			if n > allowed[i] {
				t.Errorf("comments of %s: %d times %q, %d allowed: write the noun", folder, n, pronouns[i].name, allowed[i])
			}
			over = over || n > count.allowed([len(pronouns)]int{})[i]
			allowed[i] = min(n, allowed[i])
		}
		if over {
			fmt.Fprintln(&lowered, folder, allowed[0], allowed[1], allowed[2])
		}
	}
	if *updateWords && !t.Failed() {
		require.NoError(t, os.WriteFile("testdata/words.txt", []byte(lowered.String()), 0o644))
	}
}

func TestCountWords(t *testing.T) {
	got := countWords("package p\n\n// Sum is that of what\n\t// THOSE of as many; somewhat so.\n//go:build what\nx := 1 // what\n")
	require.Equal(t, wordCount{words: 11, pronouns: [3]int{2, 1, 1}}, got)
	require.Equal(t, [3]int{5, 3, 2}, wordCount{words: 2000}.allowed([3]int{5, 2, 0}))
}
