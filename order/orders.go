package order

import (
	"fmt"
	"math"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/rank"
)

// autoregressions lists the models of an autoregression: models of the values (levels), and if unit
// roots have a prior probability, models of differences of successive values. The response of all
// models is the rows that have at least MaxOrder rows before them. Given earlier rows, a value and
// its difference from the previous row have the same density, so that evidences are comparable.
func (p *Problem) autoregressions(values []float64) error {
	most, unit := p.Options.MaxOrder, p.Options.UnitRoot
	y := values[most:]
	p.numbers, p.times = p.numbers[most:], p.times[most:]
	lags, differences := make([]string, most), make([]string, most-1)
	for lag := range lags {
		lags[lag] = fmt.Sprintf("lag %d", lag+1)
		if lag > 0 {
			differences[lag-1] = fmt.Sprintf("difference %d", lag)
		}
	}
	p.levels = newDesign(lags, y, func(i, j int) float64 { return values[most+i-j-1] })
	if err := p.addModels(p.levels, 0); err != nil || unit == 0 {
		return err
	}
	change := apply.UpTo(len(y), func(i int) float64 { return values[most+i] - values[most+i-1] })
	return p.addModels(newDesign(differences, change, func(i, j int) float64 { return values[most+i-j-1] - values[most+i-j-2] }), 1)
}

// addModels adds the models of all orders from the argument least on. The model of order least has
// no columns, and every further order adds the next column of the design. A least order of 1 stands
// for models of differences.
func (p *Problem) addModels(d *design, least int) error {
	for order := least; order <= p.Options.MaxOrder; order++ {
		f, err := d.newFit(rank.UpTo(order-least), p.levels.total)
		if err != nil {
			return err
		}
		f.order, f.unitRoot, f.logPrior = order, least > 0, -math.Log(float64(p.Options.MaxOrder+1))
		if f.unitRoot {
			f.logPrior += math.Log(p.Options.UnitRoot)
		} else if order > 0 {
			f.logPrior += math.Log1p(-p.Options.UnitRoot)
		}
		p.models = append(p.models, f)
	}
	return nil
}

// ofLevels converts a draw of a model of differences to the coefficients and the intercept of a
// model of the values. The intercept is the expected value at the means of the columns.
func (p *Problem) ofLevels(d draw) draw {
	if !d.fit.unitRoot {
		return d
	}
	levels := make([]float64, d.fit.order)
	levels[0] = 1
	for j, c := range d.coefficients {
		levels[j] += c
		levels[j+1] -= c
	}
	d.coefficients = levels
	d.intercept += p.levels.centres[0] // expected difference plus the mean of the previous value
	return d
}

// unitTime returns a time scaled to [−1, 1].
func (p *Problem) unitTime(t float64) float64 { return 2*(t-p.first)/(p.last-p.first) - 1 }

// legendre fills the slice into with the Legendre polynomials of degrees 1 to len(into) at u. They
// span the same functions as powers of u, and their columns are nearly orthogonal.
func legendre(u float64, into []float64) {
	before, now := 1.0, u
	for d := range into {
		into[d] = now
		before, now = now, (float64(2*d+3)*u*now-float64(d+1)*before)/float64(d+2)
	}
}

// overTime makes the design whose columns are functions of time: Legendre polynomials up to a
// degree, then the truncated powers of knots, with the names in the argument others.
func (p *Problem) overTime(values []float64, degree int, others []string) {
	names := apply.UpTo(degree, func(d int) string { return fmt.Sprintf("Legendre %d", d+1) })
	rows := apply.UpTo(len(values), func(i int) []float64 { return p.basis(p.times[i]) })
	p.levels = newDesign(append(names, others...), values, func(i, j int) float64 { return rows[i][j] })
}

// basis returns the values of all columns at a time, not centred: Legendre polynomials, then the
// truncated powers of the candidate knots.
func (p *Problem) basis(t float64) []float64 {
	u := p.unitTime(t)
	if p.Options.Kind == Polynomial {
		row := make([]float64, p.Options.MaxOrder)
		legendre(u, row)
		return row
	}
	degree := p.Options.Degree
	row := make([]float64, degree+len(p.knots.places))
	legendre(u, row[:degree])
	for k, place := range p.knots.places {
		if beyond := u - p.unitTime(place); beyond > 0 {
			row[degree+k] = math.Pow(beyond, float64(degree))
		}
	}
	return row
}
