package calibrate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"github.com/transdim/vti/hbm/frame"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/table"
)

// HbmFormula is the formula of the regressions in studies of vti hbm.
const HbmFormula = "y ~ x + (1 | g)"

// Hbm draws, from the priors of vti hbm, hierarchical regressions whose intercepts vary by group.
// In priors that refer to the mean and the standard deviation of a continuous response, 0 and 1
// replace them.
type Hbm struct {
	// Device is the device that computes the answers.
	Device *gpu.Device
	// Record holds the settings other than the table and the formula.
	Record regression.Record
	// Rows and Groups are the numbers of rows and of groups of the tables.
	Rows, Groups int
	// Exact compares each answer with an exact one. It may be nil.
	Exact Exact[*regression.Regression, *regression.Result]
}

// Name implements [Source].
func (h Hbm) Name() string {
	return fmt.Sprintf("hbm, %s%s, %d rows, %d groups", h.Record.Frame.Response, FamilyName(&h.Record), h.Rows, h.Groups)
}

// FamilyName returns a comma, a space and the variational family of a record. It returns "" for the
// marginal family, the default.
func FamilyName(record *regression.Record) string {
	if record.Family == "" || record.Family == regression.MarginalFamily {
		return ""
	}
	return ", " + record.Family
}

// HbmProblem is a table for vti hbm.
type HbmProblem = Problem[regression.Record, *regression.Regression, *regression.Result]

// Replicate implements [Source].
func (h Hbm) Replicate(ctx context.Context, seed uint64, dir string) (*Replicate, error) {
	random := stream.Rand(seed, "hbm")
	return untilAccepted(func() (*Replicate, error) {
		t := h.drawPrior(random)
		if t == nil {
			return nil, nil
		}
		p := &HbmProblem{About: h.Name(), CSV: GroupedCSV(t.y, t.x, t.group), Record: h.Record, Exact: h.Exact}
		p.Record.Model.ResponseMean, p.Record.Model.ResponseSD = 0, 1
		if kind := h.Record.Frame.Response; kind.HasCategories() {
			p.Record.Frame.Levels = drawnLevels
			if kind.Ordered() {
				p.Record.Frame.Levels = orderedLevels
			}
		}
		p.judge = func(r *Replicate, _ *regression.Regression, _ *regression.Result, run string) error {
			return t.judge(r, run, random)
		}
		return AnswerHbm(ctx, h.Device, p, seed, dir)
	})
}

// AnswerHbm runs vti hbm on a problem in the directory dir, and compares the answer with the truth
// or an exact answer.
func AnswerHbm(ctx context.Context, device *gpu.Device, p *HbmProblem, seed uint64, dir string) (*Replicate, error) {
	record := p.Record
	record.Seed, record.Frame.Formula = seed, HbmFormula
	return answer(ctx, p.About, p.CSV, seed, dir, p.command("hbm", seed), func(data *table.Table, work string) (*reply, error) {
		frame, err := frame.New(data, record.Frame)
		if err != nil {
			return nil, refusal{err}
		}
		problem, err := regression.New(frame, record.Model)
		if err != nil {
			return nil, refusal{err}
		}
		result, err := runHbm(ctx, device, problem, &record, work)
		if err != nil {
			return nil, err
		}
		basis := vti.Weights
		if result.Certificate.RHat != nil {
			basis = vti.Chains
		}
		return p.checked(ctx, &reply{
			kind:    routed(record.Frame.Response, basis, result.Steps),
			verdict: result.Certificate.Verdict, reasons: result.Certificate.Reasons, check: result.ModelCheck,
		}, problem, result, work), nil
	})
}

func runHbm(ctx context.Context, device *gpu.Device, problem *regression.Regression, record *regression.Record, work string) (*regression.Result, error) {
	family, plates, err := record.PlateFamily()
	if err != nil {
		return nil, err
	}
	if plates {
		cfg := record.FamilyRun(family)
		cfg.Dir = work
		return problem.RunFamily(ctx, device, cfg)
	}
	return problem.Run(ctx, device, regression.Run{
		Fit: record.FitConfig(problem), Certify: vti.CertifyConfig{Draws: record.CertifyDraws}, Dir: work,
		Precision: record.Precision, MaxTime: record.MaxTime(),
	})
}

// judge notes the ranks of the true population parameters, and the rank of the effect of one group
// chosen at random.
func (t *hbmTable) judge(r *Replicate, run string, random *rand.Rand) error {
	if r.Verdict != trusted {
		return nil
	}
	sample, err := draws.Read(filepath.Join(run, draws.ParquetFile))
	if err != nil {
		return err
	}
	g := random.IntN(len(t.levels))
	parameters := append(slices.Clone(t.slopes), hbmParameter{"sd of groups", "sd((Intercept) | g)", t.spread}, hbmParameter{"sigma", "sigma", t.sd})
	for _, effects := range t.byGroup {
		parameters = append(parameters, hbmParameter{"group", fmt.Sprintf("%s | g=g%d", effects.coefficient, g), effects.values[g]})
	}
	parameters = append(parameters, t.cuts...)
	for _, one := range parameters {
		column := slices.Index(sample.Coordinates, one.name)
		if column < 0 {
			continue
		}
		r.rank(one.kind, one.value, sample, func(draw int) float64 { return sample.Values(draw)[column] }, nil, random)
	}
	return nil
}

// hbmTable is a table with its true parameters.
type hbmTable struct {
	x, y         []float64
	group        []int
	spread, sd   float64 // standard deviations of the intercepts of groups and of the noise
	levels       []float64
	slopes, cuts []hbmParameter // coefficients, and cut points of ordered categories
	byGroup      []groupEffects
}
