package vti_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// plainWords are words of the field, for those that only this project used.
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

// TestWordsAreThoseOfTheField keeps words that a stranger would have to look up out of the sources.
func TestWordsAreThoseOfTheField(t *testing.T) {
	for _, path := range goFiles(t) {
		if path == "words_test.go" {
			continue
		}
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		for instead, word := range plainWords {
			for _, at := range word.FindAllIndex(source, -1) {
				t.Errorf("%s: got %q, want %q", path, source[at[0]:at[1]], instead)
			}
		}
	}
}
