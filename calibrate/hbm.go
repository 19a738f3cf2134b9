package calibrate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/transdim/vti/hbm/frame"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

// HbmFormula is the regression of the studies of vti hbm.
const HbmFormula = "y ~ x + (1 | g)"

// Hbm draws regressions with intercepts that vary by group from the priors of vti hbm, or nasty
// tables. Priors that refer to the mean and sd of a continuous response refer to 0 and 1.
type Hbm struct {
	// Device computes.
	Device *gpu.Device
	// Record holds the settings other than the table and the formula.
	Record regression.Record
	// Rows and Groups are the size of the tables.
	Rows, Groups int
	// Hard draws nasty tables instead: groups of one row, nearly as many groups as rows, constant
	// groups, noise of almost zero, outliers, and predictors that hardly vary within groups. For
	// responses that are not continuous it adds rare events, separated groups, and large counts.
	Hard bool
	// Responses, with Hard, are the responses to draw from; none: the record's.
	Responses []likelihood.Kind
}

// Name implements [Source].
func (h Hbm) Name() string {
	if h.Hard {
		responses := fmt.Sprint(h.Record.Frame.Response)
		if len(h.Responses) > 0 {
			responses = strings.Trim(fmt.Sprint(h.Responses), "[]")
		}
		return fmt.Sprintf("hbm, hard, %s%s", responses, h.family())
	}
	return fmt.Sprintf("hbm, %s%s, %d rows, %d groups", h.Record.Frame.Response, h.family(), h.Rows, h.Groups)
}

// family names the family of the record, unless it is the usual one.
func (h Hbm) family() string {
	if h.Record.Family == "" || h.Record.Family == regression.MarginalFamily {
		return ""
	}
	return ", " + h.Record.Family
}

// Replicate implements [Source].
func (h Hbm) Replicate(ctx context.Context, seed uint64, dir string) (*Replicate, error) {
	random := stream.Rand(seed, "hbm")
	if len(h.Responses) > 0 {
		h.Record.Frame.Response = h.Responses[random.IntN(len(h.Responses))]
	}
	const mostDrawn = 1000
	for range mostDrawn {
		var t *hbmTable
		if h.Hard {
			t = h.drawHard(random)
		} else if t = h.drawPrior(random); t == nil {
			continue
		}
		r, err := h.answer(ctx, t, seed, dir, random)
		if err != nil || r.Verdict != refused || h.Hard {
			return r, err
		}
	}
	return nil, fmt.Errorf("of %d responses drawn from the priors none was accepted", mostDrawn)
}

// answer runs the command, compares its answer with the truth, and with the exact posterior.
func (h Hbm) answer(ctx context.Context, t *hbmTable, seed uint64, dir string, random *rand.Rand) (*Replicate, error) {
	options := h.Record.Frame
	options.Formula = HbmFormula
	if options.Response.HasCategories() {
		options.Levels = nil
		for k := range h.categories() {
			options.Levels = append(options.Levels, strconv.Itoa(k))
		}
	}
	flags := ""
	if h.Hard {
		flags = fmt.Sprintf("vti hbm %s --formula '%s' --likelihood %s --seed %d", tableName(seed), HbmFormula, options.Response, seed)
		if h.Record.Family != "" {
			flags += " --family " + h.Record.Family
		}
	}
	model := h.Record.Model
	if !t.refersToResponseSD {
		model.ResponseMean, model.ResponseSD = 0, 1
	}
	return answer(ctx, t.about, t.csv(), seed, dir, flags, func(data *table.Table, work string) (*reply, error) {
		frame, err := frame.New(data, options)
		if err != nil {
			return nil, refusal{err}
		}
		problem, err := regression.New(frame, model)
		if err != nil {
			return nil, refusal{err}
		}
		result, err := h.run(ctx, problem, seed, work)
		if err != nil {
			return nil, err
		}
		said := &reply{kind: options.Response.String(), verdict: result.Certificate.Verdict, reasons: result.Certificate.Reasons, check: result.ModelCheck}
		if !h.Hard {
			said.judge = func(r *Replicate) error { return t.judge(r, work, random) }
		}
		kind := options.Response
		if h.Hard || kind == likelihood.GaussianKind || kind == likelihood.LogisticKind || kind == likelihood.PoissonKind {
			said.compare = func() ([]Comparison, error) {
				found, err := t.exactly(ctx, model, kind)
				if err != nil {
					return nil, err
				}
				return found.compare(result), nil
			}
		}
		return said, nil
	})
}

// categories is the number of categories of a categorical response: the exact answer takes few.
func (h Hbm) categories() int {
	switch kind := h.Record.Frame.Response; {
	case h.Hard && kind == likelihood.CategoricalKind:
		return 2
	case h.Hard || kind == likelihood.CategoricalKind:
		return len(drawnLevels)
	}
	return drawnCategories
}

func (h Hbm) run(ctx context.Context, problem *regression.Regression, seed uint64, work string) (*regression.Result, error) {
	record := h.Record
	record.Seed = seed
	family, plates, err := record.PlateFamily()
	if err != nil {
		return nil, err
	}
	if plates {
		cfg := record.FamilyRun(family)
		cfg.Dir = work
		return problem.RunFamily(ctx, h.Device, cfg)
	}
	fit := record.FitConfig(problem)
	return problem.Run(ctx, h.Device, regression.Run{
		Fit: fit, Certify: vti.CertifyConfig{Draws: record.CertifyDraws}, Dir: work,
		Precision: record.Precision, MaxTime: record.MaxTime(),
	})
}

// judge notes the ranks of the true parameters, and of one group at random.
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
	about              string
	x, y               []float64
	group              []int
	slope, spread, sd  float64 // of x, of the groups' intercepts, and of the noise
	levels             []float64
	slopes, cuts       []hbmParameter // coefficients, and cut points of ordered categories
	byGroup            []groupEffects
	refersToResponseSD bool // priors refer to the response's own mean and sd
}
