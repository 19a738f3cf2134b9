package varsel

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/table"
)

// orderedTable is a made-up table of a column x and a response with the categories 1, 2, …, levels.
type orderedTable struct {
	name   string
	levels int
	y      []float64
	x      []float64
}

func orderedTables() []orderedTable {
	random := stream.Rand(1, "ordered tables")
	few := orderedTable{name: "10 categories, 12 rows", levels: 10}
	usual := orderedTable{name: "usual", levels: 3}
	for i := range 12 {
		few.x, few.y = append(few.x, random.NormFloat64()), append(few.y, float64(1+(i*7)%10))
	}
	for range 60 {
		x := random.NormFloat64()
		u := distuv.UnitNormal.CDF(x + 1.3*random.NormFloat64())
		usual.x, usual.y = append(usual.x, x), append(usual.y, 1+math.Floor(3*u))
	}
	rising := func(n int) (x []float64) {
		for i := range n {
			x = append(x, float64(i)-0.3*float64(i%2))
		}
		return x
	}
	return []orderedTable{
		usual,
		few,
		{"a category never seen", 4, []float64{1, 1, 2, 4, 2, 4, 1, 4, 4, 2}, []float64{-1, 0.3, 0.2, 1, -0.4, 2, -2, 0.7, 0.1, 1.2}},
		{"the ends never seen", 4, []float64{2, 2, 3, 3, 2, 3, 2, 3}, []float64{-1, 0.3, 0.2, 1, -0.4, 2, -2, 0.7}},
		{"one row each", 3, []float64{1, 2, 3}, []float64{0.3, -1, 2}},
		{"separated", 3, []float64{1, 1, 1, 1, 2, 2, 2, 3, 3, 3}, rising(10)},
		{"one row beside many", 3, append(slices.Repeat([]float64{1}, 40), 3), rising(41)},
		{"two categories", 2, []float64{1, 2, 2, 1, 2, 1, 2, 2}, []float64{-1, 0.3, 0.2, 1, 0.4, -2, 2, 0.7}},
	}
}

func (o orderedTable) problem(t *testing.T, kind likelihood.Kind) *Problem {
	t.Helper()
	opt := DesignOptions{Target: "y", Likelihood: kind}
	for k := range o.levels {
		opt.Levels = append(opt.Levels, fmt.Sprint(k+1))
	}
	problem, err := NewProblem(designOf(t, opt, table.Numbers("y", o.y), table.Numbers("x", o.x)), ModelOptions{Likelihood: kind})
	require.NoError(t, err)
	return problem
}

// cumulativeEvidence returns log p(y) by the definition of the model: cut points c_1 < … < c_{K−1}
// whose categories have probabilities from Dirichlet(1, …, 1), and a slope θ ~ N(0, sd²) on x. With
// F the distribution function of the link, the values u_k = F(c_k) are then uniform on 0 < u_1 < …
// < u_{K−1} < 1. For each θ of a grid, the sum over ordered cut points is computed from left to
// right on a grid of u.
func cumulativeEvidence(o orderedTable, kind likelihood.Kind, x []float64, sd float64) float64 {
	cdf, quantile := distuv.UnitNormal.CDF, distuv.UnitNormal.Quantile
	if kind == likelihood.CumulativeLogitKind {
		cdf, quantile = func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, func(p float64) float64 { return math.Log(p / (1 - p)) }
	}
	const points = 150
	log := func(p float64) float64 { return math.Log(math.Max(p, 1e-300)) }
	grid, weight := make([]float64, points), make([]float64, points)
	for i := range grid { // v is uniform; u = v²(3−2v) makes the points denser near 0 and 1
		v := (float64(i) + 0.5) / points
		grid[i], weight[i] = quantile(v*v*(3-2*v)), log(6*v*(1-v)/points)
	}
	logLikelihood := func(theta float64) float64 {
		first, last := make([]float64, points), make([]float64, points) // log likelihood of the rows in the first and the last category
		below := make([][][]float64, points)                            // F(c − η) of the rows in other categories, by category
		for i, c := range grid {
			below[i] = make([][]float64, o.levels+1)
			for r, v := range x {
				switch y := int(o.y[r]); y {
				case 1:
					first[i] += log(cdf(c - theta*v))
				case o.levels:
					last[i] += log(cdf(theta*v - c))
				default:
					below[i][y] = append(below[i][y], cdf(c-theta*v))
				}
			}
		}
		sums := floats.AddTo(make([]float64, points), first, weight)
		for k := 2; k < o.levels; k++ {
			next := make([]float64, points)
			for j := range next {
				terms := make([]float64, j+1)
				for i := range terms {
					terms[i] = sums[i]
					for r, low := range below[i][k] {
						terms[i] += log(below[j][k][r] - low)
					}
				}
				terms[j] -= math.Ln2 // half of the grid cell has c_{k+1} ≥ c_k
				next[j] = floats.LogSumExp(terms) + weight[j]
			}
			sums = next
		}
		factorial, _ := math.Lgamma(float64(o.levels))
		return floats.LogSumExp(floats.AddTo(last, last, sums)) + factorial
	}
	if sd == 0 {
		return logLikelihood(0)
	}
	const side, reach = 40, 6.0
	var terms []float64
	for i := -side; i <= side; i++ {
		z := reach * float64(i) / side
		terms = append(terms, logLikelihood(z*sd)+distuv.UnitNormal.LogProb(z)+math.Log(reach/side))
	}
	return floats.LogSumExp(terms)
}

// nullEvidence returns the log evidence without predictors in closed form, from Γ(K) Π n_k! /
// Γ(n+K) for n rows, n_k of them in category k of K.
func nullEvidence(o orderedTable) float64 {
	logGamma := func(x float64) float64 {
		value, _ := math.Lgamma(x)
		return value
	}
	sum := logGamma(float64(o.levels)) - logGamma(float64(len(o.y)+o.levels))
	for k := range o.levels {
		count := 0
		for _, y := range o.y {
			if int(y) == k+1 {
				count++
			}
		}
		sum += logGamma(float64(count) + 1)
	}
	return sum
}

// The evidences of the models with and without the predictor, by weighted draws around modes, must
// agree with the closed form without it and with sums on a grid with it (cumulativeEvidence). The
// limit gives a false alarm in one of 150,000 comparisons, and there are at most 32.
func TestOrderedEvidences(t *testing.T) {
	testkit.Slow(t)
	for _, o := range orderedTables() {
		for _, kind := range []likelihood.Kind{likelihood.CumulativeLogitKind, likelihood.CumulativeProbitKind} {
			t.Run(fmt.Sprint(o.name, kind), func(t *testing.T) {
				if kind == likelihood.CumulativeProbitKind || o.name == "10 categories, 12 rows" {
					testkit.Long(t)
				}
				problem := o.problem(t, kind)
				x := mat.Col(nil, 0, problem.Design.X)
				null := cumulativeEvidence(o, kind, x, 0)
				require.InDelta(t, nullEvidence(o), null, 2e-3*float64(o.levels), "the sum over cut points")
				for code, want := range []float64{nullEvidence(o), nullEvidence(o) + cumulativeEvidence(o, kind, x, 1.5) - null} {
					_, logWeights, logProposal, err := laplaceProposals{problem.models()}.propose([]int32{int32(code)}, 20000, stream.Rand(3, "ordered"))
					require.NoError(t, err)
					floats.Sub(logWeights, logProposal)
					estimate, se := psis.LogMeanExp(logWeights)
					require.Less(t, psis.Smooth(logWeights).K, 0.5)
					require.InDelta(t, want, estimate, 4.5*se+3e-3)
				}
			})
		}
	}
}

// The computation graph must give the log density that the Go code gives for draws of the
// parameters. Draws converted to the scale of the table and back must be unchanged, and give the
// same probabilities of the categories on both scales.
func TestOrderedCoordinates(t *testing.T) {
	for _, kind := range []likelihood.Kind{likelihood.CumulativeLogitKind, likelihood.CumulativeProbitKind} {
		o := orderedTables()[0]
		for i := range o.x {
			o.x[i] = 50 + 4*o.x[i]
		}
		problem := o.problem(t, kind)
		target := problem.Target
		require.Equal(t, []string{"x", "1|2", "2|3"}, problem.coordinateNames())
		require.Equal(t, []string{"beta[x]", "cut[1|2]", "cut[2|3]"}, problem.variables())
		theta, logJoint, _, err := laplaceProposals{problem.models()}.propose([]int32{1}, 50, stream.Rand(1, "graph"))
		require.NoError(t, err)
		codes := slices.Repeat([][]int32{{1}}, 50)
		outputs := MustExecOnceN(testkit.Backend(t), func(codes, theta *Node) []*Node {
			return []*Node{target.LogJoint(codes, target.Space().Mask(codes), theta)}
		}, codes, tensors.FromFlatDataAndDimensions(theta.RawMatrix().Data, 50, 3))
		require.InDeltaSlice(t, logJoint, tensors.MustCopyFlatData[float64](outputs[0]), 1e-9)

		draws := problem.toOriginal(codes, theta)
		back, p := make([]float64, 3), make([]float64, 3)
		for i := range codes {
			values := draws.Values.RawRowView(i)
			problem.fromOriginal(codes[i], values, back)
			require.InDeltaSlice(t, theta.RawRowView(i), back, 1e-9)
			categories := target.Responses.Categories.At(theta.RawRowView(i)[1:])
			for row := range 5 {
				categories.Probabilities([]float64{target.X.At(row, 0) * theta.At(i, 0)}, p)
				for k := range p {
					require.InDelta(t, p[k], math.Exp(problem.responseGiven(values).LogKernelAt(float64(k), values[0]*o.x[row], 1)), 1e-10)
				}
			}
		}
	}
}

// Runs on three tables must be trusted, with inclusion probabilities that agree with the ratio of
// two evidences by sums on a grid (cumulativeEvidence). For two of the tables they must also agree
// with tempered chains over models and coefficients.
func TestOrderedRuns(t *testing.T) {
	testkit.Slow(t)
	for _, o := range orderedTables()[:3] {
		kind := likelihood.CumulativeLogitKind
		problem := o.problem(t, kind)
		x := mat.Col(nil, 0, problem.Design.X)
		certified, err := Run(t.Context(), openDevice(t), problem, RunConfig{Fit: vti.Config{Seed: 1}, Certify: vti.CertifyConfig{Draws: 1 << 14}, Dir: t.TempDir()})
		require.NoError(t, err)
		require.Equal(t, vti.Trusted, certified.Certificate.Verdict, certified.Certificate.Reasons)
		logOdds := cumulativeEvidence(o, kind, x, 1.5) - cumulativeEvidence(o, kind, x, 0)
		got := certified.Inclusion[0]
		require.InDelta(t, 1/(1+math.Exp(-logOdds)), float64(got.Certified), 5*float64(got.SE)+1e-3)
		require.Equal(t, modelcheck.Good, certified.ModelCheck.Verdict, "%v", certified.ModelCheck)
		if o.name == "10 categories, 12 rows" {
			continue // two other tables suffice for the test of chains
		}
		sampled, err := RunChains(t.Context(), openDevice(t), problem, rjmcmc.Config{Chains: 64, BurnIn: 400, Iterations: 400, Seed: 3}, t.TempDir())
		require.NoError(t, err)
		require.InDelta(t, float64(got.Certified), float64(sampled.Inclusion[0].Certified), 5*float64(sampled.Inclusion[0].SE)+2e-3)
		requireCoefficients(t, certified, sampled)
	}
}

// A run is stored, opened again, and predicts two rows of a new table. The probabilities of the
// three categories must sum to 1, with more than ½ for the category observed in the row. A response
// with an unknown label is an error.
func TestOrderedPredictions(t *testing.T) {
	testkit.Slow(t)
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("x,y\n")
	o, labels := orderedTables()[0], []string{"low", "mid", "high"}
	for i, x := range o.x {
		fmt.Fprintf(&text, "%v,%s\n", x, labels[int(o.y[i])-1])
	}
	path := filepath.Join(dir, "data.csv")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	design := DesignOptions{Target: "y", Likelihood: likelihood.CumulativeProbitKind, Levels: labels}
	record := &Record{Header: run.Header{Command: "varsel", Data: path}, Design: design, Model: ModelOptions{Likelihood: design.Likelihood}}
	_, err := record.Table() // Table notes the fingerprint of the file in the record
	require.NoError(t, err)
	require.NoError(t, run.WriteRecord(dir, record))
	problem, err := record.Problem()
	require.NoError(t, err)
	_, err = Run(t.Context(), openDevice(t), problem, RunConfig{Fit: vti.Config{Seed: 1}, Certify: vti.CertifyConfig{Draws: 1 << 13}, Dir: dir})
	require.NoError(t, err)
	stored, err := OpenRun(dir)
	require.NoError(t, err)
	fresh, err := table.Parse("new", []byte("x,y\n-2,low\n2,high\n"))
	require.NoError(t, err)
	rows, err := stored.Rows(fresh)
	require.NoError(t, err)
	require.Equal(t, []float64{0, 2}, rows.Y)
	result, err := predict.Summarise(t.Context(), rows, predict.Config{})
	require.NoError(t, err)
	require.Equal(t, labels, result.Categories)
	for i, p := range result.Predictions {
		require.InDelta(t, 1, float64(p.Probabilities[0]+p.Probabilities[1]+p.Probabilities[2]), 1e-12)
		require.Greater(t, float64(p.Probabilities[2*i]), 0.5)
	}
	fitted, err := stored.Rows(nil)
	require.NoError(t, err)
	loo, err := predict.LeaveOneOut(t.Context(), fitted, 1)
	require.NoError(t, err)
	require.Nil(t, loo.R2)
	require.Less(t, float64(loo.ELPD), 0.0)
	_, err = stored.Rows(must(table.Parse("new", []byte("x,y\n-2,lower\n"))))
	require.ErrorContains(t, err, `got "lower", want one of the levels low, mid, high`)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Each fault in the options of a categorical response has an error message.
func TestOrderedRefusals(t *testing.T) {
	logit := likelihood.CumulativeLogitKind
	for want, opt := range map[string]DesignOptions{
		`target "y": got labels (a, b, c) and no order of them: want all of them as levels`: {Target: "y", Likelihood: logit},
		`got "c", want one of the levels a, b`:                                              {Target: "y", Likelihood: logit, Levels: []string{"a", "b"}},
		`target "y": the level "a" is listed twice`:                                         {Target: "y", Likelihood: logit, Levels: []string{"a", "b", "a"}},
		"cut points in place of an intercept":                                               {Target: "y", Likelihood: logit, Levels: []string{"a", "b", "c"}, NoIntercept: true},
		"levels of the response are for cumulative-logit":                                   {Target: "x", Likelihood: likelihood.GaussianKind, Levels: []string{"a"}},
		"line 3: target \"x\": got 0.5, want whole numbers":                                 {Target: "x", Likelihood: logit},
		`target "one" is 7 in every row`:                                                    {Target: "one", Likelihood: logit},
		`"constant" is constant`:                                                            {Target: "y", Likelihood: logit, Levels: []string{"a", "b", "c"}, Always: []string{"constant"}, Exclude: []string{"one"}},
	} {
		data, err := table.Parse("t", []byte("y,x,one,constant\na,1,7,2\nb,0.5,7,2\nc,2,7,2\n"))
		require.NoError(t, err)
		_, err = NewDesign(data, opt)
		require.ErrorContains(t, err, want)
	}
	problem := orderedTables()[0].problem(t, logit)
	_, err := NewProblem(problem.Design, ModelOptions{Likelihood: logit, Codes: ListCodes})
	require.ErrorIs(t, err, errCategoryLists)
}
