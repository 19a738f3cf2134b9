package effects

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/draws"
)

// DrawsFile is the name of the file with draws of graphs and parameters in a run directory.
const DrawsFile = draws.ParquetFile

// FileDraws is the number of draws of graphs and parameters that a run writes to a file.
const FileDraws = 2000

// Spread picks FileDraws drawn graphs from a list in proportion to their counts, in random order.
// For each of them it returns the index of every node's family (the node with its set of parents).
func Spread(list []score.Draw, random *rand.Rand) (graphs [][]int) {
	total := 0
	for _, d := range list {
		total += d.Count
	}
	next, seen := random.Float64(), 0.0
	for _, d := range list {
		for seen += float64(d.Count) / float64(total) * FileDraws; next < seen && len(graphs) < FileDraws; next++ {
			graphs = append(graphs, d.Families)
		}
	}
	random.Shuffle(len(graphs), func(a, b int) { graphs[a], graphs[b] = graphs[b], graphs[a] })
	return graphs
}

// WriteDraws writes draws of graphs and parameters to a run directory. The discrete columns are the
// edges that at least one draw has, named a->b, with values 0 and 1. The continuous columns are the
// parameters of mechanisms. For linear mechanisms they are the coefficients, with the names of the
// edges, and sigma.NODE, in units of the table (or of its logarithms). For networks with first
// layer W1, b1 and output layer W2, b2 they are W1.a->b.h, b1.b.h, W2.b.h and b2.b for hidden unit
// h, for the scaled columns. The column log_p__ is log p(A) + log p(x, θ | A) of the graph A with
// parameters θ for the scaled columns x, up to the constant of p(A). With the prior over orders,
// p(A) is the prior of A along one order. The column log_q__, the log density of the draws, is
// unknown.
func WriteDraws(p *score.Problem, dir string, seed uint64, d score.Sample) error {
	if dir == "" {
		return nil
	}
	header := draws.Header{Kind: draws.IID, Seed: seed}
	if d.Chain != nil {
		header.Kind = draws.Chains
	}
	nodes := p.Data.Nodes()
	seen := dgraph.NewGraph(nodes)
	for _, parents := range d.Parents {
		for j, set := range parents {
			for i := range set.Nodes() {
				seen.Set(i, j, true)
			}
		}
	}
	var edges []dgraph.Edge
	for _, e := range dgraph.OrderedPairs(nodes) {
		if seen.Has(e.From, e.To) {
			edges = append(edges, e)
			header.Cards, header.Sites = append(header.Cards, 2), append(header.Sites, p.Data.Names[e.From]+"->"+p.Data.Names[e.To])
		}
	}
	if len(edges) == 0 { // a file of draws must have a discrete column
		edges = []dgraph.Edge{{From: 0, To: 1}}
		header.Cards, header.Sites = []int{2}, []string{p.Data.Names[0] + "->" + p.Data.Names[1]}
	}
	columns := drawColumns(p, edges)
	header.Coordinates = apply.To(columns, func(c drawColumn) string { return c.name })
	file := &draws.Draws{Header: header}
	file.Chain = d.Chain
	var forms []score.Form // closed form of each node's posterior; nil for networks
	if p.Model.Mechanism.Closed() {
		forms = p.Forms()
	}
	for k, parents := range d.Parents {
		file.Codes = append(file.Codes, apply.To(edges, func(e dgraph.Edge) int32 { return int32(dgraph.Indicator(parents[e.To].Has(e.From))) })...)
		file.Theta = append(file.Theta, apply.To(columns, func(c drawColumn) float64 { return c.value(d.Thetas[k][c.node]) })...)
		file.LogP = append(file.LogP, logDensity(p, forms, parents, d.Thetas[k])) // NaN where cells are missing
		if d.Chain == nil {
			file.LogQ = append(file.LogQ, math.NaN())
		}
	}
	return draws.Write(dir, file)
}

// ReadDraws reads a file written by WriteDraws.
func ReadDraws(p *score.Problem, dir string) (d score.Sample, err error) {
	path := filepath.Join(dir, DrawsFile)
	file, err := draws.Read(path)
	if err != nil {
		return d, err
	}
	byName := map[string]dgraph.Edge{}
	for _, e := range dgraph.OrderedPairs(p.Data.Nodes()) {
		byName[p.Data.Names[e.From]+"->"+p.Data.Names[e.To]] = e
	}
	edges := make([]dgraph.Edge, len(file.Sites))
	for k, name := range file.Sites {
		var known bool
		if edges[k], known = byName[name]; !known {
			return d, fmt.Errorf("%s: edge %q is none between the nodes of the run", path, name)
		}
	}
	columns := drawColumns(p, edges)
	if len(columns) != len(file.Coordinates) {
		return d, fmt.Errorf("%s: got %d coordinates, want %d of these mechanisms", path, len(file.Coordinates), len(columns))
	}
	dim := p.Layout().Dim()
	for k := range file.Len() {
		parents, thetas := make([]dgraph.Set, p.Data.Nodes()), apply.UpTo(p.Data.Nodes(), func(int) []float64 { return make([]float64, dim) })
		for s, e := range edges {
			if file.Codes[k*len(edges)+s] != 0 {
				parents[e.To] = parents[e.To].With(e.From)
			}
		}
		for c, column := range columns {
			column.set(thetas[column.node], file.Theta[k*len(columns)+c])
		}
		d.Parents, d.Thetas = append(d.Parents, parents), append(d.Thetas, thetas)
	}
	d.Chain = file.Chain
	return d, nil
}

// drawColumn is a column of a file of draws that holds a parameter.
type drawColumn struct {
	name         string
	node, offset int     // the node to which the parameter belongs, and the index in its parameters
	unit         float64 // factor from the scale of the scaled columns to the unit of the file
	scale        bool    // whether the parameter is log σ and the file has σ
}

// value returns the value of the column, given the parameters of its node.
func (c drawColumn) value(theta []float64) float64 {
	if c.scale {
		return math.Exp(theta[c.offset]) * c.unit
	}
	return theta[c.offset] * c.unit
}

// set sets the parameter of the node from a value of the column. It is the inverse of value.
func (c drawColumn) set(theta []float64, value float64) {
	theta[c.offset] = value / c.unit
	if c.scale {
		theta[c.offset] = math.Log(value / c.unit)
	}
}

func drawColumns(p *score.Problem, edges []dgraph.Edge) (columns []drawColumn) {
	l, names := p.Layout(), p.Data.Names
	add := func(name string, node, at int) {
		columns = append(columns, drawColumn{name: name, node: node, offset: at, unit: 1})
	}
	if l.Mechanism == sem.Categorical {
		return nil
	}
	for _, e := range edges {
		name := names[e.From] + "->" + names[e.To]
		if l.Mechanism == sem.Linear {
			columns = append(columns, drawColumn{name: name, node: e.To, offset: e.From, unit: p.Data.Scale[e.To] / p.Data.Scale[e.From]})
			continue
		}
		for h := range l.Hidden {
			add(fmt.Sprintf("W1.%s.%d", name, h+1), e.To, e.From*l.Hidden+h)
		}
	}
	for j, name := range names {
		if l.Mechanism == sem.MLP {
			for h := range l.Hidden {
				if l.Bias {
					add(fmt.Sprintf("b1.%s.%d", name, h+1), j, l.B1()+h)
				}
				add(fmt.Sprintf("W2.%s.%d", name, h+1), j, l.W2()+h)
			}
			if l.Bias {
				add("b2."+name, j, l.B2())
			}
		}
		if l.Sigma == 0 {
			unit := 1.0
			if l.Mechanism == sem.Linear {
				unit = p.Data.Scale[j]
			}
			columns = append(columns, drawColumn{"sigma." + name, j, l.Weights(), unit, true})
		}
	}
	return columns
}

// logDensity returns log p(A) + log p(x, θ | A), up to a constant, for a graph A, parameters θ and
// the table x. forms holds the closed form of each node's posterior; nil for networks.
func logDensity(p *score.Problem, forms []score.Form, parents []dgraph.Set, thetas [][]float64) (sum float64) {
	if p.Data.Missing != nil { // the density of a completed table is not the density of the table
		return math.NaN()
	}
	for j, set := range parents {
		sum += p.Structure.Prior.LogWeight(j, set)
		if forms != nil {
			sum += forms[j].LogJoint(set, thetas[j])
		} else {
			sum += networkLogJoint(p, dgraph.Family{Node: j, Parents: set}, thetas[j])
		}
	}
	return sum
}

// networkLogJoint returns log p(x_j, θ | x_pa) for node j, parents pa and a network with parameters
// θ.
func networkLogJoint(p *score.Problem, f dgraph.Family, theta []float64) (sum float64) {
	l, sd := p.Layout(), p.Model.PriorSD
	for k, on := range l.Mask(f)[:l.Weights()] {
		if on {
			sum -= dgraph.Square(theta[k]/sd)/2 + math.Log(sd) + score.HalfLog2Pi
		}
	}
	logSigma := l.LogSigma(theta)
	if l.Sigma == 0 {
		sum -= dgraph.Square((logSigma-p.Data.LogSD(f.Node))/score.LogSigmaSD)/2 + math.Log(score.LogSigmaSD) + score.HalfLog2Pi
	}
	counted := p.Data.CountedRows(f.Node)
	fitted := make([]float64, len(counted))
	means(p, f.Node, counted, theta, fitted)
	for k, row := range counted {
		sum -= dgraph.Square(p.Data.X.At(row, f.Node)-fitted[k])*math.Exp(-2*logSigma)/2 + logSigma + score.HalfLog2Pi
	}
	return sum
}
