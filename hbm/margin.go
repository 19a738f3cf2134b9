package hbm

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/train"
)

// Margin are draws of some latent variables alone.
type Margin struct {
	// Unconstrained are the numbers of the variables, one after the other, of each draw.
	Unconstrained [][]float64
	// LogPrior and LogQ are the log densities of each draw, under the model without its data and
	// as it was drawn.
	LogPrior, LogQ []float64
}

// marginSpread are shares of draws whose noise is so many times as wide: a family that is too
// narrow must not hide what it misses. Chosen by hand.
var marginSpread = []struct{ share, width float64 }{{0.6, 1}, {0.25, 1.5}, {0.15, 3}}

// Margin makes n draws of latent variables without plates that depend on no others, neither in the
// model nor in the family: those that come first. A caller who can integrate the others out weights
// only these draws, so that errors of the family in the others do not matter. ctx is as in Sample.
func (p *Posterior) Margin(ctx gocontext.Context, of []*Variable, n int, name string) (*Margin, error) {
	if err := p.checkMargin(of); err != nil {
		return nil, err
	}
	const chunk = 256
	numbers := 0
	for _, l := range p.family.latents[:len(of)] {
		numbers += l.dim
	}
	exec, err := p.exec("margin/"+fmt.Sprint(len(of)), func(ctx *context.Context, inputs []*Node) []*Node {
		noise := map[*Variable]*Node{}
		r, _ := p.feed.replica(p.everything, inputs[1:])
		at := 0
		for _, l := range p.family.latents {
			if at < numbers {
				noise[l.Variable] = ConvertDType(SliceAxis(inputs[0], -1, AxisRange(at, at+l.dim)), r.dtype)
				at += l.dim
				continue
			}
			// of the others nothing is asked, so that nothing is computed
			noise[l.Variable] = Zeros(r.graph, shapeOf(r, append(r.dims(l.Variable), chunk, l.dim)))
		}
		logQ := p.family.draw(ctx.In(familyScope).Checked(false), r, noise)
		var prior, own *Node
		var values []*Node
		for _, v := range of {
			prior, own = plus(prior, ConvertDType(r.logProb(v), dtypes.Float64)), plus(own, ConvertDType(logQ[v], dtypes.Float64))
			values = append(values, ConvertDType(r.unconstrained[v], dtypes.Float64))
		}
		return []*Node{BroadcastToDims(prior, chunk), BroadcastToDims(own, chunk), Concatenate(values, -1)}
	})
	if err != nil {
		return nil, err
	}
	rest, m := p.feed.inputs(p.everything.draw(nil)), &Margin{}
	for start := 0; start < n; start += chunk {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("sampling stopped after %d of %d draws: %w", start, n, err)
		}
		random := stream.Rand(p.config.Seed, fmt.Sprintf("margin/%s/%d", name, start/chunk))
		var z, ratio []float64
		for range chunk {
			own, logRatio := marginNoise(random, numbers)
			z, ratio = append(z, own...), append(ratio, logRatio)
		}
		outputs, err := train.Call(func() ([]*tensors.Tensor, error) {
			return exec.Exec(append([]any{tensors.FromFlatDataAndDimensions(z, chunk, numbers)}, rest...)...)
		})
		if err != nil {
			return nil, err
		}
		keep := min(chunk, n-start)
		prior, own, values := tensors.MustCopyFlatData[float64](outputs[0]), tensors.MustCopyFlatData[float64](outputs[1]), tensors.MustCopyFlatData[float64](outputs[2])
		for s := range keep {
			m.Unconstrained = append(m.Unconstrained, values[s*numbers:(s+1)*numbers])
			m.LogPrior, m.LogQ = append(m.LogPrior, prior[s]), append(m.LogQ, own[s]+ratio[s])
		}
	}
	return m, nil
}

// checkMargin reports variables that are not the first of the family, or have plates.
func (p *Posterior) checkMargin(of []*Variable) error {
	if err := p.inMemory(); err != nil {
		return err
	}
	if p.chooser != nil || p.family.joint || len(of) == 0 || len(of) > len(p.family.latents) {
		return fmt.Errorf("hbm: family %v has no margin of %d variables", p.config.Family, len(of))
	}
	for k, l := range p.family.latents[:len(of)] {
		if l.Variable != of[k] || len(l.plates) > 0 {
			return fmt.Errorf("hbm: a margin is of the first latent variables without plates: got %q, want %q", of[k].name, l.name)
		}
	}
	return nil
}

// marginNoise are so many numbers of noise, with the log of their density over that of standard
// normal ones.
func marginNoise(random *rand.Rand, numbers int) (z []float64, logRatio float64) {
	u, width, squares := random.Float64(), 1.0, 0.0
	for _, c := range marginSpread {
		width = c.width
		if u -= c.share; u < 0 {
			break
		}
	}
	for range numbers {
		z = append(z, width*random.NormFloat64())
		squares += z[len(z)-1] * z[len(z)-1]
	}
	terms := make([]float64, len(marginSpread))
	for k, c := range marginSpread {
		terms[k] = math.Log(c.share) - float64(numbers)*math.Log(c.width) + squares/2*(1-1/(c.width*c.width))
	}
	return z, logsum.Of(terms)
}
