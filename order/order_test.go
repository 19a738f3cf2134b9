package order

import (
	gocontext "context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/table"
)

func problemOf(t *testing.T, options Options, y []float64) *Problem {
	t.Helper()
	times := make([]float64, len(y))
	for i := range times {
		times[i] = float64(i)
	}
	options.Value, options.Time = "y", "t"
	data, err := table.New("memory", table.Numbers("t", times), table.Numbers("y", y))
	require.NoError(t, err)
	p, err := NewProblem(data, options)
	require.NoError(t, err)
	return p
}

// The log Bayes factor is that of numerical integration over σ² of normal densities: with the
// intercept integrated out, y has covariance σ²(I + g X(XᵀX)⁻¹Xᵀ) within the space orthogonal to
// constants.
func TestBayesFactorIsAnIntegral(t *testing.T) {
	y := []float64{1, 0.2, 1.4, -0.3, 2, 0.7, 1.1, 3, 2.2, 2.9, 4.1, 3.3, 4}
	p := problemOf(t, Options{Kind: Polynomial, MaxOrder: 3}, y)
	fits, err := p.fits()
	require.NoError(t, err)
	n := len(y)
	mean := 0.0
	for _, v := range y {
		mean += v / float64(n)
	}
	centred := mat.NewVecDense(n, nil)
	for i, v := range y {
		centred.SetVec(i, v-mean)
	}
	// Orthogonal rows: eigenvalues of the covariance are 1+g on the columns and 1 elsewhere.
	logIntegral := func(order int) float64 {
		quadratic := mat.Dot(centred, centred)
		if order > 0 {
			x := p.x.Slice(0, n, 0, order)
			var qr mat.QR
			qr.Factorize(x)
			var q mat.Dense
			qr.QTo(&q)
			for j := range order {
				dot := 0.0
				for i := range n {
					dot += q.At(i, j) * centred.AtVec(i)
				}
				quadratic -= dot * dot * float64(n) / float64(n+1)
			}
		}
		total, h := 0.0, 0.001
		for s := -8.0; s < 12; s += h { // s = log σ², prior uniform in s
			total += h * math.Exp(-0.5*float64(n-1)*s-0.5*float64(order)*math.Log1p(float64(n))-0.5*quadratic*math.Exp(-s))
		}
		return math.Log(total)
	}
	for order := 1; order <= 3; order++ {
		require.InDelta(t, logIntegral(order)-logIntegral(0), fits[order].logEvidence, 1e-6)
	}
}

// The order of a simulated autoregression and the degree of a simulated polynomial are found, with
// their coefficients, and all files are there.
func TestRunFindsTheOrder(t *testing.T) {
	random := stream.Rand(2, "series")
	y := make([]float64, 600)
	for i := range y {
		y[i] = random.NormFloat64()
		if i >= 2 {
			y[i] += 0.5*y[i-1] - 0.4*y[i-2]
		}
	}
	dir := t.TempDir()
	r, err := Run(gocontext.Background(), problemOf(t, Options{}, y), RunConfig{Dir: dir})
	require.NoError(t, err)
	require.Contains(t, r.Answer, "Most probably order 2")
	// Standard errors are about 0.04.
	require.InDelta(t, 0.5, float64(r.Coefficients[1].MeanGiven), 0.16)
	require.InDelta(t, -0.4, float64(r.Coefficients[2].MeanGiven), 0.16)
	require.InDelta(t, 1, float64(r.Coefficients[len(r.Coefficients)-1].Mean), 0.12)
	for _, name := range Files() {
		_, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
	}
	for i := range y {
		u := float64(i)/300 - 1
		y[i] = 3*u*u*u - u + 0.2*random.NormFloat64()
	}
	r, err = Run(gocontext.Background(), problemOf(t, Options{Kind: Polynomial}, y), RunConfig{})
	require.NoError(t, err)
	require.Contains(t, r.Answer, "a polynomial of degree 3")
}

// What cannot be analysed is said.
func TestBadInput(t *testing.T) {
	head, body := "t,y\n", ""
	for i, row := range []string{"1,2", "2,4", "3,1", "4,3", "5,5", "6,1", "7,0"} {
		if i > 0 {
			body += "\n"
		}
		body += row
	}
	for name, test := range map[string]struct {
		csv     string
		options Options
		want    string
	}{
		"few rows":   {head + body, Options{Value: "y"}, "got 7 rows for orders up to 10, want at least 34"},
		"duplicates": {head + body + "\n7,1", Options{Value: "y", Time: "t", MaxOrder: 1}, "lines 8 and 9 have the same t, 7"},
		"gap":        {head + body + "\n10,1", Options{Value: "y", Time: "t", MaxOrder: 1}, "t goes from 7 (line 8) to 10 (line 9)"},
		"constant":   {head + "1,2\n2,2\n3,2\n4,2\n5,2\n6,2\n7,2", Options{Value: "y", MaxOrder: 1}, `column "y" is constant`},
		"no time":    {head + body, Options{Value: "y", Kind: Polynomial}, "a polynomial wants the column of times"},
		"no value":   {head + body, Options{}, "want the column of values"},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := table.Parse("data.csv", []byte(test.csv+"\n"))
			require.NoError(t, err)
			_, err = NewProblem(data, test.options)
			require.ErrorContains(t, err, test.want)
		})
	}
	line := make([]float64, 40)
	for i := range line {
		line[i] = float64(i)
	}
	_, err := Run(gocontext.Background(), problemOf(t, Options{Kind: Polynomial, MaxOrder: 2}, line), RunConfig{})
	require.ErrorIs(t, err, errExact)
}
