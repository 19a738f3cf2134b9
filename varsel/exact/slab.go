package exact

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// SlabKind is a kind of prior of the coefficients in a model.
type SlabKind int

const (
	// NormalSlab has independent N(0, SlabScale²) coefficients.
	NormalSlab SlabKind = iota
	// FixedG is Zellner's g-prior, β ~ N(0, g σ² (X'X)⁻¹), for a given g.
	FixedG
	// ZellnerSiow has g ~ InvGamma(½, n/2) for n rows, so that β is multivariate Cauchy (Zellner
	// and Siow 1980).
	ZellnerSiow
	// HyperG has p(g) = ½ (1 + g)^(−3/2), which is a = 3 of Liang et al. (2008).
	HyperG
	// HyperGN has p(g) = (1/2n) (1 + g/n)^(−3/2), which is a = 3 of Liang et al. (2008).
	HyperGN
)

// Slab is the prior of the coefficients of the predictors in a model. All kinds but the normal one
// are mixtures of g-priors over g. With them, log σ and the coefficients in every model, such as
// the intercept, have flat priors, and X in the g-prior holds the parts of the columns that are
// orthogonal to the columns in every model. The zero value is the normal slab.
type Slab struct {
	// Kind is the kind of the prior.
	Kind SlabKind
	// G, Rows and Columns set g of FixedG to the largest of: G; the number of rows, if Rows is set;
	// and the square of the number of selectable columns, if Columns is set.
	G             float64
	Rows, Columns bool
}

// slabNames are the texts, besides g:NUMBER, that ParseSlab reads.
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

// MarshalText writes the text that ParseSlab reads.
func (s Slab) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the text that MarshalText writes.
func (s *Slab) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSlab(string(text))
	return err
}

// Text describes the prior for the given numbers of rows and selectable columns.
func (s Slab) Text(rows, columns int) string {
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

// fixed returns g of FixedG.
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

// leastLogG and mostLogG bound the search for the modes of log g, and logGStep is its step. The
// posterior changes over distances of 1 or more, so that no mode is hidden between two steps.
const leastLogG, mostLogG, logGStep = -30, 60, 0.5

// logPrior returns the log prior density of x = log g, for n rows.
func (s Slab) logPrior(x, n float64) float64 {
	switch s.Kind {
	case ZellnerSiow:
		return 0.5*math.Log(n/2/math.Pi) - 0.5*x - n/2*math.Exp(-x)
	case HyperG:
		return x - math.Ln2 - 1.5*math.Log1p(math.Exp(x))
	}
	return x - math.Log(2*n) - 1.5*math.Log1p(math.Exp(x)/n)
}
