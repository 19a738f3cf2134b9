package document

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/report"
)

// Short writes a number with four digits, and "" if the number is not known.
func Short[F ~float64](n F) string {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return ""
	}
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%.4g", float64(n))
}

// Interval writes the ends of an interval as [Short] does, and "" if one of them is not known.
func Interval[F ~float64](low, high F) string {
	if math.IsNaN(float64(low-high)) || math.IsInf(float64(low-high), 0) {
		return ""
	}
	return fmt.Sprintf("[%.4g, %.4g]", float64(low), float64(high))
}

// PlusMinus writes a number with the given decimals, followed by its standard error, if any.
func PlusMinus(value, se *report.Number, decimals int) string {
	if !Finite(value) {
		return "?"
	}
	text := fmt.Sprintf("%.*f", decimals, float64(*value))
	if Finite(se) && *se != 0 {
		text += fmt.Sprintf(" ± %.*f", decimals, float64(*se))
	}
	return text
}

// Finite reports whether n is not nil and finite.
func Finite[F ~float64](n *F) bool {
	return n != nil && !math.IsNaN(float64(*n)) && !math.IsInf(float64(*n), 0)
}

// Probability writes a probability with four decimals, and its standard error if it is not zero at
// these decimals. A probability that is not 0 or 1 is not written as 0 or 1, even if it would be
// rounded to them.
func Probability[F ~float64](p, se F) string {
	const least = 1e-4
	switch {
	case !Finite(&p):
		return "?"
	case p == 0 || p == 1:
		return fmt.Sprintf("%.0f", float64(p))
	case Finite(&se) && se >= least/2 && p < least:
		return fmt.Sprintf("%.0e ± %.0e", float64(p), float64(se))
	case Finite(&se) && se >= least/2:
		return fmt.Sprintf("%.4f ± %.4f", float64(p), float64(se))
	case p < least:
		return "<1e-4"
	case p > 1-least:
		return ">0.9999"
	}
	return fmt.Sprintf("%.4f", float64(p))
}

// InThree writes a probability as [Probability] does but with three decimals, for long tables.
func InThree(p, se report.Number) string {
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
	return PlusMinus(&p, &se, 3)
}

// AveragedInterval writes an interval of a number that may be exactly zero; the argument zero is
// the probability that it is. If both ends are zero, it writes zero with its probability.
func AveragedInterval(low, high, zero report.Number) string {
	if low == 0 && high == 0 && Finite(&zero) {
		return "0 (" + strings.TrimPrefix(Probability(zero, report.Number(math.NaN())), ">") + ")"
	}
	return Interval(low, high)
}

// TimeText writes a time in seconds, rounded to a readable precision.
func TimeText(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()+0.5))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// Counted writes a count with its noun in the right form; the argument one is the singular of the
// noun.
func Counted(n int, one string) string {
	return Grouped(n) + " " + english.Noun(n, one)
}

// Grouped writes a whole number with thin spaces between groups of three digits.
func Grouped(n int) string {
	s := strconv.Itoa(n)
	for at := len(s) - 3; at > 0 && len(s) > 4 && s[at-1] != '-'; at -= 3 {
		s = s[:at] + "\u202f" + s[at:]
	}
	return s
}
