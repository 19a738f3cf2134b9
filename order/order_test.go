package order

import (
	gocontext "context"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/rank"
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

// The log evidence of every model equals a numerical integral over σ² of normal densities. With the
// intercept integrated out, the covariance of y is σ²(I + g X(XᵀX)⁻¹Xᵀ) on the space orthogonal to
// constants. Its eigenvalues are (1+g)σ² in the span of the columns X and σ² outside of it.
func TestEvidencesAreIntegrals(t *testing.T) {
	y := []float64{1, 0.2, 1.4, -0.3, 2, 0.7, 1.1, 3, 2.2, 2.9, 4.1, 3.3, 4, 5.2, 4.1, 4.4}
	logIntegral := func(d *design, columns []int) float64 {
		n := len(d.y)
		centred := make([]float64, n)
		quadratic := 0.0
		for i, v := range d.y {
			centred[i] = v - d.mean
			quadratic += centred[i] * centred[i]
		}
		if len(columns) > 0 {
			x := mat.NewDense(n, len(columns), nil)
			for k, j := range columns {
				x.SetCol(k, mat.Col(nil, j, d.x))
			}
			var qr mat.QR
			qr.Factorize(x)
			var q mat.Dense
			qr.QTo(&q)
			for j := range columns {
				dot := mat.Dot(q.ColView(j), mat.NewVecDense(n, centred))
				quadratic -= dot * dot * float64(n) / float64(n+1)
			}
		}
		total, h := 0.0, 0.001
		for s := -8.0; s < 12; s += h { // s = log σ², whose prior is uniform
			total += h * math.Exp(-0.5*float64(n-1)*s-0.5*float64(len(columns))*math.Log1p(float64(n))-0.5*quadratic*math.Exp(-s))
		}
		return math.Log(total)
	}
	for name, options := range map[string]Options{
		"polynomial": {Kind: Polynomial, MaxOrder: 3},
		"unit root":  {MaxOrder: 3, UnitRoot: 0.4},
	} {
		p := problemOf(t, options, y)
		prior := 0.0
		for _, f := range p.models {
			require.InDelta(t, logIntegral(f.design, f.columns)-logIntegral(p.levels, nil), f.logEvidence, 1e-6, name)
			prior += math.Exp(f.logPrior)
		}
		require.InDelta(t, 1, prior, 1e-12, name)
	}
}

// The answer gives a unit root a probability above 0.8 for a simulated random walk, and below 0.01
// for an autoregression with coefficient 0.5. Coefficients for differences, converted to
// coefficients for values, give the same expected value.
func TestUnitRoot(t *testing.T) {
	random := stream.Rand(4, "walk")
	walk, around := make([]float64, 300), make([]float64, 300)
	for i := 1; i < len(walk); i++ {
		walk[i] = walk[i-1] + random.NormFloat64()
		around[i] = 0.5*around[i-1] + random.NormFloat64()
	}
	r, err := Run(gocontext.Background(), problemOf(t, Options{UnitRoot: 0.5, MaxOrder: 4}, walk), RunConfig{})
	require.NoError(t, err)
	require.Greater(t, float64(*r.UnitRoot), 0.8)
	require.Contains(t, r.Answer, "a unit root: ")
	require.InDelta(t, 1, float64(r.Coefficients[1].MeanGiven), 0.02, "of a random walk the lag has 1")
	p := problemOf(t, Options{UnitRoot: 0.5, MaxOrder: 4}, around)
	r, err = Run(gocontext.Background(), p, RunConfig{})
	require.NoError(t, err)
	require.Less(t, float64(*r.UnitRoot), 0.01)

	post, err := p.posterior(gocontext.Background(), 1, random)
	require.NoError(t, err)
	for _, f := range p.models {
		if !f.unitRoot {
			continue
		}
		post.draws = nil
		post.add(f, 0, random)
		d := post.draws[0]
		levels := p.ofLevels(d)
		for i := range p.Rows() {
			a, b := d.intercept, levels.intercept
			for j, c := range d.coefficients {
				a += c * f.design.x.At(i, j)
			}
			for j, c := range levels.coefficients {
				b += c * p.levels.x.At(i, j)
			}
			require.InDelta(t, a+p.levels.y[i]-f.design.y[i], b, 1e-9)
		}
	}
}

// The sum over the tree of sets of knots agrees with fits of all sets of up to four of nine
// candidates, one by one: in the log evidence, in the probabilities of numbers and places of knots,
// and in the frequencies of drawn sets.
func TestSumOverKnotsIsThatOverAList(t *testing.T) {
	random := stream.Rand(9, "line")
	y := make([]float64, 60)
	for i := range y {
		y[i] = math.Abs(float64(i)-25)/10 + 0.3*random.NormFloat64()
	}
	for _, degree := range []int{1, 3} {
		p := problemOf(t, Options{Kind: Spline, Degree: degree, Candidates: 9, MaxOrder: 4, MeanKnots: 2}, y)
		sum, err := p.knots.sum(gocontext.Background(), 4000, random)
		require.NoError(t, err)
		logs, knots := []float64{}, [][]int{}
		for bits := range 1 << 9 {
			var set, columns []int
			columns = append(columns, rank.UpTo(degree)...)
			for j := range 9 {
				if bits>>j&1 == 1 {
					set, columns = append(set, j), append(columns, degree+j)
				}
			}
			if len(set) > 4 {
				continue
			}
			f, err := p.levels.newFit(columns, p.levels.total)
			require.NoError(t, err)
			logs, knots = append(logs, f.logEvidence+p.knots.logCount[len(set)]), append(knots, set)
		}
		total := logsum.Of(logs)
		require.InDelta(t, total, sum.logEvidence, 1e-9)
		require.InDelta(t, float64(len(logs)), p.knots.sets(), 1e-9)
		count, inclusion, drawn := make([]float64, 5), make([]float64, 9), map[string]float64{}
		for _, set := range sum.sets {
			drawn[fmt.Sprint(set)] += 1.0 / 4000
		}
		for m, set := range knots {
			w := math.Exp(logs[m] - total)
			count[len(set)] += w
			for _, j := range set {
				inclusion[j] += w
			}
			// By chance, one of the sets differs by more than 4.5 standard errors in 1 of 500 runs.
			require.InDelta(t, w, drawn[fmt.Sprint(set)], 4.5*math.Sqrt(w*(1-w)/4000)+1e-3, "%v", set)
		}
		require.InDeltaSlice(t, count, sum.count, 1e-9)
		require.InDeltaSlice(t, inclusion, sum.inclusion, 1e-9)
		prior := 0.0
		for k, log := range p.knots.logCount {
			prior += math.Exp(log) * []float64{1, 9, 36, 84, 126}[k]
		}
		require.InDelta(t, 1, prior, 1e-9)
	}
}

// A run finds the knot of a broken line, and the band of its curve contains the line.
func TestRunFindsKnots(t *testing.T) {
	random := stream.Rand(3, "broken")
	y, truth := make([]float64, 120), make([]float64, 120)
	for i := range y {
		truth[i] = math.Max(0, float64(i)-70) / 10
		y[i] = truth[i] + 0.2*random.NormFloat64()
	}
	dir := t.TempDir()
	r, err := Run(gocontext.Background(), problemOf(t, Options{Kind: Spline, Degree: 1, Candidates: 60, MaxOrder: 4}, y), RunConfig{Dir: dir})
	require.NoError(t, err)
	require.Contains(t, r.Answer, "Most probably 1 knot (probability 0.")
	require.InDelta(t, 70, float64(r.Orders[1].Knots[0]), 4)
	require.Zero(t, float64(r.Orders[0].LogBayesFactor))
	for _, point := range r.Curve {
		require.InDelta(t, math.Max(0, float64(point.Time)-70)/10, float64(point.Mean), 0.2)
	}
	for _, name := range Files() {
		require.FileExists(t, filepath.Join(dir, name))
	}
}

// A run finds the order of a simulated autoregression and the degree of a simulated polynomial,
// with the coefficients of both, and writes all files.
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
	// Coefficients have standard errors of about 0.04.
	require.InDelta(t, 0.5, float64(r.Coefficients[1].MeanGiven), 0.16)
	require.InDelta(t, -0.4, float64(r.Coefficients[2].MeanGiven), 0.16)
	require.InDelta(t, 1, float64(r.Coefficients[len(r.Coefficients)-1].Mean), 0.12)
	for _, name := range []string{OrdersFile, draws.ParquetFile, draws.CSVFile} {
		require.FileExists(t, filepath.Join(dir, name))
	}
	for i := range y {
		u := float64(i)/300 - 1
		y[i] = 3*u*u*u - u + 0.2*random.NormFloat64()
	}
	r, err = Run(gocontext.Background(), problemOf(t, Options{Kind: Polynomial}, y), RunConfig{})
	require.NoError(t, err)
	require.Contains(t, r.Answer, "a polynomial of degree 3")
}

// Errors describe invalid input.
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
		"unit root":  {head + body, Options{Value: "y", Time: "t", Kind: Polynomial, UnitRoot: 0.5}, "unit roots belong to autoregressions"},
		"certain":    {head + body, Options{Value: "y", UnitRoot: 1}, "got 1, want 0 to below 1"},
		"knots":      {head + body, Options{Value: "y", Time: "t", Degree: 2}, "belong to splines"},
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
	data, err := table.New("memory", table.Numbers("t", line), table.Numbers("y", line))
	require.NoError(t, err)
	for _, options := range []Options{{Kind: Polynomial, MaxOrder: 2}, {MaxOrder: 2}, {MaxOrder: 2, UnitRoot: 0.5}, {Kind: Spline}} {
		options.Value, options.Time = "y", "t"
		_, err = NewProblem(data, options)
		require.ErrorIs(t, err, errExact)
	}
}
