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
	"github.com/transdim/vti/varsel/design"
)

// unorderedTables returns difficult made-up tables, whose categories are numbered from 1.
func unorderedTables() []orderedTable {
	random := stream.Rand(2, "unordered tables")
	few := orderedTable{name: "10 categories, 12 rows", levels: 10}
	for i := range 12 {
		few.x, few.y = append(few.x, random.NormFloat64()), append(few.y, float64(1+(i*7)%10))
	}
	x := []float64{-1.5, 0.3, 0.2, 1, -0.4, 2, -2, 0.7, 0.1, 1.2, -0.8, 0.5}
	return []orderedTable{
		{"usual", 3, []float64{1, 1, 2, 3, 2, 3, 1, 3, 1, 2, 2, 3}, x},
		{"a category never seen", 3, []float64{1, 1, 2, 1, 2, 1, 1, 2, 2, 2, 1, 1}, x},
		{"one row beside others", 3, []float64{1, 1, 2, 1, 2, 1, 3, 2, 2, 2, 1, 1}, x},
		{"separated", 3, []float64{1, 2, 2, 3, 1, 3, 1, 2, 2, 3, 1, 2}, x},
		{"one category separated", 3, []float64{1, 2, 2, 3, 1, 3, 2, 1, 2, 3, 1, 1}, x},
		{"one row each", 3, []float64{1, 2, 3}, []float64{0.3, -1, 2}},
		few,
		{"three of five never seen", 5, []float64{1, 1, 2, 1, 2, 1, 1, 2, 2, 2, 1, 1}, x},
		{"two categories", 2, []float64{1, 2, 2, 1, 2, 1, 2, 2}, []float64{-1, 0.3, 0.2, 1, 0.4, -2, 2, 0.7}},
	}
}

// nullCategories returns log p(y) without predictors by definition, for n_k rows in category k and
// n in all. Log odds with prior variances s² and covariances s²/2 are differences of independent
// scores a_k with variance s²/2. With w = log u in 1/Sⁿ = ∫ uⁿ⁻¹ exp(−uS) du / Γ(n), the evidence
// is the mean over the scores
//
//	∫ Π_k e^{n_k a_k} / (Σ_k e^{a_k})ⁿ = ∫ e^{nw} Π_k E[exp(n_k a − e^{w+a})] dw / Γ(n),
//
// Integrals are sums over even grids, whose errors fall faster than any power of the step.
func nullCategories(o orderedTable, s float64) float64 {
	const step = 0.05
	counts := make([]float64, o.levels)
	for _, y := range o.y {
		counts[int(y)-1]++
	}
	n, sd := float64(len(o.y)), s/math.Sqrt2
	kept := map[float64]float64{}
	var terms []float64
	for w := -80.0; w <= 80; w += 4 * step {
		term := n * w
		clear(kept)
		for _, count := range counts {
			value, known := kept[count]
			if !known {
				var logDensities []float64
				for a := -9 * sd; a <= 9*sd; a += step {
					logDensities = append(logDensities, count*a-math.Exp(w+a)-a*a/(2*sd*sd))
				}
				value = floats.LogSumExp(logDensities) + math.Log(step/sd) - math.Log(2*math.Pi)/2
				kept[count] = value
			}
			term += value
		}
		terms = append(terms, term)
	}
	gamma, _ := math.Lgamma(n)
	return floats.LogSumExp(terms) + math.Log(4*step) - gamma
}

// threeCategories returns log p(y) by definition, for three categories with intercepts and slopes
// on x. The log odds against the first category have prior standard deviations 10 for intercepts
// and 1.5 for slopes, and correlation ½. It is a sum over an even grid in four dimensions, whose
// step is small against the posterior. With few rows, densities need no logarithms.
func threeCategories(o orderedTable, x []float64) float64 {
	const step = 0.7
	n := len(x)
	pairs := func(sd, reach float64) (list [][2]float64, prior []float64) {
		for a := -reach; a <= reach; a += step {
			for b := -reach; b <= reach; b += step {
				square := (a*a - a*b + b*b) / (0.75 * sd * sd)
				if square < 32 { // outside lies a part in 10⁷ of the prior
					list = append(list, [2]float64{a, b})
					prior = append(prior, math.Exp(-square/2)*step*step/(2*math.Pi*math.Sqrt(0.75)*sd*sd))
				}
			}
		}
		return list, prior
	}
	levels, levelPrior := pairs(10, 60)
	slopes, slopePrior := pairs(1.5, 11)
	odds, seconds, thirds := make([][2]float64, len(levels)), 0.0, 0.0
	for _, y := range o.y {
		seconds, thirds = seconds+isLevel(y, 2), thirds+isLevel(y, 3)
	}
	for l, level := range levels {
		odds[l] = [2]float64{math.Exp(level[0]), math.Exp(level[1])}
		levelPrior[l] *= math.Exp(seconds*level[0] + thirds*level[1])
	}
	total := 0.0
	one, two := make([]float64, n), make([]float64, n)
	for t, slope := range slopes {
		top := 1.0
		for i, v := range x {
			one[i], two[i] = math.Exp(slope[0]*v), math.Exp(slope[1]*v)
			switch o.y[i] {
			case 2:
				top *= one[i]
			case 3:
				top *= two[i]
			}
		}
		for l, level := range odds {
			product := 1.0
			for i := range x {
				product *= 1 + level[0]*one[i] + level[1]*two[i]
			}
			total += slopePrior[t] * levelPrior[l] * top / product
		}
	}
	return math.Log(total)
}

func isLevel(y, level float64) float64 {
	if y == level {
		return 1
	}
	return 0
}

// The evidences of both models, by weighted draws around modes, must agree with sums over grids
// (nullCategories, threeCategories) or, for ten categories with a predictor, with importance
// sampling by NumPy: 400,000 draws from a t distribution around the mode that SciPy finds. The
// limit of 4.5 standard errors gives a false alarm in one of 150,000 comparisons, and there are 16.
func TestUnorderedEvidences(t *testing.T) {
	testkit.Slow(t)
	for _, o := range unorderedTables() {
		t.Run(o.name, func(t *testing.T) {
			problem := o.problem(t, likelihood.CategoricalKind)
			want, wantSE := []float64{nullCategories(o, 10)}, 0.0
			switch o.levels {
			case 3:
				want = append(want, threeCategories(o, mat.Col(nil, 1, problem.Design.X)))
			case 10:
				want, wantSE = append(want, -44.4949), 0.0051
			}
			for code, want := range want {
				_, logWeights, logProposal, err := laplaceProposals{problem.models()}.propose([]int32{int32(code)}, 20000, stream.Rand(3, "unordered"))
				require.NoError(t, err)
				floats.Sub(logWeights, logProposal)
				estimate, se := psis.LogMeanExp(logWeights)
				require.Less(t, psis.Smooth(logWeights).K, 0.7)
				require.InDelta(t, want, estimate, 4.5*math.Hypot(se, wantSE)+1e-5)
			}
		})
	}
}

// Without an intercept, the model without predictors has no parameters and gives all categories the
// same probability.
func TestUnorderedWithoutParameters(t *testing.T) {
	o := unorderedTables()[0]
	opt := DesignOptions{Target: "y", Likelihood: likelihood.CategoricalKind, NoIntercept: true}
	problem, err := NewProblem(designOf(t, opt, table.Numbers("y", o.y), table.Numbers("x", o.x)), ModelOptions{Likelihood: opt.Likelihood})
	require.NoError(t, err)
	_, logJoint, logProposal, err := laplaceProposals{problem.models()}.propose([]int32{0}, 3, stream.Rand(1, "none"))
	require.NoError(t, err)
	for i := range logJoint {
		require.InDelta(t, -float64(len(o.y))*math.Log(3), logJoint[i]-logProposal[i], 1e-12)
	}
}

// With two categories the categorical likelihood is logistic regression: both must have the same
// mode, and the same log density with all constants, at the mode and at three other points.
func TestTwoCategoriesAreLogistic(t *testing.T) {
	o := unorderedTables()[8]
	fits := map[likelihood.Kind]*laplaceFit{}
	for _, kind := range []likelihood.Kind{likelihood.CategoricalKind, likelihood.LogisticKind} {
		opt := DesignOptions{Target: "y", Likelihood: kind}
		problem, err := NewProblem(designOf(t, opt, table.Numbers("y", o.y), table.Numbers("x", o.x)), ModelOptions{Likelihood: kind})
		require.NoError(t, err)
		fit, err := fitOf(problem.Target, problem.Target.active([]int32{1}))
		require.NoError(t, err)
		fits[kind] = fit
	}
	a, b := fits[likelihood.CategoricalKind], fits[likelihood.LogisticKind]
	require.InDeltaSlice(t, b.mode, a.mode, 1e-3) // steps of Newton's method end at this precision
	for _, theta := range [][]float64{a.mode, {0, 0}, {-3, 2}, {30, -8}} {
		require.InDelta(t, b.logJoint(theta), a.logJoint(theta), 1e-12)
	}
}

// The order of the labels only decides which category log odds refer to. The test converts
// coefficients to two other orders by hand, and the log joint density must not change.
func TestOrderOfLevels(t *testing.T) {
	random := stream.Rand(4, "order of levels")
	o := unorderedTables()[0]
	problems := map[string]*Problem{}
	for _, order := range []string{"1 2 3", "3 1 2", "2 1 3"} {
		opt := DesignOptions{Target: "y", Likelihood: likelihood.CategoricalKind, Levels: strings.Fields(order)}
		problem, err := NewProblem(designOf(t, opt, table.Numbers("y", o.y), table.Numbers("x", o.x)), ModelOptions{Likelihood: opt.Likelihood})
		require.NoError(t, err)
		problems[order] = problem
	}
	first := problems["1 2 3"]
	theta := mat.NewDense(1, 4, []float64{random.NormFloat64(), random.NormFloat64(), random.NormFloat64(), random.NormFloat64()})
	beta := first.toOriginal([][]int32{{1}}, theta).Values.RawRowView(0)
	require.Equal(t, []string{"2:(Intercept)", "3:(Intercept)", "2:x", "3:x"}, first.coordinateNames())
	logJoint := func(p *Problem, theta []float64) float64 {
		fit, err := fitOf(p.Target, p.Target.active([]int32{1}))
		require.NoError(t, err)
		return fit.logJoint(theta)
	}
	for order, moved := range map[string][]float64{
		"3 1 2": {-beta[1], beta[0] - beta[1], -beta[3], beta[2] - beta[3]},
		"2 1 3": {-beta[0], beta[1] - beta[0], -beta[2], beta[3] - beta[2]},
	} {
		to := make([]float64, 4)
		problems[order].fromOriginal([]int32{1}, moved, to)
		require.InDelta(t, logJoint(first, theta.RawRowView(0)), logJoint(problems[order], to), 1e-11)
	}
}

// The computation graph must give the log density that the Go code gives for draws of the
// parameters. Draws converted to the scale of the table and back must be unchanged, and give the
// same probabilities of the categories on both scales.
func TestUnorderedCoordinates(t *testing.T) {
	o := unorderedTables()[0]
	for i := range o.x {
		o.x[i] = 50 + 4*o.x[i]
	}
	problem := o.problem(t, likelihood.CategoricalKind)
	target := problem.Target
	require.Equal(t, []string{"beta[2:(Intercept)]", "beta[3:(Intercept)]", "beta[2:x]", "beta[3:x]"}, problem.variables())
	theta, logJoint, _, err := laplaceProposals{problem.models()}.propose([]int32{1}, 50, stream.Rand(1, "graph"))
	require.NoError(t, err)
	codes := slices.Repeat([][]int32{{1}}, 50)
	outputs := MustExecOnceN(testkit.Backend(t), func(codes, theta *Node) []*Node {
		return []*Node{target.LogJoint(codes, target.Space().Mask(codes), theta)}
	}, codes, tensors.FromFlatDataAndDimensions(theta.RawMatrix().Data, 50, 4))
	require.InDeltaSlice(t, logJoint, tensors.MustCopyFlatData[float64](outputs[0]), 1e-9)

	draws := problem.toOriginal(codes, theta)
	back, p, odds := make([]float64, 4), make([]float64, 3), make([]float64, 3)
	categories := target.Responses.Categories.At(nil)
	for i := range codes {
		values := draws.Values.RawRowView(i)
		problem.fromOriginal(codes[i], values, back)
		require.InDeltaSlice(t, theta.RawRowView(i), back, 1e-9)
		for row := range 5 {
			x := target.X.At(row, 1)
			categories.Probabilities([]float64{back[0] + back[2]*x, back[1] + back[3]*x}, p)
			likelihood.AgainstFirst(3).Probabilities([]float64{values[0] + values[2]*o.x[row], values[1] + values[3]*o.x[row]}, odds)
			require.InDeltaSlice(t, p, odds, 1e-10)
		}
	}
	priors := &Result{Coefficients: []Coefficient{{Name: "2:(Intercept)"}, {Name: "3:x"}}}
	problem.fillPriors(priors)
	require.Nil(t, priors.Coefficients[0].Prior)
	require.InDelta(t, 1.5/problem.Design.Scaling.SD[1], float64(priors.Coefficients[1].Prior.SD), 1e-12)
}

// The test takes the coefficients that multinom of R's nnet 7.3-18 finds for this table. At these
// coefficients the log likelihood must equal the maximum that R reports, and its gradient must be
// zero.
//
//	multinom(y ~ x + z, reltol = 1e-14, abstol = 1e-14, maxit = 1000)
func TestMultinom(t *testing.T) {
	x := []float64{-1.2, 0.4, 0.1, 1.3, -0.7, 2.1, 0.9, -0.2, -1.5, 0.6, 1.1, -0.4, 0.3, -0.9, 1.8, 0.0, -2.0, 0.7}
	z := []float64{0.5, -1.1, 0.3, 0.8, 1.9, -0.6, -1.4, 0.2, -0.3, 1.2, 0.7, -2.1, 1.0, -0.8, 0.1, 0.4, 1.5, -1.7}
	y := "abacbcbaacbbaccbaa"
	opt := DesignOptions{Target: "y", Likelihood: likelihood.CategoricalKind}
	text := "x,z,y\n"
	for i := range x {
		text += fmt.Sprintf("%v,%v,%c\n", x[i], z[i], y[i])
	}
	data, err := table.Parse("t", []byte(text))
	require.NoError(t, err)
	design, err := NewDesign(data, opt)
	require.NoError(t, err)
	problem, err := NewProblem(design, ModelOptions{Likelihood: opt.Likelihood})
	require.NoError(t, err)
	theta := make([]float64, 6)
	problem.fromOriginal([]int32{1, 1}, []float64{-0.0383281256804, -0.8565636045331, 0.80560233248, 1.86889075053, -0.235672465113, 0.255902407032}, theta)
	fit, err := fitOf(problem.Target, problem.Target.active([]int32{1, 1}))
	require.NoError(t, err)
	copy(fit.mode, theta)
	prior := fit.constant
	for j, v := range theta {
		prior -= v * v / (2 * fit.SD[j] * fit.SD[j])
	}
	require.InDelta(t, -15.870144801879, fit.logJoint(theta)-prior, 1e-10)
	fit.expandCategories(make([]float64, len(fit.eta)))
	for j, v := range theta {
		require.InDelta(t, 0, fit.step[j]+v/(fit.SD[j]*fit.SD[j]), 1e-6) // without the prior the gradient is zero, to the precision of R
	}
}

// Runs on three tables must be trusted, with inclusion probabilities that agree with sums over
// grids (threeCategories, nullCategories). For the first table chains must agree too.
func TestUnorderedRuns(t *testing.T) {
	testkit.Slow(t)
	tables := unorderedTables()
	for _, o := range []orderedTable{tables[0], tables[1], tables[4]} {
		problem := o.problem(t, likelihood.CategoricalKind)
		certified, err := Run(t.Context(), openDevice(t), problem, RunConfig{Fit: vti.Config{Seed: 1}, Certify: vti.CertifyConfig{Draws: 1 << 14}, Dir: t.TempDir()})
		require.NoError(t, err)
		require.Equal(t, vti.Trusted, certified.Certificate.Verdict, certified.Certificate.Reasons)
		x := mat.Col(nil, 1, problem.Design.X)
		logOdds := threeCategories(o, x) - nullCategories(o, 10)
		got := certified.Inclusion[0]
		require.InDelta(t, 1/(1+math.Exp(-logOdds)), float64(got.Certified), 5*float64(got.SE)+1e-3)
		require.NotEqual(t, modelcheck.Poor, certified.ModelCheck.Verdict, "%v", certified.ModelCheck)
		require.Equal(t, "x", certified.Coefficients[2].Predictor)
		if o.name != "usual" {
			continue // chains would take longer
		}
		sampled, err := RunChains(t.Context(), openDevice(t), problem, rjmcmc.Config{Chains: 64, BurnIn: 400, Iterations: 400, Seed: 3}, t.TempDir())
		require.NoError(t, err)
		require.InDelta(t, float64(got.Certified), float64(sampled.Inclusion[0].Certified), 5*float64(sampled.Inclusion[0].SE)+2e-3)
		requireCoefficients(t, certified, sampled)
	}
}

// A run is stored, opened again, and predicts two rows of a new table. The test computes the
// probabilities of the second row's categories from each stored draw, by the definition of the
// likelihood; the prediction must be their average. For the first row the observed category must
// get more than 0.8. An unknown label is an error.
func TestUnorderedPredictions(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("x,g,y\n")
	random := stream.Rand(5, "predictions")
	for i := range 60 {
		x, best, chosen := random.NormFloat64(), math.Inf(-1), 0
		for k, slope := range []float64{0, 2, -2} {
			if v := slope*x - math.Log(random.ExpFloat64()); v > best {
				best, chosen = v, k
			}
		}
		fmt.Fprintf(&text, "%v,%c,%s\n", x, "uvw"[i%3], []string{"cat", "dog", "a:b"}[chosen])
	}
	path := filepath.Join(dir, "data.csv")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	design := DesignOptions{Target: "y", Likelihood: likelihood.CategoricalKind, Levels: []string{"cat", "dog", "a:b"}}
	record := &Record{Header: run.Header{Command: "varsel", Data: path, Device: "cpu"}, Design: design, Model: ModelOptions{Likelihood: design.Likelihood}, Seed: 1}
	_, err := record.Table()
	require.NoError(t, err)
	require.NoError(t, run.WriteRecord(dir, record))
	problem, err := record.Problem()
	require.NoError(t, err)
	result, err := Run(t.Context(), openDevice(t), problem, RunConfig{Fit: vti.Config{Seed: 1}, Certify: vti.CertifyConfig{Draws: 1 << 13}, Dir: dir})
	require.NoError(t, err)
	var names []string
	for _, c := range result.Coefficients {
		names = append(names, c.Name+" of "+c.Predictor)
	}
	require.Equal(t, []string{"dog:(Intercept) of ", "a:b:(Intercept) of ", "dog:x of x", "a:b:x of x", "dog:g=v of g", "a:b:g=v of g", "dog:g=w of g", "a:b:g=w of g"}, names)
	stored, err := OpenRun(dir)
	require.NoError(t, err)
	fresh, err := table.Parse("new", []byte("x,g,y\n-2,u,a:b\n2,w,dog\n"))
	require.NoError(t, err)
	rows, err := stored.Rows(fresh)
	require.NoError(t, err)
	require.Equal(t, []float64{2, 1}, rows.Y)
	predicted, err := predict.Summarise(t.Context(), rows, predict.Config{})
	require.NoError(t, err)
	draws, err := stored.readDraws()
	require.NoError(t, err)
	want := make([]float64, 3)
	for s := range draws.Len() {
		v := draws.Values(s) // for the row with x = 2 and g = w
		e := []float64{1, math.Exp(v[0] + 2*v[2] + v[6]), math.Exp(v[1] + 2*v[3] + v[7])}
		floats.AddScaled(want, 1/floats.Sum(e)/float64(draws.Len()), e)
	}
	for k, p := range predicted.Predictions[1].Probabilities {
		require.InDelta(t, want[k], float64(p), 1e-10)
	}
	require.Greater(t, float64(predicted.Predictions[0].Probabilities[2]), 0.8)
	require.True(t, math.IsNaN(float64(predicted.Predictions[0].Mean)) && math.IsNaN(float64(predicted.Observed.Covered)))
	fitted, err := stored.Rows(nil)
	require.NoError(t, err)
	loo, err := predict.LeaveOneOut(t.Context(), fitted, 1)
	require.NoError(t, err)
	require.Nil(t, loo.R2)
	require.InDelta(t, -40, float64(loo.ELPD), 20)
	_, err = stored.Rows(must(table.Parse("new", []byte("x,g,y\n-2,u,lower\n"))))
	require.ErrorContains(t, err, `got "lower", want one of the levels cat, dog, a:b`)
	comparison, err := Compare(t.Context(), stored, stored)
	require.NoError(t, err)
	require.InDelta(t, float64(comparison.CrossEntropy.OwnDraws), float64(comparison.CrossEntropy.Mean), 1e-3)
}

// If the probabilities of categories depend on the square of a predictor, which is not in the
// model, the check of the model finds this and names the predictor. With the square in the model it
// finds nothing.
func TestUnorderedModelCheck(t *testing.T) {
	random := stream.Rand(6, "bend")
	const n = 300
	x, square, y := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = random.NormFloat64()
		square[i] = x[i] * x[i]
		best := math.Inf(-1)
		for k := range 3 {
			score := -math.Log(random.ExpFloat64())
			if k == 2 {
				score += 2*square[i] - 1
			}
			if score > best {
				best, y[i] = score, float64(k)
			}
		}
	}
	for _, bent := range []bool{true, false} {
		columns := []*table.Column{table.Numbers("x", x), table.Numbers("y", y)}
		if !bent {
			columns = append(columns, table.Numbers("square", square))
		}
		opt := DesignOptions{Target: "y", Likelihood: likelihood.CategoricalKind}
		problem, err := NewProblem(designOf(t, opt, columns...), ModelOptions{Likelihood: opt.Likelihood})
		require.NoError(t, err)
		code := slices.Repeat([]int32{1}, len(columns)-1)
		theta, _, _, err := laplaceProposals{problem.models()}.propose(code, 400, random)
		require.NoError(t, err)
		report, err := problem.checkModel(t.Context(), problem.toOriginal(slices.Repeat([][]int32{code}, 400), theta), 1)
		require.NoError(t, err)
		require.Equal(t, bent, report.Verdict != modelcheck.Good, "%v", report.Findings)
		require.Equal(t, bent, slices.ContainsFunc(report.Findings, func(f modelcheck.Finding) bool {
			return strings.Contains(f.What, "y = 2") && f.Where == "column x"
		}), "%v", report.Findings)
		require.Len(t, report.Predictive, 3)
		require.Nil(t, report.Fitted)
	}
}

// In a simulated table, each effect raises or lowers the log odds of one category of the response
// against the mean of the other categories. The mode of the posterior has these effects within four
// standard errors.
func TestUnorderedSimulation(t *testing.T) {
	data, err := design.Simulate(design.Simulation{Likelihood: likelihood.CategoricalKind, Rows: 3000, Predictors: 4, Effects: 4, Seed: 3})
	require.NoError(t, err)
	var columns []*table.Column
	for j, name := range data.Names {
		columns = append(columns, table.Numbers(name, data.Columns[j]))
	}
	opt := DesignOptions{Target: "y", Likelihood: likelihood.CategoricalKind}
	problem, err := NewProblem(designOf(t, opt, columns...), ModelOptions{Likelihood: opt.Likelihood})
	require.NoError(t, err)
	code := []int32{1, 1, 1, 1}
	fit, err := fitOf(problem.Target, problem.Target.active(code))
	require.NoError(t, err)
	beta := problem.toOriginal([][]int32{code}, mat.NewDense(1, len(fit.mode), fit.mode)).Values.RawRowView(0)
	for e, effect := range data.Effects {
		require.Equal(t, e, *effect.Category)
		slopes := append([]float64{0}, beta[3*(1+e):3*(2+e)]...) // log odds of the categories, per unit of the predictor of this effect
		other := (floats.Sum(slopes) - slopes[e]) / 3
		require.InDelta(t, effect.Size, slopes[e]-other, 0.35) // four standard errors, which are 0.08
	}
}

// Each fault in the options of a categorical response without an order has an error message.
func TestUnorderedRefusals(t *testing.T) {
	kind := likelihood.CategoricalKind
	for want, opt := range map[string]DesignOptions{
		`got "c", want one of the levels a, b`:                            {Target: "y", Likelihood: kind, Levels: []string{"a", "b"}},
		`offset "x": the categorical likelihood has a linear predictor`:   {Target: "y", Likelihood: kind, Offset: "x"},
		"levels of the response are for cumulative-logit, cumulative-pro": {Target: "x", Likelihood: likelihood.GaussianKind, Levels: []string{"a"}},
		`line 3: target "x": got 0.5, want whole numbers or labels`:       {Target: "x", Likelihood: kind},
	} {
		data, err := table.Parse("t", []byte("y,x\na,1\nb,0.5\nc,2\n"))
		require.NoError(t, err)
		_, err = NewDesign(data, opt)
		require.ErrorContains(t, err, want)
	}
	problem := unorderedTables()[0].problem(t, kind)
	_, err := NewProblem(problem.Design, ModelOptions{Likelihood: kind, Codes: ListCodes})
	require.ErrorIs(t, err, errCategoryLists)
}
