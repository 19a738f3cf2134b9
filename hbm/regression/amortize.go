package regression

import (
	gocontext "context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/transdim/vti/hbm/frame"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/run"
)

// Shape is the structure of a table. A family (a variational approximation, see package hbm) that
// was trained on simulated tables of one Shape answers only for tables with this Shape.
type Shape struct {
	Columns []string        `json:"columns"`
	Groups  []GroupingShape `json:"groups,omitempty"`
}

// GroupingShape is the fixed structure of a grouping: its name, the columns that vary by it, and
// the groupings in which it is nested.
type GroupingShape struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
	In      []string `json:"in,omitempty"`
}

// Shape returns the shape of the table.
func (r *Regression) Shape() *Shape {
	s := &Shape{Columns: frame.Names(r.Frame.Columns)}
	for i, above := range r.nesting() {
		g := GroupingShape{Name: r.groups[i].Name, Columns: frame.Names(r.groups[i].Columns)}
		for _, k := range above {
			g.In = append(g.In, r.groups[k].Name)
		}
		s.Groups = append(s.Groups, g)
	}
	return s
}

// fit returns the nesting of the groupings of the shape: for each grouping, the groupings in which
// it is nested. It returns an error if the table of r does not have this nesting.
func (s *Shape) fit(r *Regression) (above [][]int, err error) {
	differ := func(part string, was, is []string) error {
		return fmt.Errorf("%s: a table of another shape: %s were %q in training, and here are %q", r.Frame.Path, part, was, is)
	}
	if columns := frame.Names(r.Frame.Columns); !slices.Equal(s.Columns, columns) {
		return nil, differ("population effects", s.Columns, columns)
	}
	if len(s.Groups) != len(r.groups) {
		return nil, fmt.Errorf("%s: a table of another shape: %s in training, and here %d", r.Frame.Path, english.Count(len(s.Groups), "grouping"), len(r.groups))
	}
	for i, g := range s.Groups {
		if columns := frame.Names(r.groups[i].Columns); !slices.Equal(g.Columns, columns) {
			return nil, differ("effects by "+g.Name, g.Columns, columns)
		}
		var in []int
		for _, name := range g.In {
			k := slices.IndexFunc(r.groups, func(other *varyingGroup) bool { return other.Name == name })
			if k < 0 || r.groups[i].within(r.groups[k]) == nil {
				return nil, fmt.Errorf("%s: a table of another shape: in training each group of %s lay in one of %s, and here they are crossed", r.Frame.Path, g.Name, name)
			}
			in = append(in, k)
		}
		above = append(above, in)
	}
	return above, nil
}

// amortized returns the model with plates (sets of exchangeable members, such as groups and rows)
// for inference from any table of the same shape. The argument above lists for each grouping the
// groupings in which it is nested. Inference starts at the prior. The variables of the model and
// their order do not depend on the numbers of groups.
func (r *Regression) amortized(above [][]int) (*PlateModel, error) {
	if r.Frame.SE != nil || r.Options.Intercept != nil {
		return nil, fmt.Errorf("a family for many tables cannot have known standard errors, nor a prior in the units of one response")
	}
	depth := map[string]int{}
	for range r.groups { // enough passes to find the depths of all groupings
		for i, g := range r.groups {
			for _, k := range above[i] {
				depth[g.Name] = max(depth[g.Name], 1+depth[r.groups[k].Name])
			}
		}
	}
	return r.plates(above, make([]float64, r.Dim()), func(g *plateGroup) int { return depth[g.Name] })
}

// InferCommand is the command that a result of [Regression.Infer] names.
const InferCommand = "hbm infer"

// InferRun holds the settings of [Regression.Infer]: trained model, certificate and files.
type InferRun struct {
	// Model is the run directory of the [Regression.RunFamily] that trained the family, with
	// Fit.Amortize set. Shape is the shape of the tables in its training. Fit is the configuration
	// of this training; only a selection of terms needs it.
	Model string
	Shape *Shape
	Fit   hbm.Config
	// Seed is the root of every random stream.
	Seed uint64
	// Certify holds the number of draws of the certificate and its time limit.
	Certify hbm.CertifyConfig
	// Dir is the run directory, which must exist; "" keeps no files.
	Dir string
}

// CheckInfer returns an error if the model was not trained for tables of this shape.
func (r *Regression) CheckInfer(shape *Shape) error {
	above, err := shape.fit(r)
	if err == nil {
		_, err = r.amortized(above)
	}
	return err
}

// Infer answers for a table in one pass of a family that was trained on simulated tables. It
// certifies the answer and writes the files that [Regression.RunFamily] writes, without training.
// If ctx is cancelled, the error of Infer wraps ctx.Err().
func (r *Regression) Infer(ctx gocontext.Context, device *gpu.Device, cfg InferRun) (*Result, error) {
	clock := run.NewClock()
	above, err := cfg.Shape.fit(r)
	if err != nil {
		return nil, err
	}
	if r.Options.Select {
		return r.inferSelection(ctx, device, cfg, above, clock)
	}
	plates, err := r.amortized(above)
	if err != nil {
		return nil, err
	}
	posterior, err := hbm.LoadAmortized(device, plates.Model, plates.Data, hbm.Config{Checkpoint: filepath.Join(cfg.Model, rundir.PosteriorFile), Seed: cfg.Seed})
	if err != nil {
		return nil, err
	}
	result := r.newResult(device, cfg.Seed, posterior.Family().String(), cfg.Dir)
	result.Command = InferCommand
	if err := r.fillTraining(ctx, result, posterior); err != nil {
		return nil, err
	}
	if !r.Trains() {
		return result, r.answerIntegral(ctx, result, clock)
	}
	sample, err := plates.certify(ctx, posterior, cfg.Certify, result)
	if err != nil {
		return nil, err
	}
	return result, r.finishInfer(result, sample, clock)
}
