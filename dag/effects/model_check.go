package effects

import (
	"cmp"
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/modelcheck"
)

// These constants limit the work of a model check.
const (
	checkWork        = 2e9 // largest number of multiplications for the means of nodes, which take a few seconds on one core
	fewestChecked    = 500 // least number of rows that are checked
	networkParameter = 100 // draws of the parameters of networks and of mixed tables, each with several replicates
)

// CheckModel makes posterior predictive checks: it compares the values of each node with replicates
// of the node given its parents, for draws of the set of parents and of parameters. The argument
// best is the most probable graph.
func CheckModel(p *score.Problem, ctx gocontext.Context, posterior score.Mixture, best *dgraph.Graph, source score.ParameterSource, random *rand.Rand) (*modelcheck.Report, error) {
	nodes := p.Data.Nodes()
	parameters, cost := modelcheck.MinDraws, float64(nodes)
	switch p.Model.Mechanism {
	case sem.MLP:
		parameters, cost = networkParameter, float64(nodes*p.Layout().Hidden)
	case sem.Mixed, sem.Spline:
		parameters = networkParameter // because parameters come in batches with repeated draws
	}
	most := int(checkWork / (cost * float64(nodes*parameters)))
	rows := modelcheck.CheckedRows(p.Data.Rows(), max(fewestChecked, min(most, modelcheck.MostChecked)))
	in := modelcheck.GraphInput{
		Rows:     modelcheck.RowNames{Numbers: p.Data.Places, Unit: p.Data.PlaceUnit},
		Remedies: remedies(p),
		Curves:   p.Model.Mechanism == sem.Spline || p.Model.Mechanism == sem.MLP,
	}
	families, ofNodes, fits := make([]func() int, nodes), posterior.OfNodes(nodes), make([]*nodeFit, nodes)
	var nodeOf []int // node of each checked column
	for j := range nodes {
		fits[j] = &nodeFit{problem: p, node: j, first: len(nodeOf)}
		fits[j].rows = apply.Keep(rows, func(row int) bool { return p.Data.Counts(row, j) })
		families[j] = posterior.Draws(random, ofNodes[j])
		columns, kind := checkedColumns(p, j)
		for _, column := range columns {
			nodeOf = append(nodeOf, j)
			in.Columns, in.Kinds, in.Counted = append(in.Columns, column), append(in.Kinds, kind), append(in.Counted, fits[j].rows)
		}
	}
	repeats := modelcheck.MinDraws / parameters
	chosen, parents, descendants := make([]int, nodes), make([]dgraph.Set, nodes), make([][]bool, nodes)
	in.Descends = func(_, column, other int) bool { // columns of one category count as descendants of each other, because its levels exclude each other
		return nodeOf[column] == nodeOf[other] || descendants[nodeOf[column]][nodeOf[other]]
	}
	in.Draw = func(d, column int, mean, sd, replicate []float64) {
		fit := fits[nodeOf[column]]
		if d%repeats == 0 && column == 0 {
			for j := range nodes {
				chosen[j] = families[j]()
				parents[j] = posterior.Families[chosen[j]].Parents
			}
			order, _ := dgraph.FromParents(parents).Order()
			descendants = apply.UpTo(nodes, func(j int) []bool { return score.Descendants(j, parents, order) })
		}
		if d%repeats == 0 && column == fit.first {
			theta, _ := source(chosen[fit.node])
			fit.fit(posterior.Families[chosen[fit.node]], theta)
		}
		fit.draw(column, mean, sd, replicate, random)
	}
	report, err := modelcheck.Graph(ctx, in)
	switch {
	case err != nil:
	case in.Curves:
		doubtDirections(&report)
	case p.Model.Mechanism == sem.BGe || p.Model.Mechanism == sem.Linear:
		err = adviseSplines(p, ctx, best, report.Findings)
	}
	return &report, err
}

// doubtDirections makes the verdict poor for splines and networks where the noise has heavy tails
// or depends on parents. The model has normal noise of one standard deviation. Curves that fit
// other noise make wrong directions of edges probable.
func doubtDirections(report *modelcheck.Report) {
	for k := range report.Findings {
		f := &report.Findings[k]
		if term := f.Term(); term == "heavy tails" || term == "unequal spread" {
			f.Verdict, report.Verdict = modelcheck.Poor, modelcheck.Poor
			f.Advice += "; --sem bge, which takes no direction from curves"
		}
	}
	slices.SortStableFunc(report.Findings, func(a, b modelcheck.Finding) int { return cmp.Compare(b.Verdict, a.Verdict) })
}

// strongEvidence is a difference of log evidences, in nats, that counts as strong evidence.
const strongEvidence = 3

// adviseSplines recommends splines as the remedy for curvature where splines have more evidence,
// and states the difference in nats. It does nothing if the check has more findings of outliers,
// heavy tails and unequal spread than of curvature. Such findings suggest noise that depends on
// parents. The mean of a parent given its child is then curved, so that splines have more evidence
// with the edge in the wrong direction.
func adviseSplines(p *score.Problem, ctx gocontext.Context, best *dgraph.Graph, findings []modelcheck.Finding) error {
	curved, noisy := 0, 0
	for _, f := range findings {
		switch f.Term() {
		case "curvature":
			curved++
		case "outlier", "heavy tails", "unequal spread":
			noisy++
		}
	}
	if curved == 0 || curved < noisy {
		return nil
	}
	gain, err := p.SplineGain(ctx, best)
	if err != nil || !(gain > strongEvidence) {
		return err
	}
	for k, f := range findings {
		if f.Term() == "curvature" {
			findings[k].Advice = fmt.Sprintf("--sem spline, with which a search finds a graph of a log evidence higher by %.0f", gain)
		}
	}
	return nil
}

// checkedColumns returns the values of a node that is a number, or for a category an indicator of
// each level except the first.
func checkedColumns(p *score.Problem, node int) (columns []modelcheck.Column, kind modelcheck.Kind) {
	name := p.Data.Names[node]
	if !p.Data.Category(node) {
		return []modelcheck.Column{{Name: name, Values: inUnits(p.Data, node)}}, modelcheck.Continuous
	}
	for level, text := range p.Data.Levels[node][1:] {
		values := apply.UpTo(p.Data.Rows(), func(row int) float64 { return dgraph.Indicator(int(p.Data.X.At(row, node)) == level+1) })
		columns = append(columns, modelcheck.Column{Name: name + "=" + text, Indicator: true, Values: values})
	}
	return columns, modelcheck.Binary
}

// nodeFit is the prediction of a node in some rows, for one draw of the parameters.
type nodeFit struct {
	problem *score.Problem
	node    int
	first   int   // index of the first checked column of the node
	rows    []int // checked rows in which no intervention sets the node

	means         []float64   // means of a number, in units of the table
	sigma         float64     // noise of a number, in units of the table
	probabilities [][]float64 // probabilities of the levels of a category, by row
	levels        []int       // level that was drawn in each row
}

func (n *nodeFit) fit(f dgraph.Family, theta []float64) {
	p, d := n.problem, n.problem.Data
	if !p.Model.Mechanism.ByColumns() {
		n.means, n.sigma = make([]float64, len(n.rows)), math.Exp(p.Layout().LogSigma(theta))*d.Scale[n.node]
		means(p, n.node, n.rows, theta, n.means)
		floats.Scale(d.Scale[n.node], n.means)
		floats.AddConst(d.Shift[n.node], n.means)
		return
	}
	table := p.MixedTable()
	mechanism := table.Mechanism(f, theta)
	n.means, n.probabilities = nil, nil
	for _, row := range n.rows {
		if mechanism.Levels == nil {
			n.means = append(n.means, mechanism.Predictor(0, table.Rows[row])*d.Scale[n.node]+d.Shift[n.node])
			continue
		}
		probabilities := make([]float64, len(mechanism.Levels))
		mechanism.Probabilities(table.Rows[row], probabilities)
		n.probabilities = append(n.probabilities, probabilities)
	}
	if mechanism.Levels == nil {
		n.sigma = mechanism.Noise() * d.Scale[n.node]
	}
}

// draw sets mean, sd and replicate to the mean, the standard deviation and a random replicate of a
// column of the node, by row. All columns of a category come from one replicate.
func (n *nodeFit) draw(column int, mean, sd, replicate []float64, random *rand.Rand) {
	if n.probabilities == nil {
		copy(mean, n.means)
		for k := range mean {
			sd[k] = n.sigma
			replicate[k] = mean[k] + sd[k]*random.NormFloat64()
		}
		return
	}
	if column == n.first {
		n.levels = apply.To(n.probabilities, func(p []float64) int { return pick.Index(p, random.Float64()) })
	}
	level := 1 + column - n.first
	for k, probabilities := range n.probabilities {
		mean[k] = probabilities[level]
		sd[k] = math.Sqrt(mean[k] * (1 - mean[k]))
		replicate[k] = dgraph.Indicator(n.levels[k] == level)
	}
}

// inUnits returns the values of a node in units of the table (or of its logarithms). Values are
// rounded to the 12 digits that scaling preserves, so that equal cells of the table have equal
// values.
func inUnits(d *tables.Data, j int) []float64 {
	values := mat.Col(nil, j, d.X)
	for row, x := range values {
		x = x*d.Scale[j] + d.Shift[j]
		if math.Abs(x) < 1e-12*math.Abs(d.Shift[j]) { // the sum is zero up to rounding errors
			x = 0
		}
		if rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 11, 64), 64); err == nil {
			x = rounded
		}
		values[row] = x
	}
	return values
}

func remedies(p *score.Problem) modelcheck.Remedies {
	remedies := modelcheck.Remedies{
		HeavyTails: "a transform of the column, or --log for all columns if they are positive",
		Counts:     "--discrete, if all columns can be taken as categories; or --exclude",
		TwoValues:  "--discrete, if all columns can be taken as categories; or --exclude",
		Curvature:  "a transform of the column",
		Dependence: "a column for time or place; rows that depend on each other count as too many",
	}
	switch p.Model.Mechanism {
	case sem.Spline:
		remedies.Curvature = "--sem mlp, or a transform of the column"
	case sem.MLP:
		remedies.Curvature = "more hidden units (--hidden), or a transform of the column"
	case sem.Mixed:
		remedies.Curvature = "a transform of the column, or --discretize"
		remedies.Counts, remedies.TwoValues = "--discrete with the name of the column; or --exclude", "--discrete with the name of the column; or --exclude"
	}
	return remedies
}
