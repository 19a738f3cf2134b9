package order

import (
	"cmp"
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/models"
)

// draw is one draw from the posterior.
type draw struct {
	fit          *fit
	coefficients []float64 // coefficients of the columns of fit
	intercept    float64   // expected value at the means of the columns
	sigma        float64
	// logModel is log p(model | data).
	logModel float64
}

// posterior is the exact posterior over orders, with draws.
type posterior struct {
	problem  *Problem
	orders   []Order
	unitRoot float64
	knots    *knotSum // the posterior over sets of knots; nil except for splines
	draws    []draw
}

func (p *Problem) posterior(ctx gocontext.Context, draws int, random *rand.Rand) (*posterior, error) {
	if p.knots != nil {
		return p.splinePosterior(ctx, draws, random)
	}
	post := &posterior{problem: p, orders: make([]Order, p.Options.MaxOrder+1)}
	logPrior, evidence := make([]float64, len(p.models)), make([]models.Evidence, len(p.models))
	for m, f := range p.models {
		logPrior[m], evidence[m] = f.logPrior, models.Closed(f.logEvidence)
	}
	sum := models.Combine(logPrior, evidence)
	roots := make([]float64, len(post.orders))
	for k := range post.orders {
		post.orders[k] = Order{Order: k, LogBayesFactor: Number(math.Inf(-1))}
	}
	for m, f := range p.models {
		one := &post.orders[f.order]
		one.Probability += Number(sum.Probability[m])
		// the last term cancels the uniform prior of the order
		one.LogBayesFactor = Number(logsum.Add(float64(one.LogBayesFactor), logPrior[m]+f.logEvidence+math.Log(float64(len(post.orders)))))
		if f.unitRoot {
			post.unitRoot += sum.Probability[m]
			roots[f.order] = sum.Probability[m]
		}
	}
	if p.Options.UnitRoot > 0 {
		for k := range post.orders {
			conditional := Number(0)
			if probability := float64(post.orders[k].Probability); probability > 0 {
				conditional = Number(roots[k] / probability)
			}
			post.orders[k].UnitRoot = &conditional
		}
	}
	for range draws {
		m := pick.Index(sum.Probability, random.Float64())
		post.add(p.models[m], logPrior[m]+p.models[m].logEvidence-sum.LogEvidence, random)
	}
	return post, nil
}

func (p *Problem) splinePosterior(ctx gocontext.Context, draws int, random *rand.Rand) (*posterior, error) {
	sum, err := p.knots.sum(ctx, draws, random)
	if err != nil {
		return nil, err
	}
	post := &posterior{problem: p, knots: sum}
	for k, probability := range sum.count {
		o := Order{Order: k, Probability: Number(probability), LogBayesFactor: Number(sum.logCount[k] - sum.logCount[0])}
		o.Knots = apply.To(sum.best[k], func(j int) Number { return Number(p.knots.places[j]) })
		post.orders = append(post.orders, o)
	}
	fits := map[string]*fit{}
	for _, set := range sum.sets {
		key := fmt.Sprint(set)
		f := fits[key]
		if f == nil {
			columns := append(rank.UpTo(p.knots.degree), apply.To(set, func(j int) int { return p.knots.degree + j })...)
			if f, err = p.levels.newFit(columns, p.levels.total); err != nil {
				return nil, err
			}
			f.order, f.logPrior = len(set), p.knots.logCount[len(set)]
			fits[key] = f
		}
		post.add(f, f.logPrior+f.logEvidence-sum.logEvidence, random)
	}
	return post, nil
}

// add adds a draw of the coefficients, the intercept and σ of a model from their posterior.
func (post *posterior) add(f *fit, logModel float64, random *rand.Rand) {
	d := draw{fit: f, logModel: logModel, coefficients: make([]float64, len(f.columns))}
	logSigma, _ := f.Draw(random, d.coefficients)
	d.sigma = math.Exp(logSigma)
	d.intercept = f.design.mean + d.sigma/math.Sqrt(float64(len(f.design.y)))*random.NormFloat64()
	post.draws = append(post.draws, d)
}

func (post *posterior) most() int {
	best := slices.MaxFunc(post.orders, func(a, b Order) int { return cmp.Compare(a.Probability, b.Probability) })
	return best.Order
}

// curvePoints is the number of times at which the posterior of a curve is computed.
const curvePoints = 200

// curve returns the posterior mean and interval of the expected value at evenly spaced times.
func (post *posterior) curve() []CurvePoint {
	p := post.problem
	points := make([]CurvePoint, curvePoints)
	values := make([]float64, len(post.draws))
	for i := range points {
		t := p.first + (p.last-p.first)*float64(i)/(curvePoints-1)
		row := p.basis(t)
		mean := 0.0
		for d, one := range post.draws {
			values[d] = one.intercept
			for k, j := range one.fit.columns {
				values[d] += one.coefficients[k] * (row[j] - p.levels.centres[j])
			}
			mean += values[d] / float64(len(values))
		}
		points[i] = CurvePoint{Time: Number(t), Mean: Number(mean)}
		points[i].Q025, _, points[i].Q975 = report.Central(values)
	}
	return points
}
