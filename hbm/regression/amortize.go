package regression

import (
	gocontext "context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/hbm/frame"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/modelcheck"
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

// inferSelection implements Infer for a selection of terms. The evidences of models come from
// integrals or, if these would need training (see [Regression.Trains]), from weighted draws of the
// trained family.
func (r *Regression) inferSelection(ctx gocontext.Context, device *gpu.Device, cfg InferRun, above [][]int, clock *run.Clock) (*Result, error) {
	path := filepath.Join(cfg.Model, rundir.PosteriorFile)
	info, err := checkpoint.ReadInfo(path)
	if err != nil {
		return nil, err
	}
	result := r.newResult(device, cfg.Seed, cfg.Fit.Family.String(), cfg.Dir)
	result.Command, result.Steps = InferCommand, info.Step
	if !r.Trains() {
		return result, r.answerIntegral(ctx, result, clock)
	}
	beginning, err := vti.ReadBeginning(path)
	if err != nil {
		return nil, err
	}
	sample, err := r.openSelection(ctx, device, beginning, FamilyRun{Fit: cfg.Fit, Certify: cfg.Certify}, above, result)
	if err != nil {
		return nil, err
	}
	return result, r.finishInfer(result, sample, clock)
}

// answerIntegral answers by integrals, which need no training.
func (r *Regression) answerIntegral(ctx gocontext.Context, result *Result, clock *run.Clock) error {
	e := r.effort()
	if r.Options.Select { // a single model takes only a second in any case
		e = e.opened()
	}
	found, err := r.integrate(ctx, e, *result.Seed, nil)
	if err != nil {
		return err
	}
	result.Integration = r.integration()
	sample, err := found.fill(ctx, result)
	if err != nil {
		return err
	}
	return r.finishInfer(result, sample, clock)
}

func (r *Regression) finishInfer(result *Result, sample *posteriorSample, clock *run.Clock) error {
	r.lowerUnlike(result, sample)
	clock.Certified()
	return r.writeResult(result, sample, clock)
}

// lowerUnlike makes an amortized answer at most doubtful if its table is unlike training tables.
func (r *Regression) lowerUnlike(result *Result, s *posteriorSample) {
	c := result.Certificate
	const unlike = "the table is unlike those that were simulated for training: "
	switch check := result.ModelCheck; {
	case check != nil && check.Verdict == modelcheck.Poor:
		verdict.Lower(&c.Verdict, &c.Reasons, verdict.Doubtful, unlike+"the model check is poor")
	case r.improbable(s, *result.Seed):
		verdict.Lower(&c.Verdict, &c.Reasons, verdict.Doubtful, unlike+"it is more, or less, probable than all responses drawn anew")
	}
}

// improbable reports whether the observed response is unlike all responses that the posterior
// predicts. For each posterior draw it compares the log density of the observed response with the
// log density of a response simulated from the draw (the deviance as a discrepancy; Gelman, Meng
// and Stern 1996). The response is improbable if its density is the larger of the two for all
// draws, for example if a predictor separates two labels perfectly, or the smaller for all draws.
// At most a fraction 4 / MinDraws of tables simulated from the model is improbable (Meng 1994).
func (r *Regression) improbable(s *posteriorSample, seed uint64) bool {
	kept := s.predictors
	if kept == nil || len(kept.eta) == 0 {
		return false
	}
	random := stream.Rand(seed, "hbm/unlike")
	y, replicate := distinct.At(r.y, kept.rows), make([]float64, len(kept.rows))
	above, below := 0, 0
	for draw := range modelcheck.MinDraws {
		eta, response := kept.eta[draw%len(kept.eta)], kept.responses[draw%len(kept.eta)]
		for k := range replicate {
			replicate[k] = response.Draw(eta[k], response.sigma, random)
		}
		switch difference := likelihood.LogDensityAt(response.Row, y, nil, eta, response.sigma) - likelihood.LogDensityAt(response.Row, replicate, nil, eta, response.sigma); {
		case difference > 0:
			above++
		case difference < 0:
			below++
		}
	}
	return above == modelcheck.MinDraws || below == modelcheck.MinDraws
}
