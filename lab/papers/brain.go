package papers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/internal/stream"
)

// parcellationSettings holds the settings of figure 4 of PAVI. Appendix B.6.3 prints how many
// members a step uses.
type parcellationSettings struct {
	Reduced    int         `json:"reduced"`   // subjects, and vertices, in a step
	OurSizes   []brainSize `json:"our_sizes"` // the paper has 1,000 subjects, 2 sessions, 59,412 vertices, 7 networks and 64 dimensions
	OurReduced []int       `json:"our_reduced"`
	OurSteps   int         `json:"our_steps"`
	Quick      brainSize   `json:"quick"`
	QuickSteps int         `json:"quick_steps"`
}

// parcellation is a simulated brain (eq. B.24 of PAVI) with the network of each vertex of each
// subject.
type parcellation struct {
	size   brainSize
	x      []float64 // [subjects, vertices, sessions, dim]
	labels []int     // [subjects, vertices]
	truth  connectome
	logits []float64 // [subjects, vertices, networks]
}

// connectome holds the means [networks, dim] and standard deviations [networks] of the networks.
type connectome struct{ means, spreads []float64 }

func newParcellation(size brainSize, seed uint64) *parcellation {
	random := stream.Rand(seed, fmt.Sprintf("brain/%v", size))
	normals := func(n int, sd float64) []float64 {
		values := stream.Normals(random, n)
		floats.Scale(sd, values)
		return values
	}
	positive := func() []float64 {
		values := normals(size.Networks, 1)
		for i, value := range values {
			values[i] = math.Exp(value)
		}
		return values
	}
	variance := math.Sqrt(6)
	p := &parcellation{size: size, truth: connectome{normals(size.Networks*size.Dim, variance), positive()}}
	population, between := normals(size.Vertices*size.Networks, variance), positive()
	members := size.Subjects * size.Vertices
	p.x, p.labels, p.logits = make([]float64, 0, members*size.Sessions*size.Dim), make([]int, members), make([]float64, 0, members*size.Networks)
	for member := range members {
		vertex := member % size.Vertices
		logits := slices.Clone(population[vertex*size.Networks : (vertex+1)*size.Networks])
		for l := range logits {
			logits[l] += between[l] * random.NormFloat64()
		}
		p.logits = append(p.logits, logits...)
		left, label := random.Float64()*math.Exp(logsum.Of(logits)), 0
		for left -= math.Exp(logits[0]); left > 0 && label < size.Networks-1; left -= math.Exp(logits[label]) {
			label++
		}
		p.labels[member] = label
		mean, spread := p.truth.means[label*size.Dim:(label+1)*size.Dim], p.truth.spreads[label]
		for range size.Sessions {
			for _, center := range mean {
				p.x = append(p.x, center+spread*random.NormFloat64())
			}
		}
	}
	return p
}

// centers returns means at which networks start, [networks, dim], by k-means of the mean over
// sessions of some members, which start far from each other.
func (p *parcellation) centers(seed uint64) []float64 {
	const members, rounds = 2000, 20
	random, dim := stream.Rand(seed, "centers"), p.size.Dim
	points := make([][]float64, members)
	for i := range points {
		points[i] = make([]float64, dim)
		member := random.IntN(len(p.labels))
		for k, value := range p.x[member*p.size.Sessions*dim : (member+1)*p.size.Sessions*dim] {
			points[i][k%dim] += value / float64(p.size.Sessions)
		}
	}
	centers := [][]float64{points[0]}
	nearest := func(point []float64) (at int, distance float64) {
		distances := make([]float64, len(centers))
		for l, center := range centers {
			distances[l] = floats.Distance(point, center, 2)
		}
		return floats.MinIdx(distances), floats.Min(distances)
	}
	for len(centers) < p.size.Networks {
		chances := make([]float64, members) // the squared distance from the centers so far (k-means++)
		for i, point := range points {
			_, distance := nearest(point)
			chances[i] = distance * distance
		}
		centers = append(centers, points[pick.NewTable(chances).Index(random.Float64())])
	}
	for range rounds {
		sums, counts := make([][]float64, len(centers)), make([]float64, len(centers))
		for l := range sums {
			sums[l] = make([]float64, dim)
		}
		for _, point := range points {
			at, _ := nearest(point)
			floats.Add(sums[at], point)
			counts[at]++
		}
		for l, count := range counts {
			if count > 0 {
				floats.Scale(1/count, sums[l])
				centers[l] = sums[l]
			}
		}
	}
	return slices.Concat(centers...)
}

// shares adds to sums the probabilities of the networks at a member, a vertex of a subject, given
// its logits and the networks.
func (p *parcellation) shares(sums []float64, member int, logits []float64, c connectome) {
	dim := p.size.Dim
	x, logs := p.x[member*p.size.Sessions*dim:(member+1)*p.size.Sessions*dim], make([]float64, len(logits))
	for l, logit := range logits {
		squares := 0.0
		for i, value := range x {
			squares += math.Pow(value-c.means[l*dim+i%dim], 2)
		}
		logs[l] = logit - squares/(2*c.spreads[l]*c.spreads[l]) - float64(len(x))*math.Log(c.spreads[l])
	}
	total := logsum.Of(logs)
	for l, log := range logs {
		sums[l] += math.Exp(log - total)
	}
}

// dice returns the mean over networks of the Dice coefficient of found and true labels. Found
// networks have other numbers: each in turn stands for the true network with which it shares most
// members.
func dice(found, truth []int, networks int) float64 {
	shared := make([][]float64, networks)
	for l := range shared {
		shared[l] = make([]float64, networks)
	}
	for i, l := range found {
		shared[l][truth[i]]++
	}
	sizes := func(labels []int) []float64 {
		count := make([]float64, networks)
		for _, l := range labels {
			count[l]++
		}
		return count
	}
	a, b := sizes(found), sizes(truth)
	var coefficients []float64
	for range networks {
		best, at := -1.0, [2]int{}
		for l, row := range shared {
			for k, count := range row {
				if count > best {
					best, at = count, [2]int{l, k}
				}
			}
		}
		if b[at[1]] > 0 {
			coefficients = append(coefficients, 2*best/(a[at[0]]+b[at[1]]))
		}
		for l := range shared {
			shared[l][at[1]], shared[at[0]][l] = -1, -1
		}
	}
	return stat.Mean(coefficients, nil)
}

const (
	dicedSubjects = 20 // number of subjects whose labels are compared
	diceDraws     = 20
)

var (
	brainKeys   = []string{"subjects", "sessions", "vertices", "networks", "dim", "subjects_in_step", "vertices_in_step", "steps"}
	brainValues = []string{"latent", "dice", "best", "weights"}
)

// parcellationCell returns the cell (measurement) that finds the networks of a simulated brain by
// pavi-f.
func (l *Lab) parcellationCell(size brainSize, reduced []int, steps int) Cell {
	steps = cmp.Or(l.Steps, steps)
	var key []string
	for _, n := range []int{size.Subjects, size.Sessions, size.Vertices, size.Networks, size.Dim, reduced[0], reduced[1], steps} {
		key = append(key, strconv.Itoa(n))
	}
	return Cell{Key: key, Measure: func(ctx context.Context) ([]string, error) {
		brain := newParcellation(size, 1)
		start := brain.centers(1)
		near := slices.Repeat([]float64{1}, len(start))
		m := newBrain(size, hbm.Near(start, near))
		cfg := hbm.Config{Family: hbm.PAVIF, Steps: steps, Seed: 1, Batch: map[*hbm.Plate]int{m.subject: min(reduced[0], size.Subjects), m.vertex: min(reduced[1], size.Vertices)}}
		p, err := hbm.Fit(ctx, l.Device, m.model, hbm.Values{m.x: brain.x}, cfg)
		if err != nil {
			return nil, err
		}
		subjects := make([]int32, min(dicedSubjects, size.Subjects))
		for i := range subjects {
			subjects[i] = int32(i)
		}
		draws, err := p.SampleMembers(ctx, diceDraws, "labels", map[*hbm.Plate][]int32{m.subject: subjects})
		if err != nil {
			return nil, err
		}
		members := len(subjects) * size.Vertices
		found, best := make([]int, members), make([]int, members)
		for member := range members {
			at := func(logits []float64) []float64 { return logits[member*size.Networks : (member+1)*size.Networks] }
			sums := make([]float64, size.Networks)
			for d := range draws.N {
				brain.shares(sums, member, at(draws.Of(m.logits, d)), connectome{draws.Of(m.mean, d), draws.Of(m.spread, d)})
			}
			found[member] = floats.MaxIdx(sums)
			clear(sums)
			brain.shares(sums, member, at(brain.logits), brain.truth)
			best[member] = floats.MaxIdx(sums)
		}
		of := func(labels []int) string { return text(dice(labels, brain.labels[:members], size.Networks), 4) }
		return []string{strconv.Itoa(m.model.Dim()), of(found), of(best), strconv.Itoa(p.Weights())}, nil
	}}
}

// parcellationFigure returns figure 4 of PAVI, on simulated brains.
func parcellationFigure() *Study {
	s := settingsOf[paviSettings]("pavi").Parcellation
	order := []string{"subjects", "sessions", "vertices", "networks", "dim", "subjects_in_step", "vertices_in_step", "steps", "latent", "dice", "best", cpuColumn}
	return &Study{
		Paper: "pavi", Name: "fig4", Title: "Parcellation of the cortex, simulated", Store: "brain", Keys: brainKeys, Values: brainValues,
		Note: "The paper's connectomes are of the Human Connectome Project, which may not be passed on: 1,000 subjects, 2 sessions, 59,412 vertices, 7 networks and 64 dimensions, 400 million latent numbers. Ours are simulated from the paper's model (eq. B.24), and labels are summed out. " +
			"*Dice* is the mean over networks of the Dice coefficient of found and true labels, over 20 subjects; *best* is the same for labels by the true parameters. Means of networks start at k-means of some vertices.",
		Cells: func(l *Lab) (cells []Cell, err error) {
			if l.Quick {
				return []Cell{l.parcellationCell(s.Quick, s.OurReduced, s.QuickSteps)}, nil
			}
			for _, size := range s.OurSizes {
				cells = append(cells, l.parcellationCell(size, s.OurReduced, s.OurSteps))
			}
			return cells, nil
		},
		Claims: func(rows []Row) (claims []Claim) {
			for _, row := range rows {
				n := row.number("vertices") * math.Min(dicedSubjects, row.number("subjects"))
				found := row.number("dice")
				claims = append(claims, Claim{
					Text: fmt.Sprintf("Dice of %s latent numbers: above .8 of the best", row["latent"]),
					Z:    (found - 0.8*row.number("best")) / math.Sqrt(0.25/n),
				})
			}
			return claims
		},
		header: []string{"subjects", "sessions", "vertices", "networks", "dimensions", "subjects in a step", "vertices in a step", "steps", "latent numbers", "Dice", "best", "processor seconds"},
		lines: func(rows []Row) (lines [][]string) {
			rows = slices.Clone(rows)
			at := rank.Order(len(rows), func(a, b int) int { return cmp.Compare(rows[a].number("latent"), rows[b].number("latent")) })
			for _, i := range at {
				var line []string
				for _, column := range order {
					line = append(line, rows[i][column])
				}
				lines = append(lines, line)
			}
			return lines
		},
	}
}
