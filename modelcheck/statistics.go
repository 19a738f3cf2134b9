package modelcheck

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/rank"
)

// Limits above which a finding makes the model poor, not only questionable. Discrepancies of these
// sizes change conclusions. The model is called poor for 1 of 150 tables drawn from it, and for 169
// of 260 tables that it does not describe. With half of these limits the numbers are 2 and 179, and
// with twice these limits 1 and 135 (docs/benchmarks/constants.md).
const (
	poorDispersion = 2.0  // ratio of variances, or the inverse ratio
	poorOutlier    = 10.0 // residual in robust standard deviations
	poorSerial     = 0.5  // lag-1 correlation
	poorCurvature  = 0.1  // explained share of the residual variance
)

// newChecks lists the checks of responses. The absolute values of residuals are compared with each
// column if sizes is true, and otherwise with the fitted value.
func newChecks(responses []*response, columns []Column, remedies Remedies, sizes bool) *checks {
	c := &checks{responses: responses, remedies: remedies}
	kinds := func(allowed ...Kind) func(*response) bool {
		return func(r *response) bool { return len(r.y) >= 2 && slices.Contains(allowed, r.kind) }
	}
	long := func(accept func(*response) bool) func(*response) bool {
		return func(r *response) bool { return len(r.y) >= fewestRows && accept(r) }
	}
	c.add(kinds(Continuous, Count), true, dispersion, c.dispersionFinding)
	c.add(kinds(Continuous, Count), false, largest, c.largestFinding)
	c.add(long(kinds(Continuous)), true, kurtosis, c.kurtosisFinding)
	if sizes {
		c.addShapes(columns, MinDraws, true)
	} else {
		c.add(long(kinds(Continuous)), true, spread, c.spreadFinding)
	}
	c.add(kinds(Count), true, zeros, c.zerosFinding)
	c.add(func(r *response) bool { return len(r.y) >= fewestRows && !sorted(r, columns) }, true, serial, c.serialFinding)
	c.addShapes(columns, MinDraws, false)
	return c
}

// add appends a family with a member for each response to which the statistic applies.
func (c *checks) add(applies func(*response) bool, twoSided bool, statistic func(*sample) float64, finding func(r *response, mean float64) Finding) {
	var owners []*response
	first := []int{0}
	for _, r := range c.responses {
		if applies(r) {
			owners = append(owners, r)
		}
		first = append(first, len(owners))
	}
	if len(owners) == 0 {
		return
	}
	c.list = append(c.list, &check{
		family: newFamily(len(owners), twoSided), first: first,
		compare: func(_, _ int, seen, drawn *sample, observed, replicated []float64) {
			observed[0], replicated[0] = statistic(seen), statistic(drawn)
		},
		finding: func(member int, mean float64) Finding { return finding(owners[member], mean) },
	})
}

// dispersion returns the log of the mean squared Pearson residual, or 0 if all residuals are 0.
func dispersion(s *sample) float64 { return logOrZero(meanSquare(s.r)) }

// largest returns the logarithm of the largest distance of a residual from the median, in robust
// standard deviations.
func largest(s *sample) float64 {
	return logOrZero(outlyingness(s.centred, s.scale))
}

// kurtosis returns the logarithm of the kurtosis of the residuals.
func kurtosis(s *sample) float64 {
	mean := 0.0
	for _, r := range s.r {
		mean += r / float64(len(s.r))
	}
	var second, fourth float64
	for _, r := range s.r {
		square := (r - mean) * (r - mean)
		second += square
		fourth += square * square
	}
	if second == 0 || math.IsInf(fourth, 1) {
		return 0
	}
	return math.Log(float64(len(s.r)) * fourth / (second * second))
}

// spread returns the correlation of absolute clipped residuals with the fitted mean.
func spread(s *sample) float64 {
	size := s.scratch
	for i, r := range s.clipped {
		size[i] = math.Abs(r)
	}
	return correlation(size, s.mean)
}

// zeros returns the share of responses that are 0.
func zeros(s *sample) float64 {
	return float64(floats.Count(func(y float64) bool { return y == 0 }, s.y)) / float64(len(s.y))
}

// serial returns the lag-1 correlation of the clipped residuals.
func serial(s *sample) float64 {
	return correlation(s.clipped[:len(s.clipped)-1], s.clipped[1:])
}

func (c *checks) dispersionFinding(r *response, mean float64) Finding {
	ratio := math.Exp(mean)
	f := Finding{Statistic: Number(ratio), Where: r.place(), Verdict: verdictIf(ratio > poorDispersion || ratio < 1/poorDispersion)}
	switch {
	case r.kind == Count && ratio > 1:
		f.What = fmt.Sprintf("overdispersion: the variance of the counts is %.3g times that of the model", ratio)
		f.Advice = cmp.Or(c.remedies.Overdispersion, "a model for counts with extra variation")
	case r.kind == Count:
		f.What = fmt.Sprintf("underdispersion: the variance of the counts is %.3g times that of the model", ratio)
		f.Advice = "check whether the counts have an upper limit or were smoothed"
	default:
		f.What = fmt.Sprintf("dispersion: the squared residuals are %.3g times what the model expects", ratio)
		f.Advice = "a noise scale that is inferred, or another value of it"
	}
	return f
}

func (c *checks) largestFinding(r *response, mean float64) Finding {
	size := math.Exp(mean)
	return Finding{
		What:      fmt.Sprintf("outlier: the largest residual is %.3g robust standard deviations from the median", size),
		Where:     r.place() + ", " + r.outliers(),
		Statistic: Number(size), Verdict: verdictIf(size > poorOutlier),
		Advice: "check these rows; " + c.heavyTails(r),
	}
}

func (c *checks) heavyTails(r *response) string {
	if r.kind == Count {
		return cmp.Or(c.remedies.Overdispersion, "a model for counts with extra variation")
	}
	return cmp.Or(c.remedies.HeavyTails, "a likelihood with heavy tails")
}

func (c *checks) kurtosisFinding(r *response, mean float64) Finding {
	value := math.Exp(mean)
	f := Finding{Where: r.place(), Statistic: Number(value), Verdict: Questionable}
	if value > 3 {
		f.What = fmt.Sprintf("heavy tails: the residuals have kurtosis %.3g (a normal distribution has 3)", value)
		f.Advice = c.heavyTails(r)
	} else {
		f.What = fmt.Sprintf("light tails: the residuals have kurtosis %.3g (a normal distribution has 3)", value)
		f.Advice = "check for two groups in the response, or limits that cut it off"
	}
	return f
}

func (c *checks) spreadFinding(r *response, mean float64) Finding {
	direction := "grow"
	if mean < 0 {
		direction = "shrink"
	}
	return Finding{
		What:  fmt.Sprintf("unequal spread: residuals %s with the fitted value (correlation of their size %.2f)", direction, mean),
		Where: r.place(), Statistic: Number(mean), Verdict: verdictIf(math.Abs(mean) > poorSerial),
		Advice: "the logarithm or the square root of the response",
	}
}

func (c *checks) zerosFinding(r *response, _ float64) Finding {
	share := zeros(&sample{y: r.y})
	return Finding{
		What:  fmt.Sprintf("zero counts: the share %.2f of zeros is not what the model expects", share),
		Where: r.place(), Statistic: Number(share), Verdict: Questionable,
		Advice: cmp.Or(c.remedies.Overdispersion, "a model for counts with extra variation"),
	}
}

func (c *checks) serialFinding(r *response, mean float64) Finding {
	return Finding{
		What:  fmt.Sprintf("serial dependence: residuals of neighbouring rows have correlation %.2f", mean),
		Where: r.place() + ", in the order of the rows", Statistic: Number(mean), Verdict: verdictIf(math.Abs(mean) > poorSerial),
		Advice: cmp.Or(c.remedies.Dependence, "a predictor for time or place, or a grouping of the rows"),
	}
}

func verdictIf(poor bool) Verdict {
	if poor {
		return Poor
	}
	return Questionable
}

// outlyingness returns the largest absolute value in units of scale or, if scale is 0, in units of
// the root mean square.
func outlyingness(centred []float64, scale float64) float64 {
	scale = cmp.Or(scale, math.Sqrt(meanSquare(centred)))
	if scale == 0 {
		return 0
	}
	return max(slices.Max(centred), -slices.Min(centred)) / scale
}

// madFactor is the ratio of the standard deviation to the median absolute deviation of a normal
// variable.
const madFactor = 1.4826022185056018

// medianRows bounds the number of rows from which a median is computed, to save time. The median
// then has an error of 3 percent of a standard deviation.
const medianRows = 2000

// medianAndSpread returns the median and the median absolute deviation times madFactor. It
// overwrites scratch [n].
func medianAndSpread(values, scratch []float64) (centre, scale float64) {
	stride := (len(values) + medianRows - 1) / medianRows
	part := scratch[:0]
	for i := 0; i < len(values); i += stride {
		part = append(part, values[i])
	}
	centre = median(part)
	for i, v := range part {
		part[i] = math.Abs(v - centre)
	}
	return centre, madFactor * median(part)
}

// median returns the median of values, and reorders them.
func median(values []float64) float64 {
	middle := len(values) / 2
	rank.Place(values, middle)
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (slices.Max(values[:middle]) + values[middle]) / 2
}

func meanSquare(values []float64) float64 {
	return floats.Dot(values, values) / float64(len(values))
}

func logOrZero(x float64) float64 {
	if x <= 0 || math.IsInf(x, 1) {
		return 0
	}
	return math.Log(x)
}

// correlation returns Pearson's correlation, or 0 where a or b is constant up to rounding.
func correlation(a, b []float64) float64 {
	varies := func(values []float64) bool {
		const rounding = 1e-20 // relative rounding error of squares
		mean, variance := stat.PopMeanVariance(values, nil)
		return variance > rounding*mean*mean
	}
	if !varies(a) || !varies(b) {
		return 0
	}
	return stat.Correlation(a, b, nil)
}
