package varsel

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/table"
)

func ownProbabilities(probabilities ...float64) Prior {
	return Prior{Kind: InclusionPrior, Inclusion: probabilities}
}

// logPriorByHand returns log p(m) up to a constant. It is a product over predictors if each has its
// own prior inclusion probability.
func logPriorByHand(p *Problem, members []int) float64 {
	prior := p.Model.Prior
	if prior.Kind != InclusionPrior {
		return prior.LogProbs(len(p.Design.Predictors))[len(members)]
	}
	product := 1.0
	for j, π := range prior.Inclusion {
		if slices.Contains(members, j) {
			product *= π
		} else {
			product *= 1 - π
		}
	}
	return math.Log(product)
}

// withPrior returns the problem of a design with another prior over models. If lists is not 0,
// models are lists of at most lists predictors.
func withPrior(t testing.TB, d *Design, prior Prior, lists int) *Problem {
	t.Helper()
	model := ModelOptions{Likelihood: d.Likelihood, Prior: prior, Codes: BitCodes}
	if lists > 0 {
		model.Prior.MaxSize, model.Codes = lists, ListCodes
	}
	problem, err := NewProblem(d, model)
	require.NoError(t, err)
	return problem
}

// bySums returns the inclusion probabilities under a prior that is a product over predictors, from
// the log evidences of all models up to the largest size.
func bySums(p *Problem, logEvidence func(code []int32) float64) (inclusion []float64) {
	inclusion, total := make([]float64, len(p.Design.Predictors)), 0.0
	reference := math.NaN()
	for _, code := range space.All(slices.Repeat([]int{2}, len(inclusion))) {
		members := bitMembers(code)
		if len(members) > p.Model.Prior.Limit(len(inclusion)) {
			continue
		}
		log := logEvidence(code)
		if math.IsNaN(reference) {
			reference = log
		}
		weight := math.Exp(log - reference + logPriorByHand(p, members))
		total += weight
		for _, j := range members {
			inclusion[j] += weight
		}
	}
	for j := range inclusion {
		inclusion[j] /= total
	}
	return inclusion
}

func unevenProbabilities(n int) (list []float64) {
	random := stream.Rand(uint64(n), "inclusion probabilities")
	for range n {
		list = append(list, 1/(1+math.Exp(-2*random.NormFloat64()+1.5)))
	}
	return list
}

// TestInclusionPriorAnswers compares answers under prior inclusion probabilities of single
// predictors with sums over models. The sums take the evidences of models from a run with another
// prior, and multiply each by a prior that is a product over predictors. The answers come from a
// factorization for each model, a walk that updates one factorization from model to model, and
// Markov chains over lists of predictors.
func TestInclusionPriorAnswers(t *testing.T) {
	device := openDevice(t)
	for _, c := range []struct {
		predictors, lists int
		kind              likelihood.Kind
	}{{6, 0, likelihood.GaussianKind}, {13, 0, likelihood.GaussianKind}, {9, 6, likelihood.GaussianKind}, {4, 0, likelihood.LogisticKind}, {4, 0, likelihood.PoissonKind}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			d, err := NewDesign(correlated(t, c.kind, 60, c.predictors, 2), DesignOptions{Target: "y", Exclude: []string{"o"}, Likelihood: c.kind})
			require.NoError(t, err)
			problem := withPrior(t, d, ownProbabilities(unevenProbabilities(c.predictors)...), c.lists)
			other := withPrior(t, d, Prior{Kind: UniformPrior}, 0)
			other.AllModels = true
			enumerated, err := Run(t.Context(), device, other, RunConfig{Precision: 0.002, Fit: vti.Config{Seed: 1}})
			require.NoError(t, err)
			evidences := map[string]float64{}
			for _, m := range enumerated.Models {
				evidences[m.Code] = float64(*m.LogEvidence)
			}
			want := bySums(problem, func(code []int32) float64 {
				log, known := evidences[modelText(bitMembers(code), c.predictors)]
				require.True(t, known)
				return log
			})
			result, err := Run(t.Context(), device, problem, RunConfig{Precision: 0.005, Fit: vti.Config{Seed: 2}})
			require.NoError(t, err)
			require.Equal(t, vti.Trusted, result.Certificate.Verdict)
			for j, in := range result.Inclusion {
				require.InDelta(t, want[j], float64(in.Certified), 5*float64(in.SE+enumerated.Inclusion[j].SE)+1e-8, in.Name)
				require.InDelta(t, problem.Model.Prior.Inclusion[j], float64(*in.Prior), 0)
			}
			if c.kind == likelihood.GaussianKind && c.lists == 0 {
				exact, err := RunExact(t.Context(), problem, nil, "")
				require.NoError(t, err)
				for j, in := range exact.Inclusion {
					require.InDelta(t, want[j], float64(in.Certified), 1e-8, in.Name)
				}
			}
		})
	}
}

// TestInclusionPriorOfLists compares log p(m) that computation graphs give for lists of predictors
// with products over predictors. In lists, predictors are numbered in another order.
func TestInclusionPriorOfLists(t *testing.T) {
	d, err := NewDesign(correlated(t, likelihood.GaussianKind, 40, 6, 2), DesignOptions{Target: "y", Exclude: []string{"o"}})
	require.NoError(t, err)
	problem := withPrior(t, d, ownProbabilities(unevenProbabilities(6)...), 4)
	require.False(t, slices.IsSorted(problem.Slots.order))
	var codes [][]int32
	for code := range problem.Slots.space.Models() {
		codes = append(codes, slices.Clone(code))
	}
	logPrior := graph.MustNewExec(testkit.Backend(t), problem.Slots.LogPrior).MustExec(codes)[0].Value().([]float64)
	total := 0.0
	for i, code := range codes {
		require.InDelta(t, logPriorByHand(problem, problem.members(code))-logPriorByHand(problem, problem.members(codes[0])), logPrior[i]-logPrior[0], 1e-9)
		total += math.Exp(logPrior[i])
	}
	require.InDelta(t, 1, total, 1e-12)
}

// TestEqualInclusionProbabilities checks that predictors with equal prior probabilities π give the
// answer of the prior bernoulli:π, for models as bits and as lists.
func TestEqualInclusionProbabilities(t *testing.T) {
	device := openDevice(t)
	for _, lists := range []int{0, 5} {
		d, err := NewDesign(correlated(t, likelihood.GaussianKind, 50, 18, 3), DesignOptions{Target: "y", Exclude: []string{"o"}})
		require.NoError(t, err)
		var results []*Result
		for _, prior := range []Prior{{Kind: BernoulliPrior, Pi: 0.07}, ownProbabilities(slices.Repeat([]float64{0.07}, 18)...)} {
			result, err := Run(t.Context(), device, withPrior(t, d, prior, lists), RunConfig{Precision: 0.01, Fit: vti.Config{Seed: 1}})
			require.NoError(t, err)
			results = append(results, result)
		}
		require.InDelta(t, float64(*results[0].LogEvidence), float64(*results[1].LogEvidence), 1e-3)
		for j, in := range results[0].Inclusion {
			require.InDelta(t, float64(in.Certified), float64(results[1].Inclusion[j].Certified), 1e-6+5*float64(in.SE))
		}
	}
}

// TestInclusionPriorOfStatistics compares the answer from summary statistics with the answer from
// rows.
func TestInclusionPriorOfStatistics(t *testing.T) {
	device, r := openDevice(t), newRegion(stream.Rand(3, "region"), 300, 12, 0.1)
	rows, statistics := r.rows(t), r.statistics(t, r.z(), r.correlations(), 300)
	var answers []*Result
	for _, p := range []*Problem{rows, statistics} {
		result, err := Run(t.Context(), device, withPrior(t, p.Design, ownProbabilities(unevenProbabilities(len(p.Design.Predictors))...), 0), RunConfig{Fit: vti.Config{Seed: 1}})
		require.NoError(t, err)
		answers = append(answers, result)
	}
	for j, in := range answers[0].Inclusion {
		require.InDelta(t, float64(in.Certified), float64(answers[1].Inclusion[j].Certified), 1e-4, in.Name)
	}
}

// TestInclusionFile reads probabilities in any order, by the names of predictors.
func TestInclusionFile(t *testing.T) {
	data := must(table.New("data", table.Numbers("y", []float64{1, 3, 2, 5, 4, 7}), table.Numbers("a", []float64{1, 2, 4, 3, 6, 5}),
		table.Numbers("again", []float64{2, 4, 8, 6, 12, 10}), table.Texts("colour", []string{"red", "blue", "green", "red", "blue", "green"}), table.Numbers("b", []float64{0, 1, 1, 0, 0, 1})))
	d, err := NewDesign(data, DesignOptions{Target: "y", DropDegenerate: true})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "colour", "b"}, d.PredictorNames())
	for name, c := range map[string]struct {
		file, fails string
		want        []float64
	}{
		"in any order":               {file: "predictor,probability\nb,0.1\na,0.2\ncolour,0.3", want: []float64{0.2, 0.3, 0.1}},
		"others":                     {file: "predictor,probability\n*,0.1\na,0.2", want: []float64{0.2, 0.1, 0.1}},
		"further columns":            {file: "source,probability,predictor\nx,0.1,b\ny,0.2,a\nz,0.3,colour", want: []float64{0.2, 0.3, 0.1}},
		"of a whole genome":          {file: "predictor,probability\nb,0.1\nelsewhere,0.9\na,0.2\ncolour,0.3", want: []float64{0.2, 0.3, 0.1}},
		"a duplicate is left out":    {file: "predictor,probability\nb,0.1\na,0.2\nagain,0.7\ncolour,0.3", want: []float64{0.7, 0.3, 0.1}},
		"only its duplicate has one": {file: "predictor,probability\nb,0.1\nagain,0.7\ncolour,0.3", want: []float64{0.7, 0.3, 0.1}},
		"its duplicate is an other":  {file: "predictor,probability\n*,0.4\na,0.2\ncolour,0.3", want: []float64{0.4, 0.3, 0.4}},

		"none for a predictor":     {file: "predictor,probability\nb,0.1\na,0.2", fails: `no row for predictor "colour"`},
		"misspelled":               {file: "predictor,probability\nB,0.1\na,0.2\ncolour,0.3", fails: `no row for predictor "b"`},
		"misspelled beside others": {file: "predictor,probability\n*,0.1\nA,0.2", fails: `"A" is not a predictor`},
		"an indicator of a factor": {file: "predictor,probability\n*,0.1\ncolour=red,0.2", fails: `"colour=red" is not a predictor`},
		"twice":                    {file: "predictor,probability\nb,0.1\na,0.2\ncolour,0.3\nb,0.1", fails: `predictor "b" has a row already`},
		"zero":                     {file: "predictor,probability\nb,0\na,0.2\ncolour,0.3", fails: "strictly between 0 and 1"},
		"one":                      {file: "predictor,probability\nb,1\na,0.2\ncolour,0.3", fails: "strictly between 0 and 1"},
		"rounds to one":            {file: "predictor,probability\nb,0.99999999999999999\na,0.2\ncolour,0.3", fails: "strictly between 0 and 1"},
		"percent":                  {file: "predictor,probability\nb,10\na,20\ncolour,30", fails: "strictly between 0 and 1"},
		"negative":                 {file: "predictor,probability\nb,-0.1\na,0.2\ncolour,0.3", fails: "strictly between 0 and 1"},
		"missing":                  {file: "predictor,probability\nb,NA\na,0.2\ncolour,0.3", fails: "the value is missing"},
		"no name":                  {file: "predictor,probability\n,0.1\na,0.2\ncolour,0.3", fails: "the name of the predictor is missing"},
		"a word":                   {file: "predictor,probability\nb,high\na,0.2\ncolour,0.3", fails: `column "probability"`},
		"another header":           {file: "snp,weight\nb,0.1\na,0.2\ncolour,0.3", fails: "predictor"},
	} {
		t.Run(name, func(t *testing.T) {
			file := InclusionFile{File: filepath.Join(t.TempDir(), "prior.csv")}
			require.NoError(t, os.WriteFile(file.File, []byte(c.file+"\n"), 0o600))
			prior, err := file.prior(d, 2)
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, Prior{Kind: InclusionPrior, MaxSize: 2, Inclusion: c.want}, prior)
			require.NoError(t, os.WriteFile(file.File, []byte(c.file+"\n\n"), 0o600))
			_, err = file.prior(d, 2)
			require.ErrorContains(t, err, "has changed since the run started")
		})
	}
}

// Prior inclusion probabilities are refused under heredity, if their number is not the number of
// predictors, or if their sum reaches the largest size of a model.
func TestInclusionPriorRefusals(t *testing.T) {
	d, err := NewDesign(correlated(t, likelihood.GaussianKind, 30, 3, 1), DesignOptions{Target: "y", Exclude: []string{"o"}, Interactions: []string{"x0:x1"}})
	require.NoError(t, err)
	prior := ownProbabilities(0.1, 0.2, 0.3, 0.4)
	_, err = NewProblem(d, ModelOptions{Prior: prior})
	require.ErrorContains(t, err, "want --heredity none")
	_, err = NewProblem(d, ModelOptions{Prior: prior, Heredity: NoHeredity})
	require.NoError(t, err)
	_, err = NewProblem(d, ModelOptions{Prior: ownProbabilities(0.1, 0.2), Heredity: NoHeredity})
	require.ErrorContains(t, err, "want one for each of 4 predictors")
	prior.MaxSize = 1
	_, err = NewProblem(d, ModelOptions{Prior: prior, Heredity: NoHeredity})
	require.ErrorContains(t, err, "add up to 1, and a model has at most 1 predictor")
}
