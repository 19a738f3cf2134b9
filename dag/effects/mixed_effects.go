package effects

import (
	gocontext "context"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/pick"
)

// Change is the posterior of the change of a node when a cause is set to the value From instead of
// the value Reference, where the node or the cause is a category. The change is the rise of the
// node's mean, or of the probability of the node's value To. If the cause is a number, From and
// Reference are half a standard deviation above and below its mean.
type Change struct {
	From      string `json:"from_value"`
	Reference string `json:"reference"`
	To        string `json:"to_value,omitempty"`
	Size
}

// mostSizedNodes is the largest number of nodes of a mixed table for which all effects are
// simulated. With more nodes only requested effects are simulated, because the number of pairs
// grows with the square of the number of nodes.
const mostSizedNodes = 12

// setting is a value to which a cause is set, on the scale of the scaled columns (tables.Data.X).
type setting struct {
	value float64
	text  string
}

// settings returns the values to which a node is set: its levels, or the values half a standard
// deviation below and above its mean.
func settings(p *score.Problem, node int) (list []setting) {
	d := p.Data
	if d.Category(node) {
		return apply.UpTo(len(d.Levels[node]), func(level int) setting { return setting{float64(level), d.Levels[node][level]} })
	}
	column := d.OwnColumn(node)
	mean, sd := stat.MeanStdDev(column, nil)
	return apply.To([]float64{mean - sd/2, mean + sd/2}, func(x float64) setting {
		return setting{x, fmt.Sprintf("%.4g", x*d.Scale[node]+d.Shift[node])}
	})
}

// sizeMixedEffects estimates by simulation the sizes of the effects in a mixed table, for a part of
// the draws of graphs and parameters.
func sizeMixedEffects(p *score.Problem, ctx gocontext.Context, list []Effect, d score.Sample, orders [][]int, independent float64, random *rand.Rand) error {
	every := max(1, len(orders)/networkEffects)
	d, orders = d.Each(every), score.EachOf(orders, every)
	independent /= float64(every)
	place := func(name string) int { return slices.Index(p.Data.Names, name) }
	for from := range p.Data.Nodes() {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped while computing total effects: %w", err)
		}
		var nodeEffects []*Effect
		for k := range list {
			e := dgraph.Edge{From: place(list[k].From), To: place(list[k].To)}
			if e.From == from && (p.Data.Nodes() <= mostSizedNodes || slices.Contains(p.Asked, e)) {
				nodeEffects = append(nodeEffects, &list[k])
			}
		}
		if nodeEffects == nil {
			continue
		}
		settings := settings(p, from)
		outcomes := apply.UpTo(len(d.Parents), func(k int) [][][]float64 { // [draw][setting][node][outcome]
			return simulateMixed(p, from, settings, d.Parents[k], d.Thetas[k], orders[k], random)
		})
		for _, e := range nodeEffects {
			sizeMixedEffect(p, e, from, place(e.To), settings, outcomes, independent)
		}
	}
	return nil
}

// simulateMixed simulates rows in which a node is set to each of some values, with the same noise
// for all values. It returns the mean, or the probabilities of the levels, of every node:
// [setting][node][outcome].
func simulateMixed(p *score.Problem, from int, settings []setting, parents []dgraph.Set, thetas [][]float64, order []int, random *rand.Rand) [][][]float64 {
	table, nodes := p.MixedTable(), len(order)
	below := score.Descendants(from, parents, order)
	rows, means := make([][]float64, len(settings)), make([][][]float64, len(settings))
	mechanisms := apply.UpTo(nodes, func(j int) *score.MixedMechanism {
		return table.Mechanism(dgraph.Family{Node: j, Parents: parents[j]}, thetas[j])
	})
	for s := range settings {
		rows[s] = make([]float64, table.Width)
		means[s] = apply.To(mechanisms, func(m *score.MixedMechanism) []float64 { return make([]float64, max(1, len(m.Levels))) })
	}
	for range effectRows {
		for _, j := range order {
			m, u, noise := mechanisms[j], random.Float64(), random.NormFloat64()
			for s, nodeSetting := range settings {
				if j == from {
					table.Set(rows[s], j, nodeSetting.value)
					continue
				}
				if s > 0 && !below[j] { // the node does not descend from the cause, and keeps its value under the first setting
					for _, column := range table.Of[j] {
						rows[s][column] = rows[0][column]
					}
					continue
				}
				outcome := m.Outcome(rows[s])
				if outcome.Levels == nil {
					means[s][j][0] += outcome.Mean / effectRows
					table.Set(rows[s], j, outcome.Mean+outcome.SD*noise)
					continue
				}
				floats.AddScaled(means[s][j], 1.0/effectRows, outcome.Levels)
				table.Set(rows[s], j, float64(pick.Index(outcome.Levels, u)))
			}
		}
	}
	for s := range settings[1:] { // nodes that do not descend from the cause have equal means for all settings
		for j := range nodes {
			if !below[j] {
				copy(means[s+1][j], means[0][j])
			}
		}
	}
	return means
}

func sizeMixedEffect(p *score.Problem, e *Effect, from, to int, settings []setting, outcomes [][][][]float64, independent float64) {
	d := p.Data
	change := func(s, outcome int, unit float64) Change {
		values := apply.To(outcomes, func(means [][][]float64) float64 { return (means[s][to][outcome] - means[0][to][outcome]) * unit })
		return Change{From: settings[s].text, Reference: settings[0].text, Size: sizeOf(values, independent)}
	}
	if !d.Category(from) && !d.Category(to) {
		e.Size = change(1, 0, d.Scale[to]/d.Scale[from]/(settings[1].value-settings[0].value)).Size
		return
	}
	for s := 1; s < len(settings); s++ {
		if !d.Category(to) {
			e.Changes = append(e.Changes, change(s, 0, d.Scale[to]))
			continue
		}
		for level, text := range d.Levels[to] {
			if level == 0 && len(d.Levels[to]) == 2 {
				continue // the probability of this level changes by the negative change of the other level
			}
			toLevel := change(s, level, 1)
			toLevel.To = text
			e.Changes = append(e.Changes, toLevel)
		}
	}
}
