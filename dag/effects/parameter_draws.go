package effects

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/internal/draws"
)

// DrawsFile is the name of the file with draws of graphs and parameters in a run directory.
const DrawsFile = draws.ParquetFile

// FileDraws is the number of draws that a run writes.
const FileDraws = 2000

// Spread picks FileDraws draws from a list in proportion to their counts, in random order. It
// returns the families of each, by node.
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

// WriteDraws writes draws to a run directory. Sites are the edges that at least one draw has, named
// a->b, with outcomes 0 and 1. Coordinates are the parameters of the mechanisms of these edges. For
// linear mechanisms they are the coefficients, with the names of the edges, and sigma.NODE, in
// units of the table (or of its logarithms). For networks they are the parameters of section F.1
// for the working columns, W1.a->b.h, b1.b.h, W2.b.h and b2.b, with h the number of the hidden
// unit. log_p__ is log p(A) + log p(x, θ | A) of the graph A for the working columns, with p(A) up
// to its constant. With the prior over orders, p(A) is the prior of A along one order. log_q__ is
// not known.
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
	if len(edges) == 0 { // a file of draws must have a site
		edges = []dgraph.Edge{{From: 0, To: 1}}
		header.Cards, header.Sites = []int{2}, []string{p.Data.Names[0] + "->" + p.Data.Names[1]}
	}
	columns := drawColumns(p, edges)
	for _, c := range columns {
		header.Coordinates = append(header.Coordinates, c.name)
	}
	file := &draws.Draws{Header: header}
	file.Chain = d.Chain
	density := newDensity(p)
	for k, parents := range d.Parents {
		for _, e := range edges {
			file.Codes = append(file.Codes, int32(dgraph.Indicator(parents[e.To].Has(e.From))))
		}
		for _, c := range columns {
			file.Theta = append(file.Theta, c.value(d.Thetas[k][c.node]))
		}
		file.LogP = append(file.LogP, density.logDensity(parents, d.Thetas[k])) // NaN where cells are missing
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
		parents, thetas := make([]dgraph.Set, p.Data.Nodes()), make([][]float64, p.Data.Nodes())
		for s, e := range edges {
			if file.Codes[k*len(edges)+s] != 0 {
				parents[e.To] = parents[e.To].With(e.From)
			}
		}
		for j := range thetas {
			thetas[j] = make([]float64, dim)
		}
		for c, column := range columns {
			column.set(thetas[column.node], file.Theta[k*len(columns)+c])
		}
		d.Parents, d.Thetas = append(d.Parents, parents), append(d.Thetas, thetas)
	}
	d.Chain = file.Chain
	return d, nil
}

// drawColumn is a coordinate in a file of draws.
type drawColumn struct {
	name         string
	node, offset int     // of the family of the node, in its layout
	unit         float64 // of the table, in units of the working scale
	scale        bool    // whether it is σ and the layout has its logarithm
}

// value returns the coordinate, given the parameters of its node.
func (c drawColumn) value(theta []float64) float64 {
	if c.scale {
		return math.Exp(theta[c.offset]) * c.unit
	}
	return theta[c.offset] * c.unit
}

// set sets the parameter of the node from a value of the coordinate. It is the reverse of value.
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
	for _, e := range edges {
		if l.Mechanism == sem.Categorical {
			break
		}
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
		if l.Mechanism == sem.Categorical {
			break
		}
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

// density computes log p(A) + log p(x, θ | A), with p(A) up to its constant.
type density struct {
	problem *score.Problem
	forms   []score.Form // form of each node; nil for networks
}

func newDensity(p *score.Problem) *density {
	d := &density{problem: p}
	if p.Model.Mechanism.Closed() {
		d.forms = p.Forms()
	}
	return d
}

func (d *density) logDensity(parents []dgraph.Set, thetas [][]float64) (sum float64) {
	if d.problem.Data.Missing != nil { // otherwise the density would be the density of the completed table
		return math.NaN()
	}
	for j, set := range parents {
		sum += d.problem.Structure.Prior.LogWeight(j, set)
		if d.forms != nil {
			sum += d.forms[j].LogJoint(set, thetas[j])
		} else {
			sum += networkLogJoint(d.problem, dgraph.Family{Node: j, Parents: set}, thetas[j])
		}
	}
	return sum
}

// networkLogJoint returns log p(x_j, θ | x_pa) of a family of networks.
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
