package effects

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/internal/stream"
)

// Effect is the posterior of the total causal effect of the node From on the node To, over graphs
// and parameters. The effect is the change of the mean of To when an intervention raises From by
// one unit, in units of the table or of its logarithms. It is zero without a directed path from
// From to To.
type Effect struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Prob is the probability of a directed path, and ProbSE its standard error. ProbNone is the
	// probability that there is no directed path.
	Prob     report.Number `json:"prob"`
	ProbSE   report.Number `json:"prob_se"`
	ProbNone report.Number `json:"prob_none"`
	// Size summarises the effect over all graphs, with zeros for graphs without a directed path. It
	// is null if the cause or the outcome is categorical, and in mixed tables of many nodes if the
	// effect was not requested.
	Size
	// Changes holds the effect in mixed tables if the cause or the outcome is categorical: changes
	// of the mean or of probabilities of the outcome.
	Changes []Change `json:"changes,omitempty"`
}

// Size summarises draws of an effect: the mean with its Monte Carlo error, the standard deviation,
// and the central 90% interval. The Monte Carlo error is null where all draws are zero, because
// zeros alone do not show that the mean is zero.
type Size struct {
	Mean   report.Number `json:"mean"`
	MeanSE report.Number `json:"mean_se"`
	SD     report.Number `json:"sd"`
	Q05    report.Number `json:"q05"`
	Q95    report.Number `json:"q95"`
}

// sizeOf summarises draws of an effect, and sorts the slice values that holds them. The argument
// named independent is the effective number of draws.
func sizeOf(values []float64, independent float64) Size {
	mean, sd := stat.MeanStdDev(values, nil)
	slices.Sort(values)
	s := Size{Mean: report.Number(mean), MeanSE: report.Number(sd / math.Sqrt(independent)), SD: report.Number(sd),
		Q05: report.Number(values[len(values)*5/100]), Q95: report.Number(values[len(values)*95/100])}
	if values[0] == 0 && values[len(values)-1] == 0 {
		s.MeanSE = report.Number(math.NaN())
	}
	return s
}

// These constants limit the work for total effects of networks. A mean over 200 draws has an error
// of a fourteenth of a posterior standard deviation.
const (
	networkEffects = 200 // draws of graphs and parameters
	effectRows     = 100 // rows that are simulated for each draw
)

// TotalEffects summarises the effects for all pairs of nodes with a directed path in some draw, and
// for the requested pairs, ordered by cause. independent is the effective number of draws. The
// simulated rows for each cause have their own random stream under the seed.
func TotalEffects(p *score.Problem, ctx gocontext.Context, d score.Sample, independent float64, seed uint64) ([]Effect, error) {
	nodes := p.Data.Nodes()
	orders := make([][]int, len(d.Parents))
	for k, parents := range d.Parents {
		orders[k], _ = dgraph.FromParents(parents).Order()
	}
	if p.Model.Mechanism == sem.MLP {
		every := max(1, len(orders)/networkEffects)
		d, orders = d.Each(every), score.EachOf(orders, every)
		independent /= float64(every)
	}
	lists := make([][]Effect, nodes)
	err := parallel.For(ctx, nodes, func(from int) error {
		random := stream.Rand(seed, "effects/"+p.Data.Names[from])
		values, paths := make([][]float64, nodes), make([]float64, nodes)
		for k, parents := range d.Parents {
			below := score.Descendants(from, parents, orders[k])
			effects := effectsOf(p, from, parents, d.Thetas[k], orders[k], below, random)
			for to := range nodes {
				paths[to] += dgraph.Indicator(to != from && below[to])
				values[to] = append(values[to], effects[to]*unit(p, from, to))
			}
		}
		for to, drawn := range values {
			share := paths[to] / float64(len(drawn))
			likely := share > 0 && (nodes <= dgraph.ManyNodes || share >= 0.5)
			if !likely && !slices.Contains(p.Asked, dgraph.Edge{From: from, To: to}) {
				continue
			}
			e := Effect{From: p.Data.Names[from], To: p.Data.Names[to], Prob: report.Number(share), ProbSE: report.Number(score.ShareError(share, independent)), ProbNone: report.Number(1 - share)}
			none := report.Number(math.NaN())
			if e.Size = (Size{none, none, none, none, none}); !p.Model.Mechanism.Integrated() {
				e.Size = sizeOf(drawn, independent)
			}
			lists[from] = append(lists[from], e)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("stopped while computing total effects: %w", err)
	}
	list := slices.Concat(lists...)
	if p.Model.Mechanism.ByColumns() && p.Data.Missing == nil {
		err = sizeMixedEffects(p, ctx, list, d, orders, independent, stream.Rand(seed, "effects"))
	}
	return list, err
}

// unit returns the factor that converts an effect between scaled columns (tables.Data.X) into units
// of the table.
func unit(p *score.Problem, from, to int) float64 {
	if p.Model.Mechanism.Integrated() {
		return 1
	}
	return p.Data.Scale[to] / p.Data.Scale[from]
}

// effectsOf returns the total effects of a node on all nodes, in one graph with its parameters, on
// the scale of the scaled columns (tables.Data.X). For linear mechanisms an effect is the sum over
// paths of the products of weights (Wright 1934). For networks it is estimated from simulated rows:
// the difference of the means with the node set half a standard deviation above and below its mean,
// with the same noise, divided by the standard deviation.
func effectsOf(p *score.Problem, from int, parents []dgraph.Set, thetas [][]float64, order []int, below []bool, random *rand.Rand) []float64 {
	effects := make([]float64, len(order))
	switch p.Model.Mechanism {
	case sem.Categorical, sem.Mixed, sem.Spline:
		return effects
	case sem.MLP:
		return simulatedEffects(p, from, thetas, order, below, random)
	}
	effects[from] = 1
	for _, j := range order {
		if j == from || !below[j] {
			continue
		}
		for i := range parents[j].Nodes() {
			effects[j] += effects[i] * thetas[j][i]
		}
	}
	return effects
}

// simulatedEffects returns the total effects of a node on all nodes for networks, from simulated
// rows.
func simulatedEffects(p *score.Problem, from int, thetas [][]float64, order []int, below []bool, random *rand.Rand) []float64 {
	l, effects := p.Layout(), make([]float64, len(order))
	if !slices.Contains(slices.Concat(below[:from], below[from+1:]), true) {
		return effects
	}
	size := math.Exp(p.Data.LogSD(from))
	up, down := make([]float64, len(order)), make([]float64, len(order))
	for range effectRows {
		for _, j := range order {
			noise := math.Exp(l.LogSigma(thetas[j])) * random.NormFloat64()
			up[j], down[j] = l.Mean(thetas[j], up)+noise, l.Mean(thetas[j], down)+noise
			if j == from {
				up[j], down[j] = size/2, -size/2
			}
			if below[j] {
				effects[j] += (up[j] - down[j]) / (size * effectRows)
			}
		}
		clear(up)
		clear(down)
	}
	return effects
}
