package console

import (
	"fmt"
	"math"
	"strings"

	"github.com/transdim/vti/internal/report"
)

// Short writes a number with four digits; "" when there is none.
func Short(n report.Number) string {
	if !Finite(&n) {
		return ""
	}
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%.4g", float64(n))
}

func Interval(low, high report.Number) string {
	if !Finite(&low) || !Finite(&high) {
		return ""
	}
	return fmt.Sprintf("[%.4g, %.4g]", float64(low), float64(high))
}

// PlusMinus writes a number with its standard error, both with the given decimals; an exact number
// is alone.
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

func Finite(n *report.Number) bool {
	return n != nil && !math.IsNaN(float64(*n)) && !math.IsInf(float64(*n), 0)
}

// Probability writes a probability with four decimals and its standard error where that shows: one
// below or beyond what they show is not written as 0 or 1.
func Probability(p, se report.Number) string {
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

// InThree is probability with three decimals, for tables of many.
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

// AveragedInterval is an interval of a number that is zero with a probability: that probability
// where the interval is nothing but zero.
func AveragedInterval(low, high, zero report.Number) string {
	if low == 0 && high == 0 && Finite(&zero) {
		return "0 (" + strings.TrimPrefix(Probability(zero, report.Number(math.NaN())), ">") + ")"
	}
	return Interval(low, high)
}
