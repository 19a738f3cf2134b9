package regression

import (
	gocontext "context"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
)

// startDraws is the number of draws of a model that tell where the inference of a family starts;
// with fewer effective ones than startESS for each coordinate there is no such place. The
// covariance of a model is that of its draws and of the model of all terms, which counts as
// startShared effective draws for each coordinate: of 64 draws that of eight coordinates is a
// quarter too narrow in some direction, where weights have a heavy tail. Chosen by hand.
const (
	startDraws  = 1 << 10
	startESS    = 4
	startShared = 16
)

// prepareFamily finds where the inference of a family over all effects starts. With one grouping
// that is at the mode of each model, as for [Regression.Run]. With several the effects of all
// groupings but one would be coordinates of that mode, tens or hundreds of which the density costs
// a quadrature over all rows for each derivative; first draws of the marginal family, which has a
// sparse factor for them, tell as much.
func (r *Regression) prepareFamily(ctx gocontext.Context, device *gpu.Device, seed uint64) error {
	if r.prepared {
		return nil
	}
	if len(r.groups) < 2 || !r.integrable() && !r.weighable() {
		return r.Prepare(ctx, device)
	}
	r.prepared = true
	var found []startDraw
	var err error
	if r.integrable() {
		found, err = r.exactStart(ctx, seed)
	} else {
		found, err = r.laplaceStart(ctx, seed)
	}
	if err != nil {
		return err
	}
	r.unitsBy(found)
	r.normal = r.normalBy(found)
	return nil
}

// startDraw is a weighted draw of what has no plate, in a model.
type startDraw struct {
	model  int
	theta  []float64 // coordinates
	weight float64   // sums to one in each model
}

// exactStart are draws for a gaussian response.
func (r *Regression) exactStart(ctx gocontext.Context, seed uint64) (draws []startDraw, err error) {
	e := r.effort()
	e.first, e.most, e.until = min(e.first, startDraws), startDraws, time.Now()
	found, err := r.integrate(ctx, e, seed, nil)
	if err != nil {
		return nil, err
	}
	for _, m := range found.models {
		random := stream.Rand(seed, fmt.Sprintf("hbm/start/%v", m.code))
		m.eachWeight(func(place int, weight float64) {
			theta := make([]float64, r.Dim())
			if given, drawn, ok := m.effectsAt(found.effects, place, theta, random); ok {
				m.at(m.sample.Points[place], theta)
				for j := range r.Frame.Columns { // the population comes first
					if m.mask[j] {
						theta[j] = given.mean[j] + drawn[j]
					}
				}
				draws = append(draws, startDraw{r.index(m.code), theta, weight})
			}
		})
	}
	return draws, nil
}

// laplaceStart are draws for another response.
func (r *Regression) laplaceStart(ctx gocontext.Context, seed uint64) (draws []startDraw, err error) {
	found, err := r.weigh(ctx, effort{until: time.Now()}, seed, nil)
	if err != nil {
		return nil, err
	}
	for _, m := range found.models {
		m.eachWeight(func(place int, weight float64) {
			for k, share := range m.outer[place].share {
				draws = append(draws, startDraw{r.index(m.code), m.outer[place].theta[k], weight * share})
			}
		})
	}
	return draws, nil
}

// eachWeight calls do for each draw of a model that has weight.
func (m *modelIntegral) eachWeight(do func(place int, weight float64)) {
	smoothed := psis.Smooth(m.sample.LogWeights())
	total := 0.0
	for _, l := range smoothed.LogWeights {
		total += math.Exp(l - smoothed.LogMean)
	}
	for place, l := range smoothed.LogWeights {
		if w := math.Exp(l-smoothed.LogMean) / total; w > 0 {
			do(place, w)
		}
	}
}

// unitsBy sets the unit of each standard deviation from the width of its posterior in the model of
// all terms (see unitShare), and takes draws to the coordinates of these units.
func (r *Regression) unitsBy(draws []startDraw) {
	last := len(r.space.masks) - 1
	for j := range r.coordinates {
		c := &r.coordinates[j]
		if c.kind != sdCoordinate {
			continue
		}
		logSDs, values, weights := make([]float64, len(draws)), []float64{}, []float64{}
		for k, d := range draws {
			logRatio, _ := scaleRatio(d.theta[j])
			logSDs[k] = logRatio + math.Log(c.unit)
			if d.model == last {
				values, weights = append(values, math.Exp(logSDs[k])), append(weights, d.weight)
			}
		}
		width := 0.0
		if len(values) > 0 {
			width = math.Sqrt(stat.PopVariance(values, weights))
		}
		if !(width > 0) {
			continue
		}
		c.unit = c.scale * math.Min(math.Max(unitShare*width/c.scale, narrowestUnit), 1)
		for k, d := range draws {
			if r.space.masks[d.model][j] {
				d.theta[j] = ratioAt(logSDs[k] - math.Log(c.unit))
			}
		}
	}
}

// ratioAt is the inverse of scaleRatio, which increases: τ of log r.
func ratioAt(logRatio float64) float64 {
	low, high := -1.0, 1.0
	for value, _ := scaleRatio(high); value < logRatio; value, _ = scaleRatio(high) {
		high *= 2
	}
	for value, _ := scaleRatio(low); value > logRatio; value, _ = scaleRatio(low) {
		low *= 2
	}
	for range 60 {
		middle := (low + high) / 2
		if value, _ := scaleRatio(middle); value < logRatio {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// normalBy are normal approximations by weighted draws; nil if the model of all terms has none.
func (r *Regression) normalBy(draws []startDraw) *globalLaplace {
	l := &globalLaplace{order: r.globalOrder()}
	models := len(r.space.masks)
	mean, covariance := make([][]float64, models), make([]*mat.SymDense, models)
	last := models - 1
	for index := models - 1; index >= 0; index-- { // the model of all terms first
		mask := r.space.masks[index]
		squares := 0.0
		own := &weightedMoments{sum: make([]float64, len(l.order)), squares: mat.NewSymDense(len(l.order), nil)}
		for _, d := range draws {
			if d.model == index {
				own.add(d, l.order)
				squares += d.weight * d.weight
			}
		}
		mean[index], covariance[index] = own.sum, own.covariance()
		coordinates := float64(len(l.order))
		if index == last {
			if !(1/squares >= startESS*coordinates) {
				return nil
			}
		} else {
			share := 1 / (1 + squares*startShared*coordinates) // of its own draws
			if squares == 0 {
				mean[index], share = append([]float64{}, mean[last]...), 0
			}
			covariance[index].ScaleSym(share, covariance[index])
			var shared mat.SymDense
			shared.ScaleSym(1-share, covariance[last])
			covariance[index].AddSym(covariance[index], &shared)
		}
		for a, j := range l.order { // what the model lacks is noise
			if mask[j] {
				continue
			}
			mean[index][a] = 0
			for b := range l.order {
				covariance[index].SetSym(a, b, 0)
			}
			covariance[index].SetSym(a, a, 1)
		}
	}
	for index := range models {
		var cholesky mat.Cholesky
		if !cholesky.Factorize(covariance[index]) {
			return nil
		}
		var factor mat.TriDense
		cholesky.LTo(&factor)
		l.mode, l.factor = append(l.mode, mean[index]), append(l.factor, factor)
	}
	return l
}

// weightedMoments are Σ w x and Σ w x xᵀ.
type weightedMoments struct {
	sum     []float64
	squares *mat.SymDense
}

func (m *weightedMoments) add(d startDraw, order []int) {
	x := mat.NewVecDense(len(order), nil)
	for a, j := range order {
		x.SetVec(a, d.theta[j])
		m.sum[a] += d.weight * d.theta[j]
	}
	m.squares.SymRankOne(m.squares, d.weight, x)
}

// covariance is that of all draws, made a little wider so that it is positive definite.
func (m *weightedMoments) covariance() *mat.SymDense {
	m.squares.SymRankOne(m.squares, -1, mat.NewVecDense(len(m.sum), m.sum))
	for a := range m.sum {
		m.squares.SetSym(a, a, 1.01*m.squares.At(a, a)+1e-9)
	}
	return m.squares
}
