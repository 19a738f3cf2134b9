package hard

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/combin"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/parallel"
)

// mostModels is the largest number of models of a block that are summed over. Models with more
// predictors are left out; if their probability exceeds mostLeftOut by extrapolation from the last
// two sizes, there is no exact answer.
const (
	mostModels  = 3000
	mostLeftOut = 3e-3
)

// mostInBlock returns the largest number of predictors of one block in a model.
func mostInBlock(predictors int) (size int) {
	for models := 1; size < predictors; size++ {
		if models += combin.Binomial(predictors, size+1); models > mostModels {
			break
		}
	}
	return size
}

// blockwise is a regression with many predictors, whose predictors are independent between blocks
// given one common number x, which is log σ or the intercept:
//
//	p(y, x | m) = exp(common(x)) Π_b exp(factor_b(m ∩ block b, x)).
//
// The evidence of all models of each size is then a product of polynomials over blocks.
type blockwise struct {
	p      *regressionProblem
	common func(x float64) float64
	blocks []block
}

// block holds the predictors of a block, and its models, see [mostInBlock].
type block struct {
	predictors []int
	models     []blockModel
}

// blockModel is a model of the predictors of one block. The function given returns the log factor
// of the block and the moments of the coefficients.
type blockModel struct {
	predictors []int
	given      func(x float64) (modelMoments, error)
}

// newBlockwise prepares all models of all blocks of predictors.
func (p *regressionProblem) newBlockwise(blocks [][]int, common func(x float64) float64, prepare func(block int, predictors []int) (func(x float64) (modelMoments, error), error)) (*blockwise, error) {
	b := &blockwise{p, common, make([]block, len(blocks))}
	return b, parallel.Do(len(blocks), func(k int) error {
		predictors := blocks[k]
		b.blocks[k].predictors = predictors
		for size := range min(len(predictors), p.mostPredictors(), mostInBlock(len(predictors))) + 1 {
			for _, chosen := range combin.Combinations(len(predictors), size) {
				for a, at := range chosen {
					chosen[a] = predictors[at]
				}
				given, err := prepare(k, chosen)
				if err != nil {
					return err
				}
				b.blocks[k].models = append(b.blocks[k].models, blockModel{chosen, given})
			}
		}
		return nil
	})
}

// mostPredictors returns the largest number of predictors of a model that the prior allows.
func (p *regressionProblem) mostPredictors() int {
	most := len(p.logPrior) - 1
	for math.IsInf(p.logPrior[most], -1) {
		most--
	}
	return most
}

// blocksOf returns the sets of predictors that are connected by the argument meet, which reports
// whether two coordinates depend on each other. It returns an error if a predictor has more than
// one column.
func (p *regressionProblem) blocksOf(meet func(a, b int) bool) (blocks [][]int, err error) {
	for g, columns := range p.groups {
		if len(columns) != 1 {
			return nil, fmt.Errorf("blocks: predictor %d has %d columns, want 1", g, len(columns))
		}
		joined := []int{g}
		blocks = slices.DeleteFunc(blocks, func(block []int) bool {
			if !slices.ContainsFunc(block, func(h int) bool { return meet(columns[0], p.groups[h][0]) }) {
				return false
			}
			joined = append(joined, block...)
			return true
		})
		slices.Sort(joined)
		blocks = append(blocks, joined)
	}
	return blocks, nil
}

// cosines returns xᵢᵀxⱼ of all columns i and j, divided by their norms [D, D].
func (p *regressionProblem) cosines() *mat.Dense {
	var gram mat.Dense
	gram.Mul(p.x.T(), p.x)
	_, dim := p.x.Dims()
	norms := make([]float64, dim)
	for j := range norms {
		norms[j] = math.Sqrt(gram.At(j, j))
	}
	gram.Apply(func(a, b int, v float64) float64 { return v / (norms[a] * norms[b]) }, &gram)
	return &gram
}

// orthogonal is the largest absolute cosine of columns that count as orthogonal, and the size of
// rounding errors of entries and singular values.
const orthogonal = 1e-9

// gaussianBlocks returns the exact posterior under normal noise if the predictors are in blocks
// whose columns are orthogonal to the columns of other blocks and to those in every model. The
// common number is log σ.
func (p *regressionProblem) gaussianBlocks() (*exactPosterior, error) {
	cosines := p.cosines()
	for _, a := range p.always {
		for _, columns := range p.groups {
			if math.Abs(cosines.At(a, columns[0])) > orthogonal {
				return nil, fmt.Errorf("blocks: columns %d and %d are not orthogonal", a, columns[0])
			}
		}
	}
	blocks, err := p.blocksOf(func(a, b int) bool { return math.Abs(cosines.At(a, b)) > orthogonal })
	if err != nil {
		return nil, err
	}
	fixed, err := p.conjugate(p.always)
	if err != nil {
		return nil, err
	}
	b, err := p.newBlockwise(blocks, func(logSigma float64) float64 {
		if p.sigma > 0 {
			return fixed.logDensity(logSigma)
		}
		return fixed.logDensity(logSigma) + logNormal(logSigma, p.logSigmaMean, p.logSigmaSD)
	}, func(_ int, predictors []int) (func(float64) (modelMoments, error), error) {
		c, err := p.conjugate(p.columns(predictors))
		return func(logSigma float64) (modelMoments, error) {
			m := c.moments(logSigma)
			m.logEvidence = c.gain(logSigma)
			return m, nil
		}, err
	})
	if err != nil {
		return nil, err
	}
	if p.sigma > 0 {
		return b.posterior(b.given(math.Log(p.sigma)))
	}
	o := p.logSigmas()
	o.From, o.To = p.logSigmaMean-10, p.logSigmaMean+4 // residuals are not close to zero with few predictors
	return b.posterior(over(o, b.given, math.Exp))
}

// gain returns the log density of the response less the log density without columns, as a sum in
// which no digits cancel however small σ is.
func (c *conjugate) gain(logSigma float64) (sum float64) {
	variance := math.Exp(2 * logSigma)
	for i, s := range c.singular {
		share := s * s / (variance + s*s)
		sum += (c.along[i]*c.along[i]/variance*share - math.Log1p(s*s/variance)) / 2
	}
	return sum
}

// columns returns the coordinates of predictors.
func (p *regressionProblem) columns(predictors []int) (columns []int) {
	for _, g := range predictors {
		columns = append(columns, p.groups[g]...)
	}
	return columns
}

// given returns the log evidence given x; for each predictor, its probability and the first two
// moments of its coefficient times this probability; and the probability of models that are left
// out.
func (b *blockwise) given(x float64) (modelMoments, error) {
	most := b.p.mostPredictors()
	moments := make([][]modelMoments, len(b.blocks))
	sizes := make([][]float64, len(b.blocks)) // log evidence of the models of each size in a block
	err := parallel.Do(len(b.blocks), func(k int) error {
		models := b.blocks[k].models
		sizes[k] = slices.Repeat([]float64{math.Inf(-1)}, 1+len(models[len(models)-1].predictors))
		for _, model := range models {
			m, err := model.given(x)
			if err != nil {
				return err
			}
			moments[k] = append(moments[k], m)
			size := len(model.predictors)
			sizes[k][size] = logsum.Add(sizes[k][size], m.logEvidence)
		}
		return nil
	})
	if err != nil {
		return modelMoments{}, err
	}
	// before[k] and after[k] hold the products over the blocks before and after block k.
	before, after := make([][]float64, len(b.blocks)+1), make([][]float64, len(b.blocks)+1)
	before[0], after[len(b.blocks)] = []float64{0}, []float64{0}
	for k := range b.blocks {
		before[k+1] = multiplied(before[k], sizes[k], most)
	}
	for k := len(b.blocks) - 1; k >= 0; k-- {
		after[k] = multiplied(after[k+1], sizes[k], most)
	}
	total := b.p.withPrior(after[0], 0)
	groups := len(b.p.groups)
	out := modelMoments{logEvidence: b.common(x) + total, mean: make([]float64, 3*groups+1), variance: make([]float64, 3*groups+1)}
	for k, block := range b.blocks {
		others := multiplied(before[k], after[k+1], most)
		probability := make([]float64, len(sizes[k])) // of each size in the block
		weights := make([]float64, len(sizes[k]))     // log prior and evidence of all else, by the size in this block
		for size := range weights {
			weights[size] = b.p.withPrior(others, size) - total
		}
		for at, model := range block.models {
			m, size := moments[k][at], len(model.predictors)
			w := math.Exp(weights[size] + m.logEvidence)
			probability[size] += w
			for a, g := range model.predictors {
				out.mean[3*g] += w
				out.mean[3*g+1] += w * m.mean[a]
				out.mean[3*g+2] += w * (m.variance[a] + m.mean[a]*m.mean[a])
			}
		}
		if size := len(probability) - 1; size < min(len(block.predictors), most) {
			out.mean[3*groups] += math.Min(1, probability[size]*probability[size]/math.Max(probability[size-1], math.SmallestNonzeroFloat64))
		}
	}
	return out, nil
}

// multiplied returns the logarithms of the coefficients of a product of two polynomials up to the
// power most, from the logarithms of the coefficients of both.
func multiplied(a, b []float64, most int) []float64 {
	product := slices.Repeat([]float64{math.Inf(-1)}, min(len(a)+len(b)-1, most+1))
	for i, first := range a {
		for j, second := range b {
			if i+j < len(product) {
				product[i+j] = logsum.Add(product[i+j], first+second)
			}
		}
	}
	return product
}

// withPrior returns the log sum over a polynomial's powers k of its coefficient times the prior
// probability of a model with k predictors and the given number of more predictors.
func (p *regressionProblem) withPrior(polynomial []float64, more int) float64 {
	sum := math.Inf(-1)
	for size, term := range polynomial {
		if size+more < len(p.logPrior) {
			sum = logsum.Add(sum, term+p.logPrior[size+more])
		}
	}
	return sum
}

// posterior turns averages of the numbers of given into a posterior. The last average is σ, if it
// is unknown.
func (b *blockwise) posterior(m modelMoments, err error) (*exactPosterior, error) {
	if err != nil {
		return nil, err
	}
	if math.IsNaN(m.logEvidence) {
		return nil, errors.New("blocks: the evidence is not a number")
	}
	if left := m.mean[3*len(b.p.groups)]; left > mostLeftOut {
		return nil, fmt.Errorf("blocks: models that are left out have a probability of about %.2g, want at most %g", left, mostLeftOut)
	}
	dim := len(b.p.priorSD)
	out := &exactPosterior{logEvidence: m.logEvidence}
	out.meanIn, out.sdIn = slices.Repeat([]float64{math.NaN()}, dim+1), slices.Repeat([]float64{math.NaN()}, dim+1)
	for g, columns := range b.p.groups {
		probability := m.mean[3*g]
		mean := m.mean[3*g+1] / probability
		out.inclusion = append(out.inclusion, probability)
		out.meanIn[columns[0]], out.sdIn[columns[0]] = mean, math.Sqrt(m.mean[3*g+2]/probability-mean*mean)
	}
	if last := 3*len(b.p.groups) + 1; len(m.mean) > last {
		out.meanIn[dim], out.sdIn[dim] = m.mean[last], math.Sqrt(m.variance[last])
	}
	return out, nil
}
