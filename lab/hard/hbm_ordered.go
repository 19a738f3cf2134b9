package hard

import (
	"math"

	"github.com/transdim/vti/likelihood"
)

// gapRow returns the density of one of three ordered categories, given the gap between the two cut
// points. The predictor η contains the intercept β₀, and the cut points are −β₀ and gap − β₀: P(y =
// 0) = F(−η) and P(y ≤ 1) = F(gap − η), where F is the inverse link.
func gapRow(kind likelihood.Kind) shapedRow {
	return func(gap float64) rowDensity {
		return byDifferences(func(y, eta float64) float64 {
			a, b := -eta, gap-eta
			switch y {
			case 0:
				return logTail(kind, a)
			case 2:
				return logTail(kind, -b)
			}
			if a+b > 0 { // use the tail in which both terms are small: F(b) − F(a) = F(−a) − F(−b)
				a, b = -b, -a
			}
			high := logTail(kind, b)
			return high + math.Log(-math.Expm1(logTail(kind, a)-high))
		})
	}
}

// levelOf returns the joint prior density of the intercept −c₁ and gap = c₂ − c₁, where c₁ and c₂
// are the cut points, as a function of the intercept. The probabilities of the categories at the
// mean of x have a Dirichlet(1, 1, 1) prior. The caller adds log gap, to integrate over log gap.
func levelOf(kind likelihood.Kind, gap float64) rowDensity {
	logDensity := func(cut float64) float64 { // log F′
		if kind == likelihood.CumulativeProbitKind {
			return logNormal(cut, 0, 1)
		}
		return logTail(kind, cut) + logTail(kind, -cut)
	}
	return byDifferences(func(_, level float64) float64 { return math.Ln2 + logDensity(-level) + logDensity(gap-level) })
}

// byDifferences returns a density with the given log density, whose slope and curvature are
// approximated by finite differences.
func byDifferences(value func(y, eta float64) float64) rowDensity {
	return func(y, eta float64) (centre, slope, curvature float64) {
		const step, least = 1e-4, 1e-6
		centre, below, above := value(y, eta), value(y, eta-step), value(y, eta+step)
		return centre, (above - below) / (2 * step), math.Max((2*centre-above-below)/(step*step), least)
	}
}

// logTail returns log F(x) for the inverse link F of kind. Far in the tail of a normal
// distribution, it uses an asymptotic series.
func logTail(kind likelihood.Kind, x float64) float64 {
	switch s := 1 / (x * x); {
	case kind == likelihood.CumulativeLogitKind:
		return math.Min(x, 0) - math.Log1p(math.Exp(-math.Abs(x)))
	case x < -30:
		return -x*x/2 - halfLog2Pi - math.Log(-x) + math.Log1p(-s*(1-s*(3-15*s)))
	}
	return math.Log(math.Erfc(-x/math.Sqrt2) / 2)
}
