package flows

import (
	gocontext "context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/stream"
)

// anchors are an independent normal distribution for each family of networks, N(μ, diag exp(2ρ)),
// fitted to its posterior. The flow starts there: where the posteriors of thousands of families are
// is more than one network can learn, and how they depart from independent normals is what it is
// for.
type anchors struct {
	Shift, LogScale [][]float32 // μ and ρ [F][D]
	Bound           []float64   // on the log evidence, without that of constants of the entropy [F]
}

// Settings of the fit of anchors, by Adam on single draws.
const (
	anchorBatch = 256
	anchorSteps = 150
	// for families with one parent, which have no smaller family to start from
	anchorColdSteps = 400
	anchorRate      = 0.03
	anchorLogScale  = -1.5
)

// fitAnchors fits the families by their size, each from the best of those with one parent less.
func (t *Target) fitAnchors(ctx gocontext.Context, device *gpu.Device, seed uint64, progress func(done, total int)) (*anchors, error) {
	families, dim := t.problem.Families, t.Families.Dim()
	exec, err := graph.NewExec(device.Backend(), func(codes, shift, logScale, noise *graph.Node) []*graph.Node {
		mask := t.Families.Mask(codes)
		theta := graph.Add(shift, graph.Mul(graph.Exp(logScale), noise))
		entropy := graph.ReduceSum(graph.Where(mask, logScale, graph.ZerosLike(logScale)), -1)
		// the evidence lower bound up to a constant
		bound := graph.Add(t.logJointOf(codes, mask, theta), entropy)
		gradients := graph.Gradient(graph.ReduceAllSum(bound), shift, logScale)
		return []*graph.Node{bound, gradients[0], gradients[1]}
	})
	if err != nil {
		return nil, err
	}
	random := stream.Rand(seed, "anchors")
	// of all families alike: neighbours end up at the same one of many equivalent modes
	start := make([]float32, dim)
	for k := range start {
		start[k] = float32(0.5 * random.NormFloat64())
	}
	a := &anchors{make([][]float32, len(families)), make([][]float32, len(families)), make([]float64, len(families))}
	place := map[dgraph.Family]int{}
	for i, f := range families {
		place[f] = i
	}
	bound := a.Bound
	levels := make([][]int, t.layout.Nodes)
	for i, f := range families {
		size := f.Parents.Len()
		levels[size] = append(levels[size], i)
	}
	done := 0
	for _, level := range levels {
		for ; len(level) > 0; level = level[min(anchorBatch, len(level)):] {
			own := level[:min(anchorBatch, len(level))]
			steps := anchorSteps
			if families[own[0]].Parents.Len() == 0 && t.layout.Sigma > 0 {
				steps = 1 // there is nothing to fit, only a bound to be found
			}
			for _, i := range own {
				if !a.startFrom(i, families[i], place, bound, t.layout, start) {
					steps = anchorColdSteps // the same for all of a level
				}
			}
			if err := t.ascend(ctx, exec, a, own, steps, random.NormFloat64, bound); err != nil {
				return nil, err
			}
			done += len(own)
			progress(done, len(families))
		}
	}
	return a, nil
}

// startFrom copies the anchor of the best family with one parent less, and reports whether there is
// one with parents. Weights of the new parent start small.
func (a *anchors) startFrom(i int, f dgraph.Family, place map[dgraph.Family]int, bound []float64, l sem.Layout, start []float32) (warm bool) {
	a.Shift[i], a.LogScale[i] = append([]float32(nil), start...), make([]float32, len(start))
	for k := range a.LogScale[i] {
		a.LogScale[i][k] = anchorLogScale
	}
	best, added := -1, -1
	for parent := range f.Parents.Nodes() {
		smaller, ok := place[dgraph.Family{Node: f.Node, Parents: f.Parents.Without(parent)}]
		if ok && a.Shift[smaller] != nil && f.Parents.Len() > 1 && (best < 0 || bound[smaller] > bound[best]) {
			best, added = smaller, parent
		}
	}
	if best < 0 {
		if l.Sigma == 0 {
			a.Shift[i][l.Weights()] = 0
		}
		return f.Parents.Empty()
	}
	copy(a.Shift[i], a.Shift[best])
	copy(a.LogScale[i], a.LogScale[best])
	before := l.Mask(dgraph.Family{Node: f.Node, Parents: f.Parents.Without(added)})
	for k, on := range l.Mask(f) {
		if on && !before[k] {
			a.Shift[i][k], a.LogScale[i][k] = 0.1*start[k], anchorLogScale
		}
	}
	return true
}

// ascend takes Adam steps on the bounds of some families at once, and leaves the mean of the last
// quarter of their bounds in bound.
func (t *Target) ascend(ctx gocontext.Context, exec *graph.Exec, a *anchors, own []int, steps int, normal func() float64, bound []float64) error {
	dim, batch := t.Families.Dim(), anchorBatch
	// each shape is compiled once
	for _, smaller := range []int{anchorBatch / 4, anchorBatch / 16} {
		if len(own) <= smaller {
			batch = smaller
		}
	}
	size := batch * dim
	codes := make([]int32, 0, batch*len(t.Families.cards))
	values := [2][]float32{make([]float32, size), make([]float32, size)}
	var first, second [2][]float64
	for part := range values {
		first[part], second[part] = make([]float64, size), make([]float64, size)
	}
	for row := range batch {
		i := own[row%len(own)] // a batch that is not full repeats itself
		codes = append(codes, t.Families.code(i)...)
		copy(values[0][row*dim:], a.Shift[i])
		copy(values[1][row*dim:], a.LogScale[i])
	}
	codesTensor := tensors.FromFlatDataAndDimensions(codes, batch, len(t.Families.cards))
	noise := make([]float32, size)
	for _, i := range own {
		bound[i] = 0
	}
	last := max(steps/4, 1)
	for step := range steps {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped while fitting anchors: %w", err)
		}
		for k := range noise {
			noise[k] = float32(normal())
		}
		outputs, err := exec.Exec(codesTensor, tensors.FromFlatDataAndDimensions(values[0], batch, dim),
			tensors.FromFlatDataAndDimensions(values[1], batch, dim), tensors.FromFlatDataAndDimensions(noise, batch, dim))
		if err != nil {
			return fmt.Errorf("fitting anchors: %w", err)
		}
		bounds := tensors.MustCopyFlatData[float32](outputs[0])
		if step >= steps-last {
			for row, i := range own {
				bound[i] += float64(bounds[row]) / float64(last)
			}
		}
		rate := anchorRate * (1 + math.Cos(math.Pi*float64(step)/float64(steps))) / 2
		for part := range values {
			adam(values[part], tensors.MustCopyFlatData[float32](outputs[1+part]), first[part], second[part], rate, step+1)
		}
	}
	for row, i := range own {
		copy(a.Shift[i], values[0][row*dim:])
		copy(a.LogScale[i], values[1][row*dim:])
	}
	return nil
}

// adam takes a step upwards (Kingma and Ba 2015). Gradients that are not finite count as zero.
func adam(values, gradients []float32, first, second []float64, rate float64, step int) {
	const beta1, beta2, epsilon = 0.9, 0.99, 1e-8
	firstScale, secondScale := 1/(1-math.Pow(beta1, float64(step))), 1/(1-math.Pow(beta2, float64(step)))
	for k, gradient := range gradients {
		g := float64(gradient)
		if math.IsNaN(g) || math.IsInf(g, 0) {
			g = 0
		}
		first[k] = beta1*first[k] + (1-beta1)*g
		second[k] = beta2*second[k] + (1-beta2)*g*g
		values[k] += float32(rate * first[k] * firstScale / (math.Sqrt(second[k]*secondScale) + epsilon))
	}
}

// AnchorsFile is the name of the file of anchors in a run directory.
const AnchorsFile = "anchors.gob"

// write stores anchors.
func (a *anchors) write(path string) error {
	return atomicfile.Write(path, func(w io.Writer) error { return gob.NewEncoder(w).Encode(a) })
}

// readAnchors reads what write has stored, for so many families and coordinates; nil without an
// error if there is no file.
func readAnchors(path string, families, dim int) (*anchors, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var a anchors
	if err := gob.NewDecoder(file).Decode(&a); err != nil {
		return nil, fmt.Errorf("%s: damaged: %w", path, err)
	}
	if len(a.Shift) != families || len(a.LogScale) != families || len(a.Bound) != families || families > 0 && (len(a.Shift[0]) != dim || len(a.LogScale[0]) != dim) {
		return nil, fmt.Errorf("%s: got the anchors of %d families, want %d with %d coordinates", path, len(a.Shift), families, dim)
	}
	return &a, nil
}

// Anchor gives networks their anchors: those in the run directory of a run that is resumed, or new
// ones, which are stored there. Linear families have none.
func (t *Target) Anchor(ctx gocontext.Context, device *gpu.Device, fit vti.Config, dir string, status func(string)) (err error) {
	if t.layout.Mechanism == sem.Linear {
		return nil
	}
	path := filepath.Join(dir, AnchorsFile)
	if fit.Resume {
		if t.anchors, err = readAnchors(path, len(t.nodes), t.Families.Dim()); t.anchors != nil || err != nil {
			return err
		}
	}
	t.anchors, err = t.fitAnchors(ctx, device, fit.Seed, func(done, total int) {
		status(fmt.Sprintf("anchors of families %d/%d", done, total))
	})
	if err != nil || dir == "" {
		return err
	}
	return t.anchors.write(path)
}
