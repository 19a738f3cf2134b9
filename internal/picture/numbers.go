package picture

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Number writes a number with three significant digits and a true minus sign.
func Number(x float64) string { return Digits(x, 3) }

// Digits writes a number with n significant digits.
func Digits(x float64, digits int) string {
	if math.IsNaN(x) {
		return "unknown"
	}
	if math.IsInf(x, 0) {
		return strings.Replace(fmt.Sprintf("%g", x), "-", "−", 1)
	}
	size := math.Abs(x)
	var s string
	switch {
	case x == 0:
		return "0"
	case size >= 1e7 || size < 1e-4:
		s = fmt.Sprintf("%.*e", digits-1, x)
		mantissa, exponent, _ := strings.Cut(s, "e")
		power, _ := strconv.Atoi(exponent)
		s = mantissa + "e" + strconv.Itoa(power)
	default:
		decimals := max(0, digits-1-int(math.Floor(math.Log10(size))))
		s = strconv.FormatFloat(x, 'f', decimals, 64)
	}
	return strings.ReplaceAll(s, "-", "−")
}

// Probability writes a probability with two or three decimals. If these would show 0 or 1, it
// writes the distance from 0 or 1 instead.
func Probability(p float64) string {
	switch {
	case math.IsNaN(p):
		return "unknown"
	case p <= 0:
		return "0"
	case p >= 1:
		return "1"
	case p < 0.0001:
		return "<0.0001"
	case p < 0.001:
		return fmt.Sprintf("%.4f", p)
	case p > 0.9999:
		return ">0.9999"
	case p > 0.999:
		return fmt.Sprintf("%.4f", p)
	}
	return fmt.Sprintf("%.3f", p)
}
