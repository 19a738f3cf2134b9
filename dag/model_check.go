package dag

import (
	gocontext "context"
	"math"
	"math/rand/v2"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/modelcheck"
)

// Limits of the work of a model check; all chosen by hand.
const (
	checkWork        = 2e9 // multiplications for the means of nodes, a few seconds of one core
	fewestChecked    = 500 // rows
	networkParameter = 100 // draws of the parameters of a network, each with several replicates
)

// checkModel compares each node with replicates of it given its parents, under draws of the
// parents and of the mechanism.
func (p *Problem) checkModel(ctx gocontext.Context, posterior mixture, source parameterSource, random *rand.Rand) (*modelcheck.Report, error) {
	l := p.layout()
	nodes := p.Data.Nodes()
	parameters, cost := modelcheck.MinDraws, float64(nodes)
	if l.mechanism != Linear {
		parameters, cost = networkParameter, float64(nodes*l.hidden)
	}
	most := int(checkWork / (cost * float64(nodes*parameters)))
	rows := modelcheck.CheckedRows(p.Data.Rows(), max(fewestChecked, min(most, modelcheck.MostChecked)))
	if rows == nil {
		for row := range p.Data.Rows() {
			rows = append(rows, row)
		}
	}
	in := modelcheck.GraphInput{
		Rows:     modelcheck.RowNames{Numbers: p.Data.Places, Unit: p.Data.PlaceUnit},
		Counted:  make([][]int, nodes),
		Draws:    modelcheck.MinDraws,
		Remedies: p.remedies(),
	}
	families := make([]func() int, nodes)
	means := make([][]float64, nodes)
	sigmas := make([]float64, nodes)
	for j, name := range p.Data.Names {
		in.Columns = append(in.Columns, modelcheck.Column{Name: name, Values: p.Data.inUnits(j)})
		for _, row := range rows {
			if p.Data.counts(row, j) {
				in.Counted[j] = append(in.Counted[j], row)
			}
		}
		families[j] = posterior.draws(random, func(f dgraph.Family) bool { return f.Node == j })
		means[j] = make([]float64, len(in.Counted[j]))
	}
	repeats := modelcheck.MinDraws / parameters
	chosen, parents := make([]int, nodes), make([]dgraph.Set, nodes)
	var descendants []dgraph.Set
	in.Descends = func(_, node, column int) bool { return descendants[node].Has(column) }
	in.Draw = func(d, node int, mean, sd, replicate []float64) {
		if d%repeats == 0 && node == 0 {
			for j := range nodes {
				chosen[j] = families[j]()
				parents[j] = posterior.families[chosen[j]].Parents
			}
			descendants = descendantsOf(parents)
		}
		if d%repeats == 0 {
			theta := source(chosen[node])
			sigmas[node] = math.Exp(l.logSigma(theta)) * p.Data.Scale[node]
			p.means(node, in.Counted[node], theta, means[node])
			floats.Scale(p.Data.Scale[node], means[node])
			floats.AddConst(p.Data.Shift[node], means[node])
		}
		copy(mean, means[node])
		for k := range mean {
			sd[k] = sigmas[node]
			replicate[k] = mean[k] + sd[k]*random.NormFloat64()
		}
	}
	report, err := modelcheck.Graph(ctx, in)
	return &report, err
}

// descendantsOf are the descendants of every node of a graph, given the parents of each.
func descendantsOf(parents []dgraph.Set) []dgraph.Set {
	descendants := make([]dgraph.Set, len(parents))
	for changed := true; changed; {
		changed = false
		for j, set := range parents {
			for i := range set.Nodes() {
				more := descendants[i].Or(descendants[j]).With(j)
				changed = changed || more != descendants[i]
				descendants[i] = more
			}
		}
	}
	return descendants
}

// inUnits are the values of a node in units of the table (or of its logarithms), to the 12 digits
// that they can be known to, so that equal cells of the table are equal.
func (d *Data) inUnits(j int) []float64 {
	values := mat.Col(nil, j, d.X)
	for row, x := range values {
		x = x*d.Scale[j] + d.Shift[j]
		if math.Abs(x) < 1e-12*math.Abs(d.Shift[j]) { // what cancels leaves rounding
			x = 0
		}
		if rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 11, 64), 64); err == nil {
			x = rounded
		}
		values[row] = x
	}
	return values
}

// remedies are the flags that answer what a check finds.
func (p *Problem) remedies() modelcheck.Remedies {
	remedies := modelcheck.Remedies{
		HeavyTails: "a transform of the column, or --log for all columns if they are positive",
		Counts:     "--discrete, if all columns can be taken as categories; or --exclude",
		TwoValues:  "--discrete, if all columns can be taken as categories; or --exclude",
		Curvature:  "--sem mlp, or a transform of the column",
		Dependence: "a column for time or place; rows that depend on each other count as too many",
	}
	if p.Model.Mechanism == MLP {
		remedies.Curvature = "more hidden units (--hidden), or a transform of the column"
	}
	return remedies
}
