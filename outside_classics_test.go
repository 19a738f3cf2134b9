package vti_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/lab/testkit"
)

// The programs of lab/outside/classics find two clusters, a change after row 40, and a knot near
// 30.
func TestOutsideClassics(t *testing.T) {
	lines := runOutside(t, "./classics")
	require.Len(t, lines, 3)
	require.True(t, strings.HasPrefix(lines[0], "2 Most probably 2 components"), lines[0])
	require.True(t, strings.HasPrefix(lines[1], "1 Most probably 1 change"), lines[1])
	require.Contains(t, lines[1], "at t 40.")
	require.True(t, strings.HasPrefix(lines[2], "trusted Most probably 1 knot") || strings.HasPrefix(lines[2], "trusted Most probably 2 knots"), lines[2])
}

func logNormalDensity(x, mean, sd float64) float64 {
	return -0.5*math.Pow((x-mean)/sd, 2) - math.Log(sd) - 0.5*math.Log(2*math.Pi)
}

// linearEvidence returns p(y) for y ~ N(X b, σ²), b ~ N(0, I) and log σ ~ N(mean, sd²): y is normal
// given σ, over which the trapezoidal rule integrates.
func linearEvidence(t *testing.T, columns [][]float64, y []float64, mean, sd float64) (evidence float64) {
	const step = 0.08
	for logSigma := -3.0; logSigma < 2; logSigma += step {
		covariance := mat.NewSymDense(len(y), nil)
		for _, x := range columns {
			covariance.SymRankOne(covariance, 1, mat.NewVecDense(len(x), x))
		}
		for i := range y {
			covariance.SetSym(i, i, covariance.At(i, i)+math.Exp(2*logSigma))
		}
		var root mat.Cholesky
		require.True(t, root.Factorize(covariance))
		var solved mat.VecDense
		require.NoError(t, root.SolveVecTo(&solved, mat.NewVecDense(len(y), y)))
		square := mat.Dot(mat.NewVecDense(len(y), y), &solved)
		logDensity := -0.5 * (square + root.LogDet() + float64(len(y))*math.Log(2*math.Pi))
		evidence += step * math.Exp(logDensity+logNormalDensity(logSigma, mean, sd))
	}
	return evidence
}

// TestOutsideOrders compares evidences of autoregressions with integrals of normal densities over
// σ.
func TestOutsideOrders(t *testing.T) {
	testkit.Long(t)
	lines := runOutside(t, "./orders")
	require.Equal(t, "trusted", lines[0])
	random, series := rand.New(rand.NewPCG(3, 1)), make([]float64, 80)
	for i := 2; i < len(series); i++ {
		series[i] = 0.5*series[i-1] + 0.3*series[i-2] + random.NormFloat64()
	}
	const most = 4
	evidence, total := make([]float64, most+1), 0.0
	var columns [][]float64
	for k := range evidence {
		if k > 0 {
			columns = append(columns, series[most-k:len(series)-k])
		}
		evidence[k] = linearEvidence(t, columns, series[most:], 0, 1)
		total += evidence[k]
	}
	require.Len(t, lines, 1+len(evidence))
	for _, line := range lines[1:] {
		var k int
		var probability, se, logEvidence, logSE float64
		_, err := fmt.Sscanf(line, "order %d %f ± %f, log evidence %f ± %f", &k, &probability, &se, &logEvidence, &logSE)
		require.NoError(t, err)
		requireClose(t, line, evidence[k]/total, probability, se)
	}
}

// TestOutsideChanges compares the probability of a change at each place of a series with a sum over
// all subsets of places.
func TestOutsideChanges(t *testing.T) {
	testkit.Long(t)
	lines := runOutside(t, "./changes")
	require.Equal(t, "trusted", lines[0])
	random, y := rand.New(rand.NewPCG(5, 1)), make([]float64, 40)
	for i := range y {
		y[i] = 0.4 * random.NormFloat64()
		if i >= 12 {
			y[i] += 1.5
		}
		if i >= 28 {
			y[i]--
		}
	}
	places := []int{4, 8, 12, 16, 20, 24, 28, 32, 36}
	from := func(row int) []float64 {
		step := make([]float64, len(y))
		for i := row; i < len(y); i++ {
			step[i] = 1
		}
		return step
	}
	probability, total := make([]float64, len(places)), 0.0
	for model := range 1 << len(places) {
		columns, prior := [][]float64{from(0)}, 1.0
		for s, place := range places {
			if model>>s&1 == 1 {
				columns = append(columns, from(place))
				prior *= 0.1 / 0.9
			}
		}
		joint := prior * linearEvidence(t, columns, y, -1, 0.5)
		total += joint
		for s := range places {
			if model>>s&1 == 1 {
				probability[s] += joint
			}
		}
	}
	require.Len(t, lines, 1+len(places))
	for s, line := range lines[1:] {
		var row int
		var got, se float64
		_, err := fmt.Sscanf(line, "row %d %f ± %f", &row, &got, &se)
		require.NoError(t, err)
		require.Equal(t, places[s], row)
		requireClose(t, line, probability[s]/total, got, se)
	}
}

// TestOutsideMixture compares the probabilities of numbers of components, by weights and by chains,
// with the sum over all assignments of rows to components. Given the standard deviation of a
// component, the likelihood of its rows has a closed form, with the mean integrated out.
func TestOutsideMixture(t *testing.T) {
	testkit.Long(t)
	lines := runOutside(t, "./mixture")
	require.Equal(t, "trusted", lines[0])
	y := []float64{-0.9, -0.5, -0.7, -0.2, -0.6, 0.1, 0.5, 0.3, 0.8, 0.4}
	marginal := make([]float64, 1<<len(y)) // marginal likelihood of each set of rows as one component
	for set := range marginal {
		n, sum, square := 0.0, 0.0, 0.0
		for i, v := range y {
			if set>>i&1 == 1 {
				n, sum, square = n+1, sum+v, square+v*v
			}
		}
		const step = 0.05
		for logSD := -4.0; logSD < 2; logSD += step {
			precision := math.Exp(-2 * logSD)
			total := n*precision + 1 // precision of the mean
			log := -n*logSD - n/2*math.Log(2*math.Pi) - 0.5*math.Log(total) - 0.5*(square*precision-math.Pow(sum*precision, 2)/total)
			marginal[set] += step * math.Exp(log+logNormalDensity(logSD, -1, 0.5))
		}
	}
	var joint [2]float64
	total := 0.0
	for k := 1; k <= len(joint); k++ {
		for code := range int(math.Pow(float64(k), float64(len(y)))) {
			var sets, sizes [len(joint)]int
			for i, rest := 0, code; i < len(y); i, rest = i+1, rest/k {
				sets[rest%k] |= 1 << i
				sizes[rest%k]++
			}
			product := 1.0
			for j := range k {
				product *= marginal[sets[j]] * math.Gamma(float64(sizes[j]+1))
			}
			joint[k-1] += product * math.Gamma(float64(k)) / math.Gamma(float64(k+len(y)))
		}
		total += joint[k-1]
	}
	require.Len(t, lines, 1+len(joint))
	for _, line := range lines[1:] {
		var k int
		var solved, solvedSE, chains, chainsSE float64
		_, err := fmt.Sscanf(line, "%d components: Solve %f ± %f, chains %f ± %f", &k, &solved, &solvedSE, &chains, &chainsSE)
		require.NoError(t, err)
		requireClose(t, line, joint[k-1]/total, solved, solvedSE)
		requireClose(t, line, joint[k-1]/total, chains, chainsSE)
	}
}

// The examples of docs/library.md are excerpts of the programs, and no program is longer than a
// page.
func TestLibraryShowsThePrograms(t *testing.T) {
	page, err := os.ReadFile("docs/library.md")
	require.NoError(t, err)
	section := string(page[strings.Index(string(page), "## Worked examples"):strings.Index(string(page), "## What comes back")])
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(section, -1)
	require.Len(t, blocks, 3)
	for k, name := range []string{"mixture", "changes", "orders"} {
		program, err := os.ReadFile(filepath.Join(outsideFolder, name, "main.go"))
		require.NoError(t, err)
		require.Contains(t, string(program), blocks[k][1], name)
		require.LessOrEqual(t, strings.Count(string(program), "\n"), 150, name)
	}
}
