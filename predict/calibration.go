package predict

import (
	"math"
	"slices"
	"strconv"

	"github.com/transdim/vti/internal/stream"

	"gonum.org/v1/gonum/floats"
)

// CheckFile is the name of the file that the command "vti check" writes to the directory of a run.
const CheckFile = "check.json"

// Calibration measures whether leave-one-out predictions have the right spread.
type Calibration struct {
	// Intervals holds the shares of responses in the central predictive intervals.
	Intervals []Interval `json:"intervals"`
	// Distance is the largest difference between the distribution function of the probability
	// integral transforms and the uniform distribution function. P is the probability of a larger
	// distance for calibrated predictions (Kolmogorov's limit distribution). The transform of a
	// discrete response y is drawn between the probability of responses below y and the probability
	// of responses up to y.
	Distance Number `json:"distance"`
	P        Number `json:"p"`
	// Histogram counts the transforms in intervals of equal width between 0 and 1.
	Histogram []int `json:"histogram"`
	// Verdict states the result in words.
	Verdict string `json:"verdict"`
}

// Interval is the share of responses that lie in the predictive intervals of one probability.
type Interval struct {
	// Level is the probability of the intervals.
	Level Number `json:"level"`
	Share Number `json:"share"`
	// SE is the standard error of Share for calibrated predictions.
	SE Number `json:"se"`
}

// calibrationLevels are the probabilities of the predictive intervals whose shares are computed.
var calibrationLevels = []float64{0.5, 0.8, 0.95}

// histogramBins is the number of bins. A bin is as wide as both tails of a 90% interval together.
const histogramBins = 10

// notable is the value of Calibration.P below which predictions do not count as calibrated. Of 100
// calibrated runs, one is below it by chance.
const notable = 0.01

// Calibrate compares the probability integral transforms of leave-one-out predictions with the
// uniform distribution, which they have if predictions are calibrated. For discrete distributions,
// spike holds the predictive probability of the observed response of each row; it is nil for other
// distributions.
func Calibrate(loo *LOO, spike []float64, seed uint64) *Calibration {
	n := float64(len(loo.Rows))
	pit := make([]float64, len(loo.Rows))
	for i, row := range loo.Rows {
		pit[i] = float64(row.PIT)
		if spike != nil {
			u := stream.Rand(seed, "calibration/"+strconv.Itoa(i)).Float64()
			pit[i] = min(1, max(0, pit[i]+(u-0.5)*spike[i]))
		}
	}
	c := &Calibration{Histogram: make([]int, histogramBins)}
	for _, p := range pit {
		c.Histogram[min(histogramBins-1, int(p*histogramBins))]++
	}
	for _, level := range calibrationLevels {
		inside := floats.Count(func(p float64) bool { return math.Abs(p-0.5) <= level/2 }, pit)
		c.Intervals = append(c.Intervals, Interval{Number(level), Number(float64(inside) / n), Number(math.Sqrt(level * (1 - level) / n))})
	}
	slices.Sort(pit)
	distance := 0.0
	for i, p := range pit {
		distance = max(distance, p-float64(i)/n, float64(i+1)/n-p)
	}
	c.Distance, c.P = Number(distance), Number(kolmogorov((math.Sqrt(n)+0.12+0.11/math.Sqrt(n))*distance))
	wide := c.Intervals[0].Share
	switch {
	case c.P >= notable:
		c.Verdict = "calibrated, as far as these rows tell"
	case wide > 0.5+2*c.Intervals[0].SE:
		c.Verdict = "less sure than they could be: responses fall near the middle of the predictions too often"
	case wide < 0.5-2*c.Intervals[0].SE:
		c.Verdict = "too sure: responses fall outside the predictions too often"
	default:
		c.Verdict = "not calibrated: responses are not where the predictions expect them"
	}
	return c
}

// kolmogorov returns the probability that Kolmogorov's limit distribution exceeds x. With x =
// distance · (√n + 0.12 + 0.11/√n) for n rows, it is accurate for few rows too (Stephens 1970).
func kolmogorov(x float64) float64 {
	if x < 0.2 {
		return 1
	}
	sum := 0.0
	for k := 1; k <= 100; k++ {
		sum += 2 * math.Pow(-1, float64(k-1)) * math.Exp(-2*float64(k*k)*x*x)
	}
	return min(1, max(0, sum))
}

// Spikes returns, for each row, the predictive probability exp(ELPD) of the observed response given
// all other rows, if the response is discrete or a censored time; 0 for other rows, whose ELPD is
// the logarithm of a density. It returns nil if all rows get 0.
func (l *LOO) Spikes(rows *Rows) []float64 {
	if !rows.Discrete && !rows.anyCensored() {
		return nil
	}
	spikes := make([]float64, len(l.Rows))
	for i, row := range l.Rows {
		if rows.Discrete || rows.censored(i) {
			spikes[i] = math.Exp(float64(row.ELPD))
		}
	}
	return spikes
}
