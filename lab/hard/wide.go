package hard

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/varsel"
)

// Wide draws tables of tens to a thousand predictors for vti varsel, far too many to list all
// models, that have an exact answer: predictors are in blocks that are independent given the
// intercept or the noise scale. The predictors of a block can be nearly copies, or matter only in
// pairs or threes.
type Wide struct {
	// Device computes the answers.
	Device *gpu.Device
	// Record holds all settings except the table, the likelihood and the prior over models.
	Record varsel.Record
	// Only, if not nil, is the likelihood of all tables: Gaussian, logistic or Poisson.
	Only *likelihood.Kind
}

// Name implements [calibrate.Source].
func (w Wide) Name() string {
	if w.Only != nil {
		return fmt.Sprintf("varsel, wide, %v", *w.Only)
	}
	return "varsel, wide"
}

// Replicate implements [calibrate.Source].
func (w Wide) Replicate(ctx context.Context, seed uint64, dir string) (*calibrate.Replicate, error) {
	return calibrate.AnswerVarsel(ctx, w.Device, w.draw(stream.Rand(seed, "wide")), seed, dir)
}

func (w Wide) draw(random *rand.Rand) *calibrate.VarselProblem {
	kind := []likelihood.Kind{likelihood.GaussianKind, likelihood.LogisticKind, likelihood.PoissonKind}[random.IntN(3)]
	if w.Only != nil {
		kind = *w.Only
	}
	p := &calibrate.VarselProblem{Record: w.Record, Exact: ExactVarsel, Flags: []string{"--target y", "--likelihood " + kind.String()}}
	p.Record.Design.Target, p.Record.Design.Likelihood, p.Record.Model.Likelihood = "y", kind, kind
	bases := orthogonalBases(random)
	if kind != likelihood.GaussianKind {
		bases = rowBases(random)
	}
	n, _ := bases[0].Dims()
	var columns []*hardColumn
	eta := make([]float64, n)
	size := math.Pow(10, uniform(random, -0.5, 0.7)) // of effects
	most := []int{9, 24}[random.IntN(2)]             // predictors of a block
	effects := 1 + random.IntN(5)
	about := ""
	for _, b := range random.Perm(len(bases)) {
		block, shape := drawBlock(bases[b], most, random)
		if effects > 0 {
			effects--
			about += " " + shape
			addEffect(eta, block, shape, size*(0.5+random.Float64()), random)
		}
		columns = append(columns, block...)
	}
	random.Shuffle(len(columns), func(a, b int) { columns[a], columns[b] = columns[b], columns[a] })
	y := make([]float64, n)
	level := uniform(random, -1, 1.5)
	for i := range y {
		switch kind {
		case likelihood.GaussianKind:
			y[i] = eta[i] + random.NormFloat64()
		case likelihood.LogisticKind:
			y[i] = likelihood.New(kind, likelihood.Shape{}).Draw(level/2+eta[i], 1, random)
		default:
			y[i] = likelihood.New(kind, likelihood.Shape{}).Draw(math.Min(level+eta[i]/2, 7), 1, random)
		}
	}
	prior := &p.Record.Model.Prior
	switch random.IntN(3) {
	case 0:
		*prior = varsel.Prior{Kind: varsel.BetaBinomialPrior, A: 1, B: float64(len(columns))}
		p.Flags = append(p.Flags, fmt.Sprintf("--model-prior betabinomial:1,%d", len(columns)))
	case 1:
		*prior = varsel.Prior{Kind: varsel.BernoulliPrior, Pi: 1 / float64(len(columns))}
		p.Flags = append(p.Flags, fmt.Sprintf("--model-prior bernoulli:%.17g", prior.Pi))
	default:
		*prior = varsel.Prior{Kind: varsel.BernoulliPrior, Pi: 2 / float64(len(columns))}
		p.Flags = append(p.Flags, fmt.Sprintf("--model-prior bernoulli:%.17g", prior.Pi))
	}
	p.About = fmt.Sprintf("%s, %d rows, %d columns in %d blocks, effects%s of size %.2g, prior %v", kind, n, len(columns), len(bases), about, size, p.Flags[len(p.Flags)-1])
	p.CSV = hardTable(columns, y)
	return p
}

// orthogonalBases returns bases of one to four directions that are orthogonal to each other and to
// a constant.
func orthogonalBases(random *rand.Rand) (bases []*mat.Dense) {
	n := 40 + random.IntN(120)
	normal := mat.NewDense(n, n, nil)
	normal.Apply(func(_, j int, _ float64) float64 {
		if j == 0 {
			return 1
		}
		return random.NormFloat64()
	}, normal)
	var qr mat.QR
	var q mat.Dense
	qr.Factorize(normal)
	qr.QTo(&q)
	for used := 1; ; {
		directions := 1 + random.IntN(4)
		if used+directions > n*9/10 {
			return bases
		}
		basis := mat.NewDense(n, directions, nil)
		basis.Scale(math.Sqrt(float64(n)), q.Slice(0, n, used, used+directions))
		used += directions
		bases = append(bases, basis)
	}
}

// rowBases returns bases of two directions that are zero outside of a few rows, in which their sum
// is zero. No row is in two bases, and some rows may be in none.
func rowBases(random *rand.Rand) (bases []*mat.Dense) {
	count, rows := 8+random.IntN(16), 5+random.IntN(9)
	n := count*rows + random.IntN(20)
	for b := range count {
		basis := mat.NewDense(n, mostDirections, nil)
		for d := range mostDirections {
			sum := 0.0
			for i := range rows {
				v := random.NormFloat64()
				if i == rows-1 {
					v = -sum
				}
				sum += v
				basis.Set(b*rows+i, d, v)
			}
		}
		bases = append(bases, basis)
	}
	return bases
}

// drawBlock draws the predictors of a block as combinations of the directions of a basis.
func drawBlock(basis *mat.Dense, most int, random *rand.Rand) (columns []*hardColumn, shape string) {
	n, directions := basis.Dims()
	shape = []string{"random", "copies", "pair", "three"}[random.IntN(min(4, 1+directions))]
	near := math.Pow(10, uniform(random, -1.3, -0.3))
	common := drawNormal(directions, random)
	large := map[string]int{"pair": 1, "three": 2}[shape] // directions of the other predictors
	for j := range min(3+random.IntN(most), 25*(directions-1)+1) {
		along := drawNormal(directions, random)
		switch {
		case shape == "random":
		case shape == "copies":
			for d := range along {
				along[d] = common[d] + near*along[d]
			}
		case shape == "pair" && j < 2: // their sum is small and the effect
			clear(along)
			along[0], along[1] = float64(1-2*j), near
		case shape == "three" && j < 3: // s + u, −u + v, −v
			copy(along, [][]float64{{1, 0, near}, {-1, 1, 0}, {0, -1, 0}}[j])
			clear(along[3:])
		default: // more predictors along the other directions
			for d := large; d < directions; d++ {
				along[d] *= near * near
			}
		}
		c := &hardColumn{kind: shape, values: make([]float64, n)}
		for d, v := range along {
			for i := range n {
				c.values[i] += v * basis.At(i, d)
			}
		}
		columns = append(columns, c)
	}
	return columns, shape
}

func drawNormal(n int, random *rand.Rand) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = random.NormFloat64()
	}
	return values
}

// addEffect adds the effect of the predictors of a block that matter.
func addEffect(eta []float64, block []*hardColumn, shape string, size float64, random *rand.Rand) {
	members := 1
	switch shape {
	case "pair":
		members = 2
	case "three":
		members = 3
	}
	if random.IntN(2) == 0 {
		size = -size
	}
	for _, c := range block[:min(members, len(block))] {
		for i, v := range c.values {
			eta[i] += size * v
		}
	}
}
