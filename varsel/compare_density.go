package varsel

import (
	gocontext "context"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/internal/weighted"
)

// CrossEntropy holds the mean of −log q_B(m, θ) over the draws of run A, where q_B is the density
// of run B. It estimates the entropy of the posterior of A plus the Kullback-Leibler divergence of
// q_B from that posterior. The better of two densities therefore has the smaller cross-entropy.
// Densities are on the working scale of B: predictors and response are standardised, unless B was
// run without standardisation, and the parameter of the noise is log σ. A change of units adds the
// same constant to every density.
type CrossEntropy struct {
	// Mean is the cross-entropy in nats, and SE its standard error, which comes from the
	// differences between chains if the draws are draws of chains.
	Mean Number `json:"mean"`
	SE   Number `json:"se"`
	// OwnDraws is the mean of −log q_B(m, θ) over the draws of B. It estimates the entropy of B's
	// posterior if q_B is near this posterior.
	OwnDraws Number `json:"own_draws"`
	// Draws is the number of draws of A that are used. NonFinite is the number of them whose
	// density is not finite; they are left out of the mean.
	Draws     int `json:"draws"`
	NonFinite int `json:"non_finite"`
}

// mostDraws is the largest number of draws whose densities are evaluated. One density takes a pass
// of the flow for each coordinate.
const mostDraws = 10000

// crossEntropy returns nil and a note, with the reason, if A has no draws or B no density to
// evaluate.
func crossEntropy(ctx gocontext.Context, a, b *StoredRun) (result *CrossEntropy, note string, err error) {
	if !rundir.Exists(filepath.Join(b.Dir, rundir.PosteriorFile)) {
		return nil, "no cross-entropy: B has no density (" + b.Record.Command + ")", nil
	}
	if inclusion := b.Result.Inclusion; len(inclusion) > 0 && inclusion[0].Q == nil {
		return nil, "no cross-entropy: the answer of B needed no density, so that none was fitted", nil
	}
	drawsA, err := a.readDraws()
	if err != nil {
		return nil, "", err
	}
	if drawsA == nil {
		return nil, "no cross-entropy: A has no draws (" + a.Record.Command + ")", nil
	}
	problem, err := b.Record.Problem()
	if err != nil {
		return nil, fmt.Sprintf("no cross-entropy: the data of B cannot be read again: %v", err), nil
	}
	if names := problem.coordinateNames(); !slices.Equal(names, drawsA.Coordinates) {
		return nil, "no cross-entropy: " + differentParameters(drawsA.Coordinates, names), nil
	}
	config, err := b.Record.FitConfig(problem)
	if err != nil {
		return nil, "", err
	}
	config.Checkpoint = filepath.Join(b.Dir, rundir.PosteriorFile)
	kind, err := gpu.ParseKind(b.Record.Device)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", b.Dir, err)
	}
	device, err := gpu.Open(kind)
	if err != nil {
		return nil, "", err
	}
	defer device.Close()
	posterior, err := vti.Load(device, problem.Posterior(), config)
	if err != nil {
		return nil, "", err
	}

	codes, theta, chains := problem.fromFile(drawsA)
	var logQ []float64
	const chunk = 1024 // densities between two checks of ctx
	for start := 0; start < len(codes); start += chunk {
		if err := ctx.Err(); err != nil {
			return nil, "", fmt.Errorf("comparison stopped after %d of %d densities: %w", start, len(codes), err)
		}
		end := min(start+chunk, len(codes))
		values, err := posterior.LogProb(codes[start:end], theta.Slice(start, end, 0, theta.RawMatrix().Cols).(*mat.Dense))
		if err != nil {
			return nil, "", err
		}
		logQ = append(logQ, values...)
	}
	result = negativeMean(logQ, chains)
	drawsB, err := b.readDraws()
	if err != nil {
		return nil, "", err
	}
	result.OwnDraws = Number(math.NaN())
	if drawsB != nil && len(drawsB.LogQ) > 0 {
		result.OwnDraws = negativeMean(drawsB.LogQ, nil).Mean
	}
	return result, "", nil
}

// differentParameters describes the difference of two lists of names. It only counts long lists.
func differentParameters(a, b []string) string {
	const most = 64
	if len(a) > most || len(b) > most {
		return fmt.Sprintf("A has %s and B has %d, which differ", english.Count(len(a), "parameter"), len(b))
	}
	return fmt.Sprintf("A has the parameters %q and B has %q", a, b)
}

// fromFile returns at most mostDraws draws, evenly spread over a file, in the coordinates of the
// target. chains holds the number of each draw's chain; it is nil for independent draws.
func (p *Problem) fromFile(d *draws.Draws) (codes [][]int32, theta *mat.Dense, chains []int32) {
	n := min(d.Len(), mostDraws)
	theta = mat.NewDense(n, p.Posterior().Space().Dim(), nil)
	for i := range n {
		source := i * d.Len() / n
		codes = append(codes, p.fromOriginal(d.Code(source), d.Values(source), theta.RawRowView(i)))
		if d.Chain != nil {
			chains = append(chains, d.Chain[source])
		}
	}
	return codes, theta, chains
}

// negativeMean returns minus the mean of the finite values, with its standard error. Values of one
// chain are dependent; values of different chains are independent. If chains is nil, all values are
// independent.
func negativeMean(values []float64, chains []int32) *CrossEntropy {
	result := &CrossEntropy{Draws: len(values)}
	var kept []float64
	var group []int
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			result.NonFinite++
			continue
		}
		if chains != nil {
			i = int(chains[i])
		}
		kept, group = append(kept, v), append(group, i)
	}
	m := weighted.Plain(slices.Repeat([]float64{1}, len(kept)), kept, group)
	result.Mean, result.SE = Number(-m.Mean), Number(m.MeanSE)
	return result
}
