package score

import (
	"fmt"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/sem"
)

// Network returns a graph over categories with the posterior means of its tables of probabilities.
func (p *Problem) Network(g *dgraph.Graph) (*dgraph.Network, error) {
	if p.Model.Mechanism != sem.Categorical {
		return nil, fmt.Errorf("got nodes that are numbers, or %s mechanisms; want categories, which have tables of probabilities", p.Model.Mechanism)
	}
	if err := p.Data.CheckComplete(); err != nil {
		return nil, err
	}
	n := &dgraph.Network{Names: p.Data.Names, Levels: p.Data.Levels, Graph: g}
	for j, parents := range g.ParentSets() {
		form := NewBDeuForm(p.Data, j, p.Model.ImaginarySampleSize)
		counts, err := form.Table(parents)
		if err != nil {
			return nil, fmt.Errorf("node %q: %w", p.Data.Names[j], err)
		}
		levels, cell := len(p.Data.Levels[j]), form.Size/float64(len(counts))
		rows := make([][]float64, len(counts)/levels)
		for k := range rows {
			rows[k] = counts[k*levels : (k+1)*levels]
			total := cell * float64(levels)
			for _, count := range rows[k] {
				total += count
			}
			for level, count := range rows[k] {
				rows[k][level] = (count + cell) / total
			}
		}
		n.Tables = append(n.Tables, rows)
	}
	return n, nil
}
