package likelihood

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

func ExampleNewCategories() {
	c := NewCategories(CumulativeLogitKind, 3)
	categories := c.At([]float64{0, 0})
	p := make([]float64, c.Levels())
	for _, eta := range []float64{0, 2} {
		categories.Probabilities([]float64{eta}, p)
		fmt.Printf("%.3f\n", p)
	}
	// Output:
	// [0.293 0.354 0.354]
	// [0.053 0.145 0.802]
}

// eachOrdered calls f with both links, several numbers of categories, and parameters that make
// usual, narrow and empty categories.
func eachOrdered(t *testing.T, f func(t *testing.T, o *ordered, z []float64)) {
	random := stream.Rand(1, "ordered")
	for _, kind := range []Kind{CumulativeLogitKind, CumulativeProbitKind} {
		for _, levels := range []int{2, 3, 4, 10} {
			o := NewCategories(kind, levels).(*ordered)
			for _, shape := range []string{"zero", "usual", "usual", "narrow", "wide"} {
				z := make([]float64, levels-1)
				for k := range z {
					switch z[k] = random.NormFloat64(); {
					case shape == "zero":
						z[k] = 0
					case shape == "narrow" && k%2 == 1:
						z[k] = -5 - z[k]
					case shape == "wide":
						z[k] *= 3
					}
				}
				t.Run(fmt.Sprint(kind, levels, shape), func(t *testing.T) { f(t, o, z) })
			}
		}
	}
}

// Probabilities sum to one. They agree with differences of the distribution function F at the cut
// points, where these differences keep their digits.
func TestOrderedIsCumulative(t *testing.T) {
	eachOrdered(t, func(t *testing.T, o *ordered, z []float64) {
		c := o.cutsAt(z)
		again := o.Cut(c.Points)
		for k := 1; k < len(c.Points); k++ {
			require.Less(t, c.Points[k-1], c.Points[k])
		}
		p := make([]float64, o.levels)
		for _, eta := range []float64{-7, -0.4, 0, 1.3, 9} {
			c.Probabilities([]float64{eta}, p)
			require.InDelta(t, 1, floats.Sum(p), 1e-13)
			below, mean := 0.0, 0.0
			for k, share := range p {
				above := 1.0
				if k < len(c.Points) {
					above = math.Exp(o.cut.logCDF(c.Points[k] - eta))
				}
				require.InDelta(t, above-below, share, 2e-14, "%d of %v", k, c.Points)
				require.InDelta(t, share, math.Exp(again.LogKernelAt(float64(k), eta, 1)), 1e-13)
				below = above
				mean += float64(k) * share
			}
			require.InDelta(t, mean, c.Mean(eta, 1), 1e-12)
		}
		for k, v := range o.Sticks(c.Points) {
			require.InDelta(t, z[k], v, 1e-13/c.share(k)+1e-12)
		}
	})
}

// With η = 0 and standard normal z the probabilities are uniform on the simplex: means 1/K,
// variances (K−1)/(K²(K+1)), covariances −1/(K²(K+1)), within 5 standard errors.
func TestOrderedPriorIsDirichlet(t *testing.T) {
	const n, limit = 20000, 5
	random := stream.Rand(2, "dirichlet")
	for _, kind := range []Kind{CumulativeLogitKind, CumulativeProbitKind} {
		for _, levels := range []int{2, 3, 6} {
			o := NewCategories(kind, levels).(*ordered)
			shares := make([][]float64, levels)
			z, p := make([]float64, levels-1), make([]float64, levels)
			for range n {
				for k := range z {
					z[k] = random.NormFloat64()
				}
				o.cutsAt(z).Probabilities([]float64{0}, p)
				for k, share := range p {
					shares[k] = append(shares[k], share)
				}
			}
			k := float64(levels)
			variance := (k - 1) / (k * k * (k + 1))
			for a := range levels {
				mean := stat.Mean(shares[a], nil)
				require.InDelta(t, 1/k, mean, limit*math.Sqrt(variance/n))
				for b := range a + 1 {
					want := -1 / (k * k * (k + 1))
					if a == b {
						want = variance
					}
					products := make([]float64, n)
					for i := range products {
						products[i] = (shares[a][i] - 1/k) * (shares[b][i] - 1/k)
					}
					got, sd := stat.MeanStdDev(products, nil)
					require.InDelta(t, want, got, limit*sd/math.Sqrt(n), "%d %d", a, b)
				}
			}
		}
	}
}

// A category with a probability below 10⁻¹⁸ at η = 0 keeps its digits. The test compares p(k |
// η)/p(k | 0) with F′(c−η)/F′(c), where F′ is the density of the latent response and c the middle
// of the category.
func TestNarrowCategoriesKeepDigits(t *testing.T) {
	for _, kind := range []Kind{CumulativeLogitKind, CumulativeProbitKind} {
		o := NewCategories(kind, 4).(*ordered)
		for _, first := range []float64{-2, 0, 1.5} {
			c := o.cutsAt([]float64{first, -9, 0.3})
			middle := (c.Points[0] + c.Points[1]) / 2
			require.Less(t, c.share(1), 1e-18)
			for _, eta := range []float64{-3, 0.1, 2, 6} {
				want := math.Log(c.share(1)) + o.cut.logPDF(middle-eta) - o.cut.logPDF(middle)
				require.InDelta(t, want, c.LogKernelAt(1, eta, 1), 1e-12, "%s %v %v", kind, first, eta)
			}
		}
	}
	// far from every cut point, where log p is the log of a tail of F
	c := NewCategories(CumulativeLogitKind, 3).(*ordered).cutsAt([]float64{0, 0})
	require.InDelta(t, c.Points[0]-800, c.LogKernelAt(0, 800, 1), 1e-12)
	require.InDelta(t, c.LogKernelAt(0, 800, 1)+c.Points[1]-c.Points[0]+log1mExp(c.Points[0]-c.Points[1]), c.LogKernelAt(1, 800, 1), 1e-12)
	p := NewCategories(CumulativeProbitKind, 3).(*ordered).cutsAt([]float64{0, 0})
	require.InEpsilon(t, -math.Pow(40-p.Points[1], 2)/2-math.Log(40-p.Points[1])-halfLog2Pi, p.LogKernelAt(1, 40, 1), 1e-6)
}

// At the maximum of the likelihood that R found, the log likelihood and the probabilities agree
// with R, and the gradient is zero. The numbers are from R 4.2.2, MASS 7.3-58.2: polr(y ~ x, method
// = "logistic" or "probit", control = list(reltol = 1e-15)).
func TestOrderedOfR(t *testing.T) {
	x := []float64{-1.2, 0.3, 2.1, -0.4, 1.5, 0.8, -2.0, 0.1, -0.7, 1.1, 0.5, -1.6}
	y := []float64{0, 1, 3, 0, 3, 1, 0, 2, 2, 3, 0, 1}
	for kind, want := range map[Kind]struct {
		slope, logLik float64
		cuts, p       []float64
	}{
		CumulativeLogitKind: {
			1.387467940357976, -12.79043675071005, []float64{-1.0638871585599594, 0.3720603704750827, 1.5880584217838449},
			[]float64{0.1470885270306546, 0.2731794059834056, 0.2895138477461411, 0.2902182192397986},
		},
		CumulativeProbitKind: {
			0.8655746536095211, -12.57905151168437, []float64{-0.6223432054281313, 0.2436080400469165, 0.9964272068473403},
			[]float64{0.1456828148961538, 0.2792933357544952, 0.2885242292239514, 0.2864996201253995},
		},
	} {
		o := NewCategories(kind, 4).(*ordered)
		c, e := o.cutsAt(o.Sticks(want.cuts)), NewExpansion(o, len(y))
		eta := make([]float64, len(x))
		floats.AddScaled(eta, want.slope, x)
		require.InDelta(t, want.logLik, c.LogProbs(y, eta), 1e-12)
		p := make([]float64, 4)
		c.Probabilities([]float64{0.5 * want.slope}, p)
		require.InDeltaSlice(t, want.p, p, 1e-12)
		c.Expand(y, eta, e) // at the mode the gradient is zero
		require.InDelta(t, 0, floats.Dot(e.Slope[0], x), 1e-5)
		require.InDeltaSlice(t, make([]float64, 3), e.Gradient, 1e-5)
	}
}

// LogKernelSums and Newtons, which compute many rows at once, give the same as a loop over rows.
func TestOrderedRowsInSums(t *testing.T) {
	eachOrdered(t, func(t *testing.T, o *ordered, z []float64) {
		c := o.cutsAt(z)
		y, eta := rowsOf(o)
		twice := append(append([]float64(nil), eta...), eta...)
		slices.Reverse(twice[len(eta):])
		sums, slope, curvature := make([]float64, 2), make([]float64, len(y)), make([]float64, len(y))
		LogKernelSums(c, y, nil, twice, 1, sums)
		Newtons(c, y, nil, eta, 1, slope, curvature)
		want := make([]float64, 2)
		for i, v := range y {
			want[0] += c.LogKernelAt(v, eta[i], 1)
			want[1] += c.LogKernelAt(v, twice[len(y)+i], 1)
			a, b := c.NewtonAt(v, eta[i], 1)
			require.InDelta(t, a, slope[i], 1e-13)
			require.InDelta(t, b, curvature[i], 1e-13)
		}
		require.InDeltaSlice(t, want, sums, 1e-11*(1+math.Abs(want[0])))
	})
}

// share returns the probability of category k at η = 0.
func (c *Cuts) share(k int) float64 { return math.Exp(c.LogKernelAt(float64(k), 0, 1)) }

// rowsOf returns some rows of every category.
func rowsOf(o *ordered) (y, eta []float64) {
	for k := range o.levels {
		for _, predictor := range []float64{-4, -0.3, 0.9, 5} {
			y, eta = append(y, float64(k)), append(eta, predictor)
		}
	}
	return y, eta
}

// Derivatives on the host agree with finite differences, and quadratics with the curvature of
// BoundAt stay below log p.
func TestOrderedDerivatives(t *testing.T) {
	eachOrdered(t, func(t *testing.T, o *ordered, z []float64) {
		y, eta := rowsOf(o)
		const h = 1e-5
		c, e := o.cutsAt(z), NewExpansion(o, len(y))
		c.Expand(y, eta, e)
		for i, v := range y {
			slope, curvature := c.NewtonAt(v, eta[i], 1)
			require.Equal(t, slope, e.Slope[0][i])
			require.Equal(t, curvature, e.Curvature[0][i])
			value := func(eta float64) float64 { return c.LogKernelAt(v, eta, 1) }
			require.InDelta(t, (value(eta[i]+h)-value(eta[i]-h))/(2*h), slope, 1e-7*(1+math.Abs(slope)))
			up, _ := c.NewtonAt(v, eta[i]+h, 1)
			down, _ := c.NewtonAt(v, eta[i]-h, 1)
			require.InDelta(t, -(up-down)/(2*h), curvature, 1e-5)
			_, bound := c.BoundAt(v, eta[i], 1)
			for share := 0.0; share <= 1; share += 0.1 {
				step := share * slope / bound
				require.GreaterOrEqual(t, value(eta[i]+step), value(eta[i])+slope*step-bound*step*step/2-1e-9)
			}
		}
		shifted := func(j int, by float64) (*Cuts, *Expansion) {
			moved := append([]float64(nil), z...)
			moved[j] += by
			cuts, to := o.cutsAt(moved), NewExpansion(o, len(y))
			cuts.Expand(y, eta, to)
			return cuts, to
		}
		cuts, lost := len(z), 1e-6 // error from digits that rounding loses
		for k := range o.levels {
			lost = math.Max(lost, 1e-14/(c.share(k)*c.share(k)))
		}
		if lost > 1e-3 {
			return
		}
		for j := range z {
			above, high := shifted(j, h)
			below, low := shifted(j, -h)
			size := 1 + math.Abs(e.Information[j*cuts+j])
			require.InDelta(t, (above.LogProbs(y, eta)-below.LogProbs(y, eta))/(2*h), e.Gradient[j], lost*size)
			for i := range y {
				require.InDelta(t, -(high.Slope[0][i]-low.Slope[0][i])/(2*h), e.Cross[j][i], lost*size)
			}
			for k := range z {
				require.InDelta(t, -(high.Gradient[k]-low.Gradient[k])/(2*h), e.Information[j*cuts+k], 10*lost*size)
			}
		}
	})
}

// Log densities and gradients computed in graphs agree with the values on the host. In float32 they
// are finite even for extreme linear predictors and cut points.
func TestOrderedInGraphs(t *testing.T) {
	run := func(o *ordered, y, eta, z []float64, dtype dtypes.DType) [][]float64 {
		outputs := MustExecOnceN(testkit.Backend(t), func(eta, z *Node) []*Node {
			eta, z = ConvertDType(eta, dtype), ConvertDType(z, dtype)
			value := o.LogProb(y, InsertAxes(eta, 1), z)
			gradients := Gradient(ReduceAllSum(value), eta, z)
			all := []*Node{value, gradients[0], gradients[1]}
			for i := range all {
				all[i] = ConvertDType(all[i], dtypes.Float64)
			}
			return all
		}, [][]float64{eta}, [][]float64{z})
		values := make([][]float64, len(outputs))
		for i, output := range outputs {
			values[i] = tensors.MustCopyFlatData[float64](output)
		}
		return values
	}
	eachOrdered(t, func(t *testing.T, o *ordered, z []float64) {
		y, eta := rowsOf(o)
		c, e := o.cutsAt(z), NewExpansion(o, len(y))
		c.Expand(y, eta, e)
		values := run(o, y, eta, z, dtypes.Float64)
		for i, v := range y {
			narrowest := c.share(int(v)) // rounding errors of the difference of two tails grow like its inverse
			require.InDelta(t, c.LogKernelAt(v, eta[i], 1), values[0][i], 1e-13*(1+eta[i]*eta[i])/narrowest+1e-12, "y %v η %v", v, eta[i])
			require.InDelta(t, e.Slope[0][i], values[1][i], 1e-12/narrowest+1e-10)
		}
		for j := range z {
			lost := 1e-6 // error from digits that rounding loses
			for k := range o.levels {
				lost = math.Max(lost, 1e-14/(c.share(k)*c.share(k)))
			}
			require.InDelta(t, e.Gradient[j], values[2][j], lost*(1+math.Abs(e.Information[j*len(z)+j])))
		}
		far := make([]float64, len(z))
		for j := range far {
			far[j] = float64(30 * (1 - 2*(j%2)))
		}
		for i := range eta {
			eta[i] *= 2000
		}
		for _, coordinates := range [][]float64{z, far} {
			for _, values := range run(o, y, eta, coordinates, dtypes.Float32) {
				for _, v := range values {
					require.False(t, math.IsNaN(v) || math.IsInf(v, 0))
				}
			}
		}
		cuts := o.cutsAt(far)
		cuts.Expand(y, eta, e)
		for i, v := range y {
			a, b := cuts.NewtonAt(v, eta[i], 1)
			require.False(t, math.IsNaN(a+b) || math.IsInf(a+b, 0), "%v %v", v, eta[i])
		}
	})
}
