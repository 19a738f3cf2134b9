package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/picture"
)

// mostNamed is the largest number of names in a list in a sentence.
const mostNamed = 6

// list joins names in a sentence, as in "a, b and c". Of more than mostNamed names it gives only
// some.
func list(names []string) string {
	switch n := len(names); {
	case n == 0:
		return "none"
	case n > mostNamed:
		return english.List(names, mostNamed-1)
	}
	return english.Join(names, "and")
}

// plusMinus formats a number x with its standard error se, unless se is zero or unknown.
func plusMinus(x, se float64) string {
	if !(se > 0) {
		return picture.Number(x)
	}
	decimals := int(math.Max(0, 1-math.Floor(math.Log10(se))))
	return strings.ReplaceAll(fmt.Sprintf("%.*f ± %.*f", decimals, x, decimals, se), "-", "−")
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
