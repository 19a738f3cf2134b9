package papers

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/lab/published"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/shard"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel"
)

// robust is a simulated table of a robust regression together with a prior. The fields level and
// prior are names in the settings.
type robust struct {
	level, prior string
	predictors   int
	number       int // number of the data set, which is its seed
}

func (r robust) String() string {
	return fmt.Sprintf("%s %s %d %d", r.level, r.prior, r.predictors, r.number)
}

// problem returns the problem of Davies et al. (2025): all models have equal prior probability,
// every model has a constant, and nothing is standardised.
func (r robust) problem() (*varsel.Problem, error) {
	s := settingsOf[vtiSettings]("vti")
	simulation := published.Design{Rows: s.Rows, Predictors: r.predictors, Seed: uint64(r.number)}
	if err := simulation.Misspecification.UnmarshalText([]byte(r.level)); err != nil {
		return nil, err
	}
	data := simulation.Simulate()
	var columns []*table.Column
	for i, name := range data.Names {
		columns = append(columns, table.Numbers(name, data.Columns[i]))
	}
	made, err := table.New(r.String(), columns...)
	if err != nil {
		return nil, err
	}
	d, err := varsel.NewDesign(made, varsel.DesignOptions{Target: "y", NoStandardize: true, NoIntercept: true, Always: []string{"x0"}, Likelihood: likelihood.RobustKind})
	if err != nil {
		return nil, err
	}
	return varsel.NewProblem(d, varsel.ModelOptions{
		Prior: varsel.Prior{Kind: varsel.UniformPrior}, Likelihood: likelihood.RobustKind, SlabScale: s.PriorSD[r.prior],
		Sigma1: s.Likelihood.Sigma[0], Sigma2: s.Likelihood.Sigma[1], Outlier: s.Likelihood.Outliers,
	})
}

// reference is the posterior that vti computes by default for a table, with coefficients integrated
// out of the probabilities of models. It holds the probabilities of models, and draws of models and
// coefficients.
type reference struct {
	Verdict     string
	LogEvidence float64
	Models      map[string]float64 // probabilities of models, by their bits
	Codes       [][]int32
	Theta       []float64 // [draws, coordinates]
	LogP        []float64 // log posterior density of each draw
	Chain       []int     // chain of each draw; nil for independent draws
}

// reference returns the reference of a table. Several processes compute it only once.
func (l *Lab) reference(ctx context.Context, r robust, draws int, seed uint64) (*reference, error) {
	type input struct {
		robust
		draws int
		seed  uint64
	}
	found, err := shard.Map(ctx, l.Own, shard.Stage[input, *reference]{
		Name: "reference",
		Key:  func(w io.Writer, in input) { fmt.Fprintln(w, in.robust, in.draws, in.seed) },
		Do: func(ctx context.Context, in input) (*reference, error) {
			l.Status(fmt.Sprintf("reference: %s", in.robust))
			return l.answer(ctx, in.robust, in.draws, in.seed)
		},
	}, []input{{r, draws, seed}})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// answer computes the reference of a table.
func (l *Lab) answer(ctx context.Context, r robust, draws int, seed uint64) (*reference, error) {
	problem, err := r.problem()
	if err != nil {
		return nil, err
	}
	config, err := (&varsel.Record{Seed: seed}).FitConfig(problem)
	if err != nil {
		return nil, err
	}
	solution, err := vti.Solve(ctx, l.Device, problem.Posterior(), vti.SolveConfig{Fit: config, Certify: vti.CertifyConfig{Confirm: true}, AnswerOnly: true})
	if err != nil {
		return nil, err
	}
	c := solution.Certificate
	out := &reference{Verdict: c.Verdict.String(), LogEvidence: c.LogEvidence, Models: map[string]float64{}}
	for _, m := range c.Models {
		out.Models[bitsOf(m.Code)] = m.Certified
	}
	sample := c.Sample.Resample(draws, seed)
	out.Codes, out.Chain = sample.Codes, sample.Group
	for i, logP := range sample.LogP {
		out.LogP = append(out.LogP, logP-c.LogEvidence)
		out.Theta = append(out.Theta, sample.Theta.RawRowView(i)...)
	}
	return out, nil
}

func bitsOf(code []int32) string {
	bits := make([]byte, len(code))
	for i, bit := range code {
		bits[i] = '0' + byte(bit)
	}
	return string(bits)
}

// fit is a flow together with a distribution over models. As in Davies et al. (2025), the flow is
// the identity before training, and q(m) is the prior.
type fit struct {
	robust
	sampler, flow string
	steps, batch  int
	draws         int
}

// flowOf returns the configuration of a flow of Davies et al. (2025).
func flowOf(name string) cosmic.Config {
	return map[string]cosmic.Config{"diag": cosmic.DiagonalMLP(0, 0), "affine": cosmic.Affine55(0, 0), "spline": cosmic.Spline46(0, 0)}[name]
}

// train trains a fit. The seed is the number of the data set.
func (l *Lab) train(ctx context.Context, f fit) (*varsel.Problem, *vti.Posterior, error) {
	problem, err := f.problem()
	if err != nil {
		return nil, nil, err
	}
	sampler, options := varsel.SurrogateSampler, varsel.SurrogateOptions{}
	switch f.sampler {
	case "diagonal":
		options.Belief = modeldist.DiagonalBelief
	case "process":
		options.Belief = modeldist.ProcessBelief
	default:
		if err := sampler.UnmarshalText([]byte(f.sampler)); err != nil {
			return nil, nil, err
		}
	}
	record := varsel.Record{
		Flow: flowOf(f.flow), Sampler: sampler, Surrogate: options, Learning: varsel.Learning{Start: vti.IdentityStart},
		Steps: f.steps, Batch: f.batch, Seed: uint64(f.number),
	}
	config, err := record.FitConfig(problem)
	if err != nil {
		return nil, nil, err
	}
	posterior, err := vti.Fit(ctx, l.Device, problem.Posterior(), config)
	return problem, posterior, err
}

// comparison compares a fit with the reference of its table. Entropies are in nats.
type comparison struct {
	variation, variationDefault float64 // distance from the reference: of q(m), and of a default answer with another seed
	entropy, crossEntropy       estimate
	within                      estimate // KL(posterior ‖ q) of the coefficients given the model
	gain, modelGain             estimate // increase of log q(m, θ) and log q(m) by training, at draws of the reference
	slope                       float64  // slope of within on log10 of the model's probability
	models                      []modelFit
}

// modelFit is one model: its bits, its probabilities under the reference and under q, and the
// cross-entropy of its coefficients.
type modelFit struct {
	bits               string
	reference, q, nats float64
	excess             float64 // cross-entropy minus entropy
}

// largestListed is the largest number of predictors for which all models are listed.
const largestListed = 9

// compare trains a fit and compares it with its reference.
func (l *Lab) compare(ctx context.Context, f fit) (*comparison, *reference, error) {
	found, err := l.reference(ctx, f.robust, f.draws, 1)
	if err != nil {
		return nil, nil, err
	}
	problem, posterior, err := l.train(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	dim := problem.Posterior().Space().Dim()
	logQ, err := posterior.LogProb(found.Codes, mat.NewDense(len(found.Codes), dim, found.Theta))
	if err != nil {
		return nil, nil, err
	}
	c := &comparison{variation: nan, variationDefault: nan, slope: nan}
	chains := found.Chain
	c.entropy, c.crossEntropy = meanOf(negated(found.LogP), chains), meanOf(negated(logQ), chains)
	gain := make([]float64, len(logQ))
	for i, code := range found.Codes {
		gain[i] = logQ[i] - startDensity(code, found.Theta[i*dim:(i+1)*dim])
	}
	c.gain = meanOf(gain, chains)
	if f.predictors > largestListed {
		return c, found, nil
	}
	if !l.Quick {
		second, err := l.reference(ctx, f.robust, f.draws, 2)
		if err != nil {
			return nil, nil, err
		}
		c.variationDefault = variation(second.Models, found.Models)
	}
	q, err := modelsUnder(posterior, allModels(f.predictors))
	if err != nil {
		return nil, nil, err
	}
	c.variation = variation(q, found.Models)
	c.fillModels(found, q, logQ)
	return c, found, nil
}

// drawnModels is the number of draws from q(m) with which modelsUnder finds models.
const drawnModels = 1 << 16

// modelsUnder returns the probabilities of models under q. They are exact for the models among
// drawnModels draws. The remaining probability is divided equally among all other models. Each of
// these has a probability of at most about 1/drawnModels.
func modelsUnder(posterior *vti.Posterior, all []string) (map[string]float64, error) {
	codes, logQ, err := posterior.SampleModels(drawnModels, "models")
	if err != nil {
		return nil, err
	}
	q, left := map[string]float64{}, 1.0
	for i, code := range codes {
		bits := bitsOf(code)
		if _, ok := q[bits]; !ok {
			q[bits] = math.Exp(logQ[i])
			left -= q[bits]
		}
	}
	undrawn := len(all) - len(q)
	for _, bits := range all {
		if _, ok := q[bits]; !ok {
			q[bits] = math.Max(left, math.SmallestNonzeroFloat64) / float64(undrawn)
		}
	}
	return q, nil
}

func allModels(predictors int) (all []string) {
	for m := range 1 << predictors {
		all = append(all, fmt.Sprintf("%0*b", predictors, m))
	}
	return all
}

// variation returns the total variation distance between two distributions over models.
func variation(a, b map[string]float64) (sum float64) {
	for bits, p := range a {
		sum += math.Abs(p-b[bits]) / 2
	}
	for bits, p := range b {
		if _, ok := a[bits]; !ok {
			sum += p / 2
		}
	}
	return sum
}

// startDensity returns log q(m, θ) at the start of training: models are uniform, and coefficients
// in the model are standard normal.
func startDensity(code []int32, theta []float64) float64 {
	sum := -float64(len(code)) * math.Ln2
	for i, x := range theta {
		if i == 0 || code[i-1] == 1 {
			sum -= x*x/2 + math.Log(2*math.Pi)/2
		}
	}
	return sum
}

// fewestDraws is the smallest number of draws of a model with which its coefficients are compared.
const fewestDraws = 10

// fillModels compares q and the reference for each model.
func (c *comparison) fillModels(found *reference, q map[string]float64, logQ []float64) {
	type sums struct{ nats, excess, count float64 }
	byModel := map[string]*sums{}
	var within, modelGain []float64
	for i, code := range found.Codes {
		bits := bitsOf(code)
		if byModel[bits] == nil {
			byModel[bits] = &sums{}
		}
		nats := math.Log(q[bits]) - logQ[i]
		excess := nats + found.LogP[i] - math.Log(found.Models[bits])
		byModel[bits].nats += nats
		byModel[bits].excess += excess
		byModel[bits].count++
		within = append(within, excess)
		modelGain = append(modelGain, math.Log(q[bits])+float64(len(code))*math.Ln2)
	}
	c.within, c.modelGain = meanOf(within, found.Chain), meanOf(modelGain, found.Chain)
	var x, y []float64
	for bits, s := range byModel {
		if s.count >= fewestDraws {
			m := modelFit{bits, found.Models[bits], q[bits], s.nats / s.count, s.excess / s.count}
			c.models = append(c.models, m)
		}
	}
	slices.SortFunc(c.models, func(a, b modelFit) int {
		if a.reference != b.reference {
			return compareNumbers(b.reference, a.reference)
		}
		return strings.Compare(a.bits, b.bits)
	})
	for _, m := range c.models {
		x, y = append(x, math.Log10(m.reference)), append(y, m.excess)
	}
	c.slope = slopeOf(x, y)
}
