package hard

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel"
)

// Varsel draws difficult tables for vti varsel. They have two rows or more, more predictors than
// rows, factors with up to nearly one level per row, columns that are nearly copies of other
// columns, scales from 1e−12 to 1e12, heavy tails, outliers, counts up to 1e9, separable and rare
// events, noise of almost zero, and known and unknown noise scales. Varsel also draws tables with
// many predictors, whose models have one or two; too many orthogonal columns to list all models;
// likelihoods with a shape and about one coefficient per row; times that are mostly censored; and
// g-priors with g from 0.001 to 100,000.
type Varsel struct {
	// Device computes the answers.
	Device *gpu.Device
	// Record holds all settings except the table, the likelihood and the prior over models.
	Record varsel.Record
	// Only, if not nil, is the likelihood of all tables.
	Only *likelihood.Kind
}

// Name implements [calibrate.Source].
func (h Varsel) Name() string {
	if h.Only != nil {
		return fmt.Sprintf("varsel, hard, %v", *h.Only)
	}
	return "varsel, hard"
}

// Replicate implements [calibrate.Source].
func (h Varsel) Replicate(ctx context.Context, seed uint64, dir string) (*calibrate.Replicate, error) {
	return calibrate.AnswerVarsel(ctx, h.Device, h.draw(stream.Rand(seed, "hard")), seed, dir)
}

// hardColumn is a predictor of a difficult table: numbers, or the level of a factor in each row.
type hardColumn struct {
	kind   string
	values []float64
	levels []string
	effect []float64 // its term of the linear predictor, for an effect of size 1
}

func (h Varsel) draw(random *rand.Rand) *calibrate.VarselProblem {
	if random.Float64() < 0.06 && (h.Only == nil || *h.Only == likelihood.GaussianKind) {
		return h.drawOrthogonal(random)
	}
	p := &calibrate.VarselProblem{Record: h.Record, Exact: ExactVarsel, Flags: []string{"--target y"}}
	p.Record.Design.Target = "y"
	kind := h.drawLikelihood(random)
	p.Record.Model.Likelihood, p.Record.Design.Likelihood = kind, kind
	sizes, most := hardSizes(kind)
	n := sizes[random.IntN(len(sizes))]
	columns := make([]*hardColumn, 1+random.IntN(most))
	lists := random.Float64() < 0.12 && !kind.HasCategories()
	if lists {
		h.drawLists(p, random)
		columns = make([]*hardColumn, fewestListed+random.IntN(8))
		if kind == likelihood.RobustKind {
			n = 3 + random.IntN(mostAssignedOver-2)
		}
	}
	var kinds []string
	for j := range columns {
		columns[j] = drawColumn(n, columns[:j], kind == likelihood.GaussianKind && !lists, lists, random)
		kinds = append(kinds, columns[j].kind)
	}
	eta := make([]float64, n)
	size := math.Pow(10, uniform(random, -1, 1))
	for _, c := range columns {
		if random.Float64() < 0.5 {
			b := size * random.NormFloat64()
			for i := range eta {
				eta[i] += b * c.effect[i]
			}
		}
	}
	y, how := drawResponse(kind, eta, random)
	p.Flags = append(p.Flags, "--likelihood "+kind.String())
	if kind.HasCategories() { // the table may lack some categories
		p.Record.Design.Levels = []string{"0", "1", "2"}
		if !kind.Ordered() {
			p.Record.Design.Levels = p.Record.Design.Levels[:2]
		}
		p.Flags = append(p.Flags, "--levels "+strings.Join(p.Record.Design.Levels, ","))
	}
	how += drawNoise(p, y, len(columns), lists, random)
	var more []*table.Column
	if kind.Survival() && random.Float64() < 0.4 {
		more = []*table.Column{censor(p, y, random)}
		how += ", few ends"
	}
	if !lists {
		how += drawSlab(p, columns, n, random)
	}
	drawPrior(p, random)
	if lists {
		kinds = []string{fmt.Sprintf("%d predictors, lists of %d", len(columns), p.Record.Model.Prior.MaxSize)}
	}
	p.About = fmt.Sprintf("%s, %d rows, %s; %s", kind, n, strings.Join(kinds, " "), how)
	p.CSV = hardTable(columns, y, more...)
	return p
}

// censor censors all times in y except one to three, and returns a column of 1 for censored times.
func censor(p *calibrate.VarselProblem, y []float64, random *rand.Rand) *table.Column {
	p.Record.Design.Censored = "cut"
	p.Flags = append(p.Flags, "--censored cut")
	cut := slices.Repeat([]float64{1}, len(y))
	for _, i := range random.Perm(len(y))[:min(len(y), 1+random.IntN(3))] {
		cut[i] = 0
	}
	for i, c := range cut {
		y[i] = math.Max(y[i]*(1-c*random.Float64()), 1e-100)
	}
	return table.Numbers("cut", cut)
}

// drawLikelihood draws a likelihood, or returns h.Only if it is set.
func (h Varsel) drawLikelihood(random *rand.Rand) likelihood.Kind {
	switch u := random.Float64(); {
	case h.Only != nil:
		return *h.Only
	case u < 0.3:
		return likelihood.GaussianKind
	case u < 0.55:
		return likelihood.RobustKind
	case u < 0.7:
		return likelihood.StudentKind
	case u < 0.85:
		return likelihood.LogisticKind
	}
	return likelihood.PoissonKind
}

// hardSizes returns the numbers of rows to draw from for a likelihood, and the largest number of
// predictors for which there is an exact answer.
func hardSizes(kind likelihood.Kind) (rows []int, mostPredictors int) {
	switch kind {
	case likelihood.GaussianKind:
		return []int{2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 40, 80}, 9
	case likelihood.RobustKind:
		return []int{3, 4, 5, 6, 8, 10, 12}, 4
	case likelihood.StudentKind:
		return []int{2, 3, 4, 6, 9, 14, 25}, mostCellDim - 1
	}
	if shapedRows(kind) != nil || kind.Ordered() { // with few rows, the posterior is a narrow ridge
		return []int{2, 3, 3, 4, 4, 5, 6, 8, 12, 20, 40}, mostParameters - 2
	}
	return []int{3, 5, 8, 12, 20, 40, 80}, mostParameters - 1
}

// drawNoise decides whether the noise scale is known, if there are exact answers for both cases. It
// returns a description of the settings that differ from the default.
func drawNoise(p *calibrate.VarselProblem, y []float64, predictors int, lists bool, random *rand.Rand) string {
	model := &p.Record.Model
	known := func(from, to float64) string {
		model.Sigma = stat.StdDev(y, nil) * math.Pow(10, uniform(random, from, to))
		p.Flags = append(p.Flags, fmt.Sprintf("--sigma %.17g", model.Sigma))
		return ", known noise scale"
	}
	switch {
	case model.Likelihood == likelihood.GaussianKind && random.Float64() < 0.2:
		return known(-4, 0.5)
	case model.Likelihood == likelihood.StudentKind && (predictors >= mostCellDim-1 || random.Float64() < 0.4):
		return known(-2.5, 0.5)
	case model.Likelihood == likelihood.RobustKind && !lists && (len(y) <= mostAssignedOver || predictors == 1) && random.Float64() < 0.5:
		model.UnknownSigma1 = true
		p.Flags = append(p.Flags, "--sigma1 unknown")
		return ", unknown noise scale"
	}
	return ""
}

// drawPrior draws a prior over models. It keeps the limit on the number of predictors in a model.
func drawPrior(p *calibrate.VarselProblem, random *rand.Rand) {
	prior := &p.Record.Model.Prior
	switch most := prior.MaxSize; random.IntN(4) {
	case 0:
		*prior = varsel.Prior{Kind: varsel.BernoulliPrior, Pi: 0.1, MaxSize: most}
		p.Flags = append(p.Flags, "--model-prior bernoulli:0.1")
	case 1:
		*prior = varsel.Prior{Kind: varsel.BetaBinomialPrior, A: 1, B: 1, MaxSize: most}
		p.Flags = append(p.Flags, "--model-prior betabinomial:1,1")
	default:
		*prior = varsel.Prior{Kind: varsel.UniformPrior, MaxSize: most}
		p.Flags = append(p.Flags, "--model-prior uniform")
	}
}

// fewestListed is the smallest number of predictors of tables in which models are coded as lists of
// their predictors.
const fewestListed = 21

// drawLists sets models to be coded as lists of one or two predictors, so that an exact answer can
// sum over all models.
func (h Varsel) drawLists(p *calibrate.VarselProblem, random *rand.Rand) {
	model := &p.Record.Model
	model.Codes, model.Prior.MaxSize = varsel.ListCodes, 1
	if model.Likelihood == likelihood.GaussianKind || model.Likelihood == likelihood.RobustKind {
		model.Prior.MaxSize += random.IntN(2)
	}
	p.Flags = append(p.Flags, fmt.Sprintf("--codes lists --max-size %d", model.Prior.MaxSize))
}

// drawOrthogonal draws a table with orthogonal columns and a known noise scale. It has too many
// predictors to list all models, but the exact posterior is known, because it is a product over
// columns.
func (h Varsel) drawOrthogonal(random *rand.Rand) *calibrate.VarselProblem {
	p := &calibrate.VarselProblem{Record: h.Record, Exact: ExactVarsel, Flags: []string{"--target y"}}
	p.Record.Design.Target, p.Record.Design.Likelihood = "y", likelihood.GaussianKind
	predictors := []int{18, 30, 45, 60}[random.IntN(4)]
	n := predictors + 2 + random.IntN(predictors)
	noise, share := math.Pow(10, uniform(random, -1, 0.5)), []float64{0.02, 0.1, 0.3}[random.IntN(3)]
	x := orthogonalColumns(n, predictors+1, random)
	columns, y := make([]*hardColumn, predictors), make([]float64, n)
	for i := range y {
		y[i] = noise * random.NormFloat64()
	}
	for j := range columns {
		columns[j] = &hardColumn{values: mat.Col(nil, j+1, x)}
		if random.Float64() < share {
			floats.AddScaled(y, random.NormFloat64(), columns[j].values)
		}
	}
	model := &p.Record.Model
	model.Likelihood, model.Sigma = likelihood.GaussianKind, noise
	model.Prior = varsel.Prior{Kind: varsel.BernoulliPrior, Pi: share}
	p.Flags = []string{"--target y", "--likelihood gaussian", fmt.Sprintf("--sigma %.17g", noise), fmt.Sprintf("--model-prior bernoulli:%g", share)}
	p.About = fmt.Sprintf("gaussian, %d rows, %d orthogonal columns; known noise scale %.1g", n, predictors, noise)
	p.CSV = hardTable(columns, y)
	return p
}

// orthogonalColumns returns a constant column and cosines of random frequencies. They are
// orthogonal, and the mean square of each is 1.
func orthogonalColumns(rows, columns int, random *rand.Rand) *mat.Dense {
	x, frequencies := mat.NewDense(rows, columns, nil), random.Perm(rows-1)
	x.Apply(func(i, j int, _ float64) float64 {
		if j == 0 {
			return 1
		}
		return math.Sqrt2 * math.Cos(math.Pi*float64(1+frequencies[j-1])*(float64(i)+0.5)/float64(rows))
	}, x)
	return x
}

// drawColumn draws a predictor, which may depend on earlier ones.
func drawColumn(n int, before []*hardColumn, factors, lists bool, random *rand.Rand) *hardColumn {
	c := &hardColumn{values: make([]float64, n), effect: make([]float64, n)}
	for i := range c.values {
		c.values[i] = random.NormFloat64()
	}
	switch u := random.Float64(); {
	case u < 0.25 && len(before) > 0 && before[len(before)-1].levels == nil:
		distance := math.Pow(10, uniform(random, -4.5, -0.3)) // correlations of 1 − 1e−9 and less
		if !lists && random.Float64() < 0.1 {
			distance = math.Pow(10, uniform(random, -9, -4.5)) // the program refuses most of these
		}
		c.kind = fmt.Sprintf("copy±%.0e", distance)
		for i, v := range before[len(before)-1].effect {
			c.values[i] = v + distance*c.values[i]
		}
	case u < 0.35:
		c.kind = "heavy"
		for i := range c.values {
			c.values[i] /= math.Sqrt(random.ExpFloat64())
		}
	case u < 0.45 && n > 3:
		c.kind = "rare"
		clear(c.values)
		for range 1 + random.IntN(2) {
			c.values[random.IntN(n)] = 1
		}
	case u < 0.6 && factors && n > 4 && n <= 24:
		levels := 2 + random.IntN(n-3)
		c.kind = fmt.Sprintf("factor:%d", levels)
		effects := make([]float64, levels)
		for l := range effects {
			effects[l] = random.NormFloat64()
		}
		for i := range n {
			l := random.IntN(levels)
			c.levels = append(c.levels, fmt.Sprintf("l%d", l))
			c.effect[i] = effects[l]
		}
		return c
	default:
		c.kind = "normal"
	}
	copy(c.effect, c.values)
	if random.Float64() < 0.3 {
		scale := math.Pow(10, uniform(random, -12, 12))
		shift := scale * random.NormFloat64() * math.Pow(10, uniform(random, 0, 5))
		c.kind += fmt.Sprintf("×%.0e", scale)
		for i := range c.values {
			c.values[i] = shift + scale*c.values[i]
		}
	}
	return c
}

// hardTable returns a table of predictors x1, x2, …, a response y and further columns.
func hardTable(columns []*hardColumn, y []float64, more ...*table.Column) []byte {
	var list []*table.Column
	for j, c := range columns {
		name := fmt.Sprintf("x%d", j+1)
		if c.levels != nil {
			list = append(list, table.Texts(name, c.levels))
		} else {
			list = append(list, table.Numbers(name, c.values))
		}
	}
	return calibrate.CSV(append(append(list, table.Numbers("y", y)), more...)...)
}
