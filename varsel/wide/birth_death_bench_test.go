package wide

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel/design"
)

// BenchmarkSweep times a sweep of births and deaths of 4,000 predictors with 70 rows, where
// neighbours are correlated by 0.9 and five of them have effects.
func BenchmarkSweep(b *testing.B) {
	const n, p, size = 70, 4000, 10
	random := stream.Rand(1, "sweep")
	x, y := mat.NewDense(n, p+1, nil), make([]float64, n)
	for i := range n {
		row := x.RawRowView(i)
		row[0] = 1
		for j := range p {
			row[1+j] = random.NormFloat64()
			if j > 0 {
				row[1+j] = 0.9*row[j] + math.Sqrt(1-0.9*0.9)*row[1+j]
			}
		}
		y[i] = random.NormFloat64()
		for effect := range 5 {
			y[i] += row[500+700*effect]
		}
	}
	search := searchOf(design.OfColumns(x, y, likelihood.GaussianKind), 0)
	search.Prior.MaxSize = size
	process := search.Births(nil, nil, nil)
	for _, power := range []float64{1, 0.8} {
		b.Run(fmt.Sprintf("power %g", power), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			s, err := process.Prior(random)
			require.NoError(b, err)
			for range 100 {
				s.Sweep(power, random)
			}
			jumps := 0
			for b.Loop() {
				s.Sweep(power, random)
				jumps += len(s.(*gaussianState).members)
			}
			b.ReportMetric(float64(jumps)/float64(b.N), "members")
		})
	}
}
