package query

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
)

// givenLevels answers queries about categories. For each graph it sums over all values of the nodes
// that are not in the query, one node after the other (variable elimination).
type givenLevels struct {
	problem *score.Problem
	query   resolvedQuery
	fixed   map[int]int // levels of the observed nodes and of the nodes that are set
	forms   []score.Form
	counts  map[dgraph.Family][]float64 // row counts that the method table has computed
}

func newGivenLevels(p *score.Problem, r resolvedQuery) *givenLevels {
	g := &givenLevels{problem: p, query: r, fixed: map[int]int{}, forms: p.Forms(), counts: map[dgraph.Family][]float64{}}
	for j, x := range r.fixed() {
		g.fixed[j] = int(x)
	}
	return g
}

func (g *givenLevels) under(parents []dgraph.Set, _ [][]float64, random *rand.Rand) (c conditional, err error) {
	var means, draws []factor
	for j := range g.query.relevant(parents).Nodes() {
		if _, set := g.query.do[j]; set {
			continue // a node that is set does not depend on its parents
		}
		mean, drawn, err := g.factors(dgraph.Family{Node: j, Parents: parents[j]}, random)
		if err != nil {
			return c, err
		}
		means, draws = append(means, mean), append(draws, drawn)
	}
	if c.mean, err = g.marginal(means); err != nil {
		return c, err
	}
	if c.drawn, err = g.marginal(draws); err != nil {
		return c, err
	}
	total := floats.Sum(c.mean)
	c.logEvidence = math.Log(total)
	floats.Scale(1/total, c.mean)
	if total := floats.Sum(c.drawn); total > 0 {
		floats.Scale(1/total, c.drawn)
	} else { // with the drawn tables the probability of the observations is too small for a float64
		c.drawn = c.mean
	}
	return c, nil
}

// relevant returns the target, the observed nodes and the ancestors of all these nodes, in the
// graph in which nodes set by the query have no parents. The answer does not depend on the
// remaining nodes, whose probabilities sum to one.
func (q *resolvedQuery) relevant(parents []dgraph.Set) dgraph.Set {
	links, from := slices.Clone(parents), append(slices.Collect(maps.Keys(q.observed)), q.target)
	for j := range q.do {
		links[j] = dgraph.Set{}
	}
	return dgraph.Reach(dgraph.SetOf(from...), links)
}

// factor is a table over the combinations of values of some nodes. The nodes are in ascending
// order, and the value of the last node changes fastest.
type factor struct {
	nodes  []int
	values []float64
}

// factors returns two tables of the conditional probabilities of a node given its parents. Nodes
// that the query fixes are left out of the tables. One table has the posterior means of the
// probabilities. The other table is drawn from their posterior, which is a Dirichlet distribution
// for each combination of values of the parents.
func (g *givenLevels) factors(f dgraph.Family, random *rand.Rand) (mean, drawn factor, err error) {
	counts, size, err := g.table(f)
	if err != nil {
		return mean, drawn, err
	}
	levels, parents := g.problem.Data.Levels, f.Parents.List()
	r := len(levels[f.Node])
	cell := size / float64(len(counts))
	nodes := slices.DeleteFunc(f.Parents.With(f.Node).List(), func(j int) bool { _, on := g.fixed[j]; return on })
	mean = factor{nodes, make([]float64, g.cells(nodes))}
	drawn = factor{nodes, make([]float64, len(mean.values))}
	codes := maps.Clone(g.fixed)
	free := slices.DeleteFunc(slices.Clone(parents), func(j int) bool { _, on := g.fixed[j]; return on })
	for combination := range g.cells(free) {
		for _, j := range slices.Backward(free) {
			codes[j], combination = combination%len(levels[j]), combination/len(levels[j])
		}
		row := g.place(parents, codes)
		rowCounts := counts[row*r : (row+1)*r]
		total := floats.Sum(rowCounts) + cell*float64(r)
		logs := make([]float64, r)
		for level, n := range rowCounts { // log of a gamma variable that may be too small for a float64, from a variable with a larger shape
			logs[level] = math.Log(stream.Gamma(n+cell+1, random)) + math.Log(1-random.Float64())/(n+cell)
		}
		logTotal := logsum.Of(logs)
		for level, n := range rowCounts {
			if at, on := g.fixed[f.Node]; on && at != level {
				continue
			}
			codes[f.Node] = level
			place := g.place(nodes, codes)
			mean.values[place], drawn.values[place] = (n+cell)/total, math.Exp(logs[level]-logTotal)
		}
	}
	return mean, drawn, nil
}

// table returns the number of rows of the data with each combination of values of the parents and
// each level of the node, and the weight of the prior as a number of rows.
func (g *givenLevels) table(f dgraph.Family) (counts []float64, size float64, err error) {
	form := score.FormsOf(g.forms[f.Node])[0].(*score.BDeu)
	if counts, known := g.counts[f]; known {
		return counts, form.Size, nil
	}
	if counts, err = form.Table(f.Parents); err != nil {
		return nil, 0, fmt.Errorf("the query needs the table of probabilities of node %q, which is missing: %w; ask about nodes that come before it, or set it",
			g.problem.Data.Names[f.Node], err)
	}
	g.counts[f] = counts
	return counts, form.Size, nil
}

func (g *givenLevels) cells(nodes []int) int {
	cells := 1
	for _, j := range nodes {
		if cells *= len(g.problem.Data.Levels[j]); cells > score.MostCells {
			return cells
		}
	}
	return cells
}

// place returns the index of an entry of a table over the values of nodes, given the nodes' levels.
func (g *givenLevels) place(nodes []int, codes map[int]int) (place int) {
	for _, j := range nodes {
		place = place*len(g.problem.Data.Levels[j]) + codes[j]
	}
	return place
}

// marginal returns the product of factors (tables over the values of nodes), summed over all nodes
// except the target, by level of the target. The next node to sum over is always the one with the
// smallest table.
func (g *givenLevels) marginal(factors []factor) ([]float64, error) {
	for {
		best, least := -1, 0
		for _, f := range factors {
			for _, j := range f.nodes {
				if j == g.query.target || j == best {
					continue
				}
				if cells := g.cells(joined(factors, j)); best < 0 || cells < least || cells == least && j < best {
					best, least = j, cells
				}
			}
		}
		if best < 0 {
			break
		}
		if least > score.MostCells {
			return nil, fmt.Errorf("the query needs a table of more than %d combinations of values: observe or set some of the nodes %q", score.MostCells, distinct.At(g.problem.Data.Names, joined(factors, best)))
		}
		has := func(f factor) bool { return slices.Contains(f.nodes, best) }
		with := apply.Keep(factors, has)
		factors = append(slices.DeleteFunc(factors, has), g.sum(with, joined(with, best), best))
	}
	return g.sum(factors, []int{g.query.target}, -1).values, nil
}

// joined returns the nodes of all factors that contain the given node, in ascending order.
func joined(factors []factor, node int) (nodes []int) {
	for _, f := range factors {
		if slices.Contains(f.nodes, node) {
			nodes = append(nodes, f.nodes...)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// sum returns the product of factors, summed over the values of the node whose index is the
// argument over; if over is negative, nothing is summed. The argument nodes holds all nodes of the
// factors.
func (g *givenLevels) sum(factors []factor, nodes []int, over int) factor {
	levels := g.problem.Data.Levels
	kept := slices.DeleteFunc(slices.Clone(nodes), func(j int) bool { return j == over })
	out := factor{kept, make([]float64, g.cells(kept))}
	steps := make([][]int, len(factors)+1) // change of the index in each factor when the level of a node rises by one
	for k, term := range append(slices.Clone(factors), out) {
		steps[k] = make([]int, len(nodes))
		step := 1
		for _, j := range slices.Backward(term.nodes) {
			steps[k][slices.Index(nodes, j)] = step
			step *= len(levels[j])
		}
	}
	codes, places := make([]int, len(nodes)), make([]int, len(factors)+1)
	for range g.cells(nodes) {
		product := 1.0
		for k, f := range factors {
			product *= f.values[places[k]]
		}
		out.values[places[len(factors)]] += product
		for at := len(nodes) - 1; at >= 0; at-- {
			codes[at]++
			move := 1
			if codes[at] == len(levels[nodes[at]]) {
				move, codes[at] = 1-codes[at], 0
			}
			for k := range places {
				places[k] += move * steps[k][at]
			}
			if codes[at] != 0 {
				break
			}
		}
	}
	return out
}
