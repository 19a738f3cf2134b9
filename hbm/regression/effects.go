package regression

import (
	gocontext "context"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/weighted"
)

// Numbers of equally weighted draws behind the summaries of a regression, and of candidates for
// the effects of a level that are not normal given the rest.
const (
	mostDraws        = 4000
	fewestDraws      = 500     // with many levels
	drawnEffects     = 2 << 20 // about so many effects are drawn in all
	effectCandidates = 24
	effectStretch    = 1.2 // of the proposal, so that weights are bounded in its tails
)

// posteriorSample are equally weighted draws of everything, in the units of the table. Absent
// effects are zero.
type posteriorSample struct {
	// what means and standard deviations rest on where it knows them, or nil
	moments    *momentDraws
	ess        float64 // effective draws that these were taken from
	codes      [][]int32
	logP, logQ []float64
	effects    *mat.Dense   // of the population [N, P], or nil
	sds        *mat.Dense   // by RegressionSDNames [N, …], or nil
	varying    []*mat.Dense // of each grouping [N, M·q·J], plane by plane, column by column, level by level
	// of each grouping [M·q·J]: the mean share of the variance of an effect that the data leave,
	// where it varies; nil if effects were not drawn given the rest
	pooling    [][]float64
	replicated *mat.Dense // statistics of responses drawn anew [N, …], or nil
	predictors *keptPredictors
	rough      float64 // the share of draws whose density rounding has changed by roughRounding
}

// chooseDraws picks the draws of a weighted sample that summaries rest on: the fewer the more
// effects each has.
func (r *Regression) chooseDraws(weight []float64, seed uint64) []int {
	count := 1
	for _, g := range r.groups {
		count += r.effects(g)
	}
	return weighted.Rows(weight, min(max(drawnEffects/count, fewestDraws), mostDraws), stream.Rand(seed, "hbm/resample"))
}

// noSample is a sample of no draws.
func (r *Regression) noSample() *posteriorSample {
	return &posteriorSample{varying: make([]*mat.Dense, len(r.groups))}
}

// emptySample has room for n draws.
func (r *Regression) emptySample(n int) *posteriorSample {
	s := &posteriorSample{}
	if r.Frame.Reduced == nil {
		s.replicated, s.predictors = mat.NewDense(n, len(r.newCheck().names), nil), r.newKept(n)
	}
	if r.x != nil {
		s.effects = mat.NewDense(n, r.effectCount(), nil)
	}
	if names := r.sdNames(); len(names) > 0 {
		s.sds = mat.NewDense(n, len(names), nil)
	}
	for _, g := range r.groups {
		s.varying = append(s.varying, mat.NewDense(n, r.effects(g), nil))
	}
	return s
}

// sample draws the effects of all levels, given draws of the other coordinates: of the inner
// grouping from their distribution given those, which is normal for a gaussian response, and
// otherwise by resampling candidates. ess is the effective number of these.
func (r *Regression) sample(ctx gocontext.Context, weighted vti.WeightedSample, ess float64, seed uint64) (*posteriorSample, error) {
	rows := r.chooseDraws(weighted.Weight, seed)
	if len(rows) == 0 {
		return r.noSample(), nil
	}
	s := r.emptySample(len(rows))
	s.moments, s.ess = r.momentsOfSample(weighted, seed), ess
	for _, i := range rows {
		s.codes = append(s.codes, weighted.Codes[i])
		s.logP, s.logQ = append(s.logP, weighted.LogP[i]), append(s.logQ, weighted.LogQ[i])
	}
	chunks := make([]*drawnChunk, (len(rows)+drawChunk-1)/drawChunk)
	members := r.distinct().innerRows()
	if err := parallel.Do(len(chunks), func(c int) error {
		chunks[c] = r.newDrawnChunk()
		random := stream.Rand(seed, fmt.Sprintf("hbm/effects/%d", c))
		for k := c * drawChunk; k < min((c+1)*drawChunk, len(rows)); k++ {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("drawing effects stopped after %d of %d draws: %w", k, len(rows), err)
			}
			chunks[c].draw(s, k, weighted.Theta.RawRowView(rows[k]), members, random)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	total := r.newDrawnChunk()
	for _, c := range chunks {
		for i := range r.groups {
			floats.Add(total.pooling[i], c.pooling[i])
			floats.Add(total.counts[i], c.counts[i])
		}
	}
	for i, g := range r.groups {
		for at := range total.pooling[i] {
			total.pooling[i][at] /= total.counts[i][at/len(g.Levels)%len(g.Columns)]
		}
	}
	s.pooling = total.pooling
	return s, nil
}

// drawChunk is the number of draws of effects that one stream of random numbers serves.
const drawChunk = 64

// drawnChunk is what some draws of effects add up: the shares of posteriorSample.pooling [M·q·J],
// and the numbers of draws in which a column varies [q], of each grouping.
type drawnChunk struct {
	r               *Regression
	check           *predictiveCheck
	pooling, counts [][]float64
}

func (r *Regression) newDrawnChunk() *drawnChunk {
	c := &drawnChunk{r: r, check: r.newCheck()}
	for _, g := range r.groups {
		c.pooling, c.counts = append(c.pooling, make([]float64, r.effects(g))), append(c.counts, make([]float64, len(g.Columns)))
	}
	return c
}

// draw draws the effects of the inner grouping given the coordinates θ, and writes the k-th draw of
// a sample.
func (d *drawnChunk) draw(s *posteriorSample, k int, theta []float64, members [][]int, random *rand.Rand) {
	r, mask := d.r, d.r.space.MaskRow(s.codes[k], nil)
	if s.effects != nil {
		r.tableEffects(mask, theta, s.effects.RawRowView(k))
	}
	own := r.distinct()
	eta, given := own.predictorAt(mask, theta), r.responseAt(mask, theta)
	factors := make([][][]float64, len(r.groups))
	for i, g := range r.groups {
		factors[i] = r.factorAt(g, mask, theta)
	}
	if s.sds != nil {
		r.tableSDs(factors, given, r.sharesAt(mask, theta), s.sds.RawRowView(k))
	}
	for i, g := range r.groups {
		factor := factors[i]
		for c := range factor {
			if mask[g.sd[c]] {
				d.counts[i][c]++
			}
		}
		if g != r.inner {
			r.outerEffects(g, factor, theta, s.varying[i].RawRowView(k))
			continue
		}
		for level := range g.Levels {
			u, covariance := own.drawEffects(members[level], eta, factor, given, random)
			own.addInner(own.inner, level, members[level], factor, u, eta, s.varying[i].RawRowView(k))
			for at, share := range r.left(factor, covariance) {
				d.pooling[i][at*len(g.Levels)+level] += share
			}
		}
		r.inOdds(s.varying[i].RawRowView(k))
	}
	eta = own.ofTable(eta)
	d.check.statistics(r.replicate(eta, given, random), s.replicated.RawRowView(k))
	s.predictors.add(k, eta, given)
}

// left are the shares of the variance of the effects of a level of the inner grouping that its rows
// leave, of each plane of answers and column [M·q], by the covariance of the standard effects; 0
// where an effect does not vary.
func (r *Regression) left(factor [][]float64, covariance *mat.SymDense) []float64 {
	q := len(factor)
	shares, part := make([]float64, r.planes*q), make([]float64, r.planes*q)
	for k := range r.planes {
		for c := range factor {
			for m := range r.planes {
				for a, x := range factor[c] {
					part[m*q+a] = r.shareOf(k, m) * x
				}
			}
			if prior := norm(part); prior > 0 {
				shares[k*q+c] = quadraticForm(covariance, part) / (prior * prior)
			}
		}
	}
	return shares
}

// innerRows lists the rows of each level of the inner grouping.
func (r *Regression) innerRows() [][]int {
	if r.inner == nil {
		return nil
	}
	members := make([][]int, len(r.inner.Levels))
	for i, level := range r.inner.Index {
		members[level] = append(members[level], i)
	}
	return members
}

// tableEffects writes the population effects in the units of the table, those of effectColumns.
func (r *Regression) tableEffects(mask []bool, theta, dst []float64) {
	effects, columns := r.Frame.effectColumns(), len(r.Frame.Columns)
	for m := range r.planes {
		shift, intercept := r.yMean, -1
		for place, j := range effects {
			at := m*len(effects) + place
			dst[at] = 0
			if r.Frame.Columns[j].Name == formula.InterceptName {
				intercept = at
			}
			if !mask[m*columns+j] {
				continue
			}
			steps := r.Frame.stepsFrom(j)
			for k := j; k < j+steps; k++ {
				coefficient := theta[m*columns+k] * r.ySD / r.xSD[k]
				shift -= coefficient * r.xMean[k]
				dst[at] += coefficient / float64(steps) // the mean of b D ζ_k is b
			}
		}
		if intercept >= 0 {
			dst[intercept] += shift
		}
	}
	r.inOdds(dst)
}

// outerEffects writes the effects of an outer grouping, which are coordinates.
func (r *Regression) outerEffects(g *varyingGroup, factor [][]float64, theta, dst []float64) {
	q, levels := len(factor), len(g.Levels)
	for m := range r.planes {
		first := m * q * levels
		for a := range factor {
			for level := range levels {
				sum := 0.0
				for c := range a + 1 {
					if factor[a][c] != 0 {
						sum += factor[a][c] * theta[g.first+first+c*levels+level]
					}
				}
				dst[first+a*levels+level] = sum * r.ySD / g.zSD[a]
			}
		}
	}
	r.inOdds(dst)
}

// addInner writes the effects b = Λ u of a level of the inner grouping, those of the planes, and
// adds them to the linear predictors of its rows.
func (r *Regression) addInner(g *varyingGroup, level int, rows []int, factor [][]float64, u, eta, dst []float64) {
	q, n := len(factor), len(r.y)
	for m := range r.planes {
		for a := range factor {
			effect := 0.0
			for c := range a + 1 {
				effect += factor[a][c] * u[m*q+c]
			}
			dst[(m*q+a)*len(g.Levels)+level] = effect * r.ySD / g.zSD[a]
			for _, i := range rows {
				eta[m*n+i] += g.z.At(i, a) * effect
			}
		}
	}
}
