package varsel

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// SlabKind names a prior of the coefficients that are in a model.
type SlabKind int

const (
	// NormalSlab: independent N(0, SlabScale²) coefficients.
	NormalSlab SlabKind = iota
	// FixedG: Zellner's g-prior, β ~ N(0, g σ² (X'X)⁻¹), for a given g.
	FixedG
	// ZellnerSiow: g ~ InvGamma(½, n/2), which makes β multivariate Cauchy (Zellner and Siow
	// 1980).
	ZellnerSiow
	// HyperG: p(g) = ½ (1 + g)^(−3/2), a = 3 of Liang et al. (2008).
	HyperG
	// HyperGN: p(g) = (1/2n) (1 + g/n)^(−3/2), a = 3 of Liang et al. (2008).
	HyperGN
)

// Slab is the prior of the coefficients of the predictors that are in a model. All but the normal
// one are mixtures over g of g-priors, where the coefficients that are in every model, the
// intercept among them, and log σ have flat priors, and X is orthogonal to their columns.
// The zero value is the normal slab.
type Slab struct {
	Kind SlabKind
	// G is g of FixedG; the largest of it, n with Rows, and the square of the number of columns
	// that can be selected with Columns.
	G             float64
	Rows, Columns bool
}

// slabNames are the texts that ParseSlab reads in addition to g:NUMBER.
var slabNames = []struct {
	name string
	slab Slab
}{
	{"normal", Slab{}}, {"g:n", Slab{Kind: FixedG, Rows: true}}, {"g:p^2", Slab{Kind: FixedG, Columns: true}},
	{"g:max(n,p^2)", Slab{Kind: FixedG, Rows: true, Columns: true}}, {"zellner-siow", Slab{Kind: ZellnerSiow}},
	{"hyper-g", Slab{Kind: HyperG}}, {"hyper-g/n", Slab{Kind: HyperGN}},
}

// ParseSlab reads normal, g:NUMBER, g:n, g:p^2, g:max(n,p^2), zellner-siow, hyper-g, hyper-g/n, or
// unit-information, which is g:n (Kass and Wasserman 1995).
func ParseSlab(s string) (Slab, error) {
	if s == "unit-information" {
		s = "g:n"
	}
	for _, known := range slabNames {
		if s == known.name {
			return known.slab, nil
		}
	}
	if text, ok := strings.CutPrefix(s, "g:"); ok {
		if g, err := strconv.ParseFloat(text, 64); err == nil && g > 0 && !math.IsInf(g, 1) {
			return Slab{Kind: FixedG, G: g}, nil
		}
	}
	return Slab{}, fmt.Errorf("unknown slab %q; want normal, g:n, g:p^2, g:max(n,p^2), g:NUMBER (positive), unit-information, zellner-siow, hyper-g or hyper-g/n", s)
}

// String returns the text that ParseSlab reads.
func (s Slab) String() string {
	for _, known := range slabNames {
		if s == known.slab {
			return known.name
		}
	}
	return fmt.Sprintf("g:%v", s.G)
}

// MarshalText writes what ParseSlab reads.
func (s Slab) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *Slab) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSlab(string(text))
	return err
}

// text describes the prior, of so many rows and columns that can be selected.
func (s Slab) text(rows, columns int) string {
	switch s.Kind {
	case FixedG:
		return fmt.Sprintf("N(0, g σ² (X'X)⁻¹), g = %.6g", s.fixed(rows, columns))
	case ZellnerSiow:
		return "N(0, g σ² (X'X)⁻¹), g ~ InvGamma(1/2, n/2) (Zellner and Siow)"
	case HyperG:
		return "N(0, g σ² (X'X)⁻¹), p(g) = (1 + g)^(−3/2) / 2 (hyper-g)"
	case HyperGN:
		return "N(0, g σ² (X'X)⁻¹), p(g) = (1 + g/n)^(−3/2) / 2n (hyper-g/n)"
	}
	return "normal"
}

// fixed is g of FixedG.
func (s Slab) fixed(rows, columns int) float64 {
	g := s.G
	if s.Rows {
		g = math.Max(g, float64(rows))
	}
	if s.Columns {
		g = math.Max(g, float64(columns)*float64(columns))
	}
	return g
}

// The range of log g, which leaves e^−30 of the priors at either end.
const leastLogG, mostLogG = -30, 60

// nodes are values of log g with the logarithms of their weights, whose sums with a function that
// is smooth on the scale of log g are its prior expectation: the trapezoid rule, in steps that
// resolve the posterior of log g given a model of so many columns, of width √(2/size) or more.
func (s Slab) nodes(rows, columns, size int) (logG, logWeight []float64) {
	if s.Kind == FixedG {
		return []float64{math.Log(s.fixed(rows, columns))}, []float64{0}
	}
	if size == 0 { // the model without predictors has no g
		return []float64{0}, []float64{0}
	}
	n := float64(rows)
	step := math.Min(0.25, 0.35/math.Sqrt(float64(size)+2))
	for x := float64(leastLogG); x <= mostLogG; x += step {
		log := x + math.Log(step) // of g dx
		switch s.Kind {
		case ZellnerSiow:
			log += 0.5*math.Log(n/2/math.Pi) - 1.5*x - n/2*math.Exp(-x)
		case HyperG:
			log += -math.Ln2 - 1.5*math.Log1p(math.Exp(x))
		case HyperGN:
			log += -math.Log(2*n) - 1.5*math.Log1p(math.Exp(x)/n)
		}
		logG, logWeight = append(logG, x), append(logWeight, log)
	}
	return logG, logWeight
}
