package design

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/distinct"
)

// Scaling is the affine map from coefficients θ of standardised columns (the working scale) to
// coefficients β of the columns of the table. With x the columns of the table, y its response and o
// the offset,
//
//	working column j = (x_j − Mean_j) / SD_j,   working y = (y − o − YMean) / YSD,
//	β_j = YSD θ_j / SD_j,
//	β_level = YSD θ_level / SD_level + (YMean − Σ_{j≠level} β_j Mean_j) / c,
//
// where level is the coordinate of the column that is constant (the intercept, or an always-in
// column) and c its value.
type Scaling struct {
	// Mean and SD [D] are the centre and the divisor of each column: 0 and 1 for an unchanged one.
	Mean, SD []float64
	// YMean and YSD are the centre and the divisor of the response: 0 and 1 if unchanged.
	YMean, YSD float64
	// Level is the coordinate of the column that has the same value in all rows, the intercept. It
	// is -1 if there is no such column.
	Level int
	// LevelValue is the value in the rows of the column Level.
	LevelValue float64
}

// Of returns the map of the coefficients of some columns, where all other coefficients are zero.
func (s *Scaling) Of(columns []int) Scaling {
	return Scaling{
		Mean: distinct.At(s.Mean, columns), SD: distinct.At(s.SD, columns), YMean: s.YMean, YSD: s.YSD,
		Level: slices.Index(columns, s.Level), LevelValue: s.LevelValue,
	}
}

// ToOriginal writes the coefficients on the scale of the table to dst and returns it. theta [D]
// holds zero for every coordinate outside the model. dst may be theta; nil allocates.
func (s *Scaling) ToOriginal(dst, theta []float64) []float64 {
	dst = s.buffer("ToOriginal", dst, theta)
	shift := s.YMean
	for j, v := range theta {
		dst[j] = s.Slope(j) * v
		shift -= dst[j] * s.Mean[j] // Mean of the level column is zero
	}
	if s.Level >= 0 {
		dst[s.Level] += shift / s.LevelValue
	}
	return dst
}

// FromOriginal inverts ToOriginal: it writes coefficients on the working scale to dst and returns
// it. beta [D] holds zero for every coordinate outside the model. dst may be beta; nil allocates.
func (s *Scaling) FromOriginal(dst, beta []float64) []float64 {
	dst = s.buffer("FromOriginal", dst, beta)
	shift := s.YMean
	for j, v := range beta {
		dst[j] = v / s.Slope(j)
		shift -= v * s.Mean[j] // Mean of the level column is zero
	}
	if s.Level >= 0 {
		dst[s.Level] -= shift / s.LevelValue / s.Slope(s.Level)
	}
	return dst
}

// Shift returns Σ_j β_j Mean_j, the part of the linear predictor that centring the columns removes,
// for coefficients β on the scale of the table.
func (s *Scaling) Shift(beta []float64) (sum float64) {
	for j, mean := range s.Mean {
		sum += beta[j] * mean
	}
	return sum
}

// Slope returns the derivative ∂β_j/∂θ_j of the map that [Scaling] describes.
func (s *Scaling) Slope(j int) float64 { return s.YSD / s.SD[j] }

// buffer returns dst, or a new slice if dst is nil. It panics if lengths differ; name is the
// function in the message.
func (s *Scaling) buffer(name string, dst, from []float64) []float64 {
	if len(from) != len(s.SD) || dst != nil && len(dst) != len(from) {
		panic(fmt.Sprintf("design: Scaling.%s: lengths %d and %d for %d coefficients", name, len(dst), len(from), len(s.SD)))
	}
	if dst == nil {
		dst = make([]float64, len(from))
	}
	return dst
}

// LevelWeights returns w [D] and c such that β_level = Σ_j w_j θ_j + c, where β_level is the
// intercept on the scale of the table and θ are the coefficients on the working scale.
func (s *Scaling) LevelWeights() (w []float64, c float64) {
	w = apply.UpTo(len(s.SD), func(j int) float64 { return -s.YSD / s.SD[j] * s.Mean[j] / s.LevelValue })
	w[s.Level] = s.YSD / s.SD[s.Level]
	return w, s.YMean / s.LevelValue
}

func (s *Scaling) logJacobian(rows int) float64 { return -float64(rows) * math.Log(s.YSD) }

// NewScaling returns the identity map of dim coefficients.
func NewScaling(dim int) Scaling {
	return Scaling{Mean: make([]float64, dim), SD: slices.Repeat([]float64{1}, dim), YSD: 1, Level: -1}
}

// scale fills X, Y and Scaling.
//
// Columns and response are centred and divided by their standard deviations if a constant column,
// or the cut points of an ordered response, can take up the shift. Otherwise they are divided by
// their root mean squares (with denominator n−1).
func (d *Design) scale(columns []rawColumn, y []float64, opt Options) error {
	d.Scaling = NewScaling(len(columns))
	for _, j := range d.Always {
		if values := columns[j].values; isConstant(values) {
			d.Scaling.Level, d.Scaling.LevelValue = j, values[0]
			break
		}
	}
	centre := d.Scaling.Level >= 0 || opt.Likelihood.Ordered()
	d.X = mat.NewDense(len(y), len(columns), nil)
	for j, c := range columns {
		if !opt.NoStandardize && j != d.Scaling.Level {
			mean, sd := centreAndSpread(c.values, centre)
			if !usable(mean, sd) {
				return fmt.Errorf("column %q: its spread is too large or too small to standardise (values from %g to %g): rescale the column", c.name, slices.Min(c.values), slices.Max(c.values))
			}
			d.Scaling.Mean[j], d.Scaling.SD[j] = mean, sd
		}
		for i, v := range c.values {
			d.X.Set(i, j, (v-d.Scaling.Mean[j])/d.Scaling.SD[j])
		}
	}
	if !opt.NoStandardize && opt.Likelihood.Continuous() {
		mean, sd := centreAndSpread(y, centre)
		if !usable(mean, sd) {
			return fmt.Errorf("target %q: its spread is too large or too small to standardise (values from %g to %g): rescale it", opt.Target, slices.Min(y), slices.Max(y))
		}
		d.Scaling.YMean, d.Scaling.YSD = mean, sd
	}
	d.Y = make([]float64, len(y))
	for i, v := range y {
		d.Y[i] = (v - d.Scaling.YMean) / d.Scaling.YSD
	}
	return nil
}

// centreAndSpread returns the mean and the standard deviation of values if centre is set, and 0 and
// the root mean square otherwise. Both spreads have the denominator n−1.
func centreAndSpread(values []float64, centre bool) (mean, sd float64) {
	if centre {
		return stat.MeanStdDev(values, nil)
	}
	var squares float64
	for _, v := range values {
		squares += v * v
	}
	return 0, math.Sqrt(squares / float64(len(values)-1))
}

// usable reports whether values of this mean and spread sd lose no precision when divided by sd.
func usable(mean, sd float64) bool {
	const tiny = 1e-150 // squares of smaller numbers lose digits
	return sd > tiny && sd < 1/tiny && !math.IsInf(mean, 0) && !math.IsNaN(mean)
}

// ResponseName returns the name of the response on the working scale.
func (d *Design) ResponseName() string {
	if d.Likelihood.Logarithmic() {
		return "log(" + d.Target + ")"
	}
	return d.Target
}

// InTable returns a response of the working scale in the units of the table.
func (d *Design) InTable(y float64) float64 {
	y = inUnits(y, d.Scaling.YMean, d.Scaling.YSD)
	if d.Likelihood.Logarithmic() {
		return inUnits(math.Exp(y), 0, 1)
	}
	return y
}

// Censored reports whether any time in the response is only a lower bound.
func (d *Design) Censored() bool {
	return d.Likelihood.Survival() && slices.ContainsFunc(d.Y, func(y float64) bool { return y < 0 })
}

// inUnits undoes the scaling of a value, to 12 digits, so that equal values of the table stay
// equal.
func inUnits(value, mean, sd float64) float64 { return rounded(mean + sd*value) }

// rounded returns x to 12 digits.
func rounded(x float64) float64 {
	const digits, nearTie = 12, 1e-3
	if size := math.Abs(x); size > 1e-6 && size < 1e9 {
		// The digits are an integer divided by a power of ten. Both are exact, so that the quotient
		// is the number nearest to the digits. Products have errors of up to nearTie/4.
		places := digits
		for below := 1.0; below <= size; below *= 10 {
			places--
		}
		for below := 0.1; below > size; below /= 10 {
			places++
		}
		if scaled := size * math.Pow10(places); math.Abs(scaled-math.Floor(scaled)-0.5) > nearTie {
			return math.Copysign(math.Round(scaled)/math.Pow10(places), x)
		}
	}
	text, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64)
	if err != nil {
		return x // overflow of the rounding
	}
	return text
}

// Column returns column j of the design matrix in the units of the table, to 12 digits.
func (d *Design) Column(j int) []float64 {
	values := mat.Col(nil, j, d.X)
	var known [4][2]float64 // the last four different values, scaled and unscaled; genotypes have three values
	count := 0
next:
	for i, v := range values {
		for _, pair := range known[:min(count, len(known))] {
			if pair[0] == v {
				values[i] = pair[1]
				continue next
			}
		}
		values[i] = inUnits(v, d.Scaling.Mean[j], d.Scaling.SD[j])
		known[count%len(known)] = [2]float64{v, values[i]}
		count++
	}
	return values
}

// Response returns the response, or its fitted logarithm, in the units of the table, to 12 digits.
func (d *Design) Response() []float64 {
	values := slices.Clone(d.Y)
	for i, v := range values {
		values[i] = inUnits(v, d.Scaling.YMean, d.Scaling.YSD)
	}
	return values
}

// ScaleName returns the name, among the coefficients, of the second parameter of the likelihood,
// such as the noise scale. If the table has a column of that name, the name gets parentheses.
func (d *Design) ScaleName() string { return FreeName(d.Likelihood.Scale(), d.Names) }
