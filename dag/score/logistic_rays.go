package score

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/logsum"
)

// logisticRays integrates the posterior of a family along random rays from a center, in coordinates
// z in which the posterior is about round: its evidence is the surface of the sphere times the mean
// over directions u of ∫ r^(d−1) f(z = r u) dr. What is far from the center, where weights of draws
// have their tail, lies within the integral: weights of rays are bounded, whatever the posterior,
// since it is concave in its logarithm and has the tails of its prior.
type logisticRays struct {
	family *logisticFamily
	center []float64
	linear []float64     // of the center
	upper  *mat.TriDense // U of the precision UᵀU; z = U (θ − center)
	// log of the surface of the sphere, in the coordinates of θ
	logSurface float64
}

func (f *logisticFamily) rays(center []float64, precision *mat.Cholesky) *logisticRays {
	q := &logisticRays{family: f, center: center, linear: f.linear(center), upper: &mat.TriDense{}}
	precision.UTo(q.upper)
	half := float64(len(center)) / 2
	gamma, _ := math.Lgamma(half)
	q.logSurface = math.Ln2 + half*math.Log(math.Pi) - gamma - precision.LogDet()/2
	return q
}

// pair adds the integrals along a random direction and along the opposite one, whose mean is
// without what is skew.
func (q *logisticRays) pair(random *rand.Rand, logs []float64) []float64 {
	u := make([]float64, len(q.center))
	for k := range u {
		u[k] = random.NormFloat64()
	}
	floats.Scale(1/floats.Norm(u, 2), u)
	var offset mat.VecDense
	// the factor is that of a positive definite matrix
	_ = offset.SolveVec(q.upper, mat.NewVecDense(len(u), u))
	step := offset.RawVector().Data
	shift := q.family.linear(step)
	for range 2 {
		logs = append(logs, q.along(step, shift))
		floats.Scale(-1, step)
		floats.Scale(-1, shift)
	}
	return logs
}

// Accuracy of the integral along a ray, by the trapezoidal rule over log r, whose error falls
// exponentially: where the integrand is so many nats below its largest value it ends, and the step
// is halved until sums over even and odd nodes, each of a rule with twice the step, differ by so
// much at most.
const (
	rayDepth     = 16.0
	rayAgreement = 0.02
	finestRay    = 1e-6 // step at which halving ends
)

// along is the log of the integral in the direction of a step, which changes Θ x by shift, times
// the surface of the sphere.
func (q *logisticRays) along(step, shift []float64) float64 {
	dim := float64(len(step))
	linear, point := make([]float64, len(shift)), make([]float64, len(step))
	at := func(u float64) float64 { // u is log r
		r := math.Exp(u)
		floats.AddScaledTo(linear, q.linear, r, shift)
		floats.AddScaledTo(point, q.center, r, step)
		return dim*u + q.family.logLikelihood(linear) + q.family.logPrior(point)
	}
	// a normal distribution has its peak at the start, and there about the width 1/√(2 dim)
	start, width := math.Log(dim)/2, 0.5/math.Sqrt(dim)
	values := []float64{at(start)}
	top := values[0]
	for u := start + width; values[len(values)-1] > top-rayDepth; u += width {
		values = append(values, at(u))
		top = max(top, values[len(values)-1])
	}
	slices.Reverse(values)
	for u := start - width; values[len(values)-1] > top-rayDepth; u -= width {
		values = append(values, at(u))
		top = max(top, values[len(values)-1])
		start = u
	}
	slices.Reverse(values)
	for {
		var sums [2]float64
		for k, value := range values {
			sums[k%2] += math.Exp(value - top)
		}
		total := sums[0] + sums[1]
		if math.Abs(sums[0]-sums[1]) <= rayAgreement*total || width < finestRay {
			return top + math.Log(total*width) + q.logSurface
		}
		finer := make([]float64, 2*len(values)-1)
		for k, value := range values {
			if finer[2*k] = value; k > 0 {
				finer[2*k-1] = at(start + (float64(k)-0.5)*width)
				top = max(top, finer[2*k-1])
			}
		}
		values, width = finer, width/2
	}
}

// weigh takes pairs of rays until they are enough, or most.
func (q *logisticRays) weigh(random *rand.Rand, least, most int) (own logisticEvidence) {
	var logs, pairs []float64
	for count := least; ; count *= 2 {
		for len(pairs) < count {
			logs = q.pair(random, logs)
			last := len(logs)
			pairs = append(pairs, logsum.Add(logs[last-2], logs[last-1])-math.Ln2)
		}
		own = newLogisticEvidence(logs, pairs)
		if own.enough() || count >= most {
			return own
		}
	}
}
