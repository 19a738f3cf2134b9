package hard

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/likelihood"
)

// Hbm draws difficult tables for vti hbm. They have groups of one row, up to nearly one group per
// row, constant groups, noise of almost zero, outliers, and predictors that hardly vary within
// groups. Responses that are not continuous also have rare events, separated groups, and large
// counts.
type Hbm struct {
	// Device computes the answers.
	Device *gpu.Device
	// Record holds all settings except the table and the formula.
	Record regression.Record
	// Responses are the kinds of response to draw from. If it is empty, all tables have the
	// response of Record.
	Responses []likelihood.Kind
}

// Name implements [calibrate.Source].
func (h Hbm) Name() string {
	responses := fmt.Sprint(h.Record.Frame.Response)
	if len(h.Responses) > 0 {
		responses = strings.Trim(fmt.Sprint(h.Responses), "[]")
	}
	return fmt.Sprintf("hbm, hard, %s%s", responses, calibrate.FamilyName(&h.Record))
}

// Replicate implements [calibrate.Source].
func (h Hbm) Replicate(ctx context.Context, seed uint64, dir string) (*calibrate.Replicate, error) {
	random := stream.Rand(seed, "hbm")
	if len(h.Responses) > 0 {
		h.Record.Frame.Response = h.Responses[random.IntN(len(h.Responses))]
	}
	return calibrate.AnswerHbm(ctx, h.Device, h.problem(random), seed, dir)
}

// problem draws a table for vti hbm. Categorical responses have two categories and ordered ones
// three, since exact answers exist only for these.
func (h Hbm) problem(random *rand.Rand) *calibrate.HbmProblem {
	t := h.draw(random)
	kind := h.Record.Frame.Response
	p := &calibrate.HbmProblem{About: t.about, CSV: calibrate.GroupedCSV(t.y, t.x, t.group), Record: h.Record, Exact: ExactHbm}
	p.Flags = []string{fmt.Sprintf("--formula '%s' --likelihood %s", calibrate.HbmFormula, kind)}
	if h.Record.Family != "" {
		p.Flags = append(p.Flags, "--family "+h.Record.Family)
	}
	switch {
	case kind == likelihood.CategoricalKind:
		p.Record.Frame.Levels = []string{"0", "1"}
	case kind.HasCategories():
		p.Record.Frame.Levels = []string{"0", "1", "2"}
	}
	return p
}

func (h Hbm) draw(random *rand.Rand) *grouped {
	kind, sizes := h.Record.Frame.Response, []int{4, 5, 6, 8, 12, 20, 40, 80}
	if exact := kind.Conjugate() || kind == likelihood.LogisticKind || kind == likelihood.PoissonKind; !exact {
		sizes = sizes[:5] // fewer rows, since the exact answer has one more integral
	}
	n := sizes[random.IntN(len(sizes))]
	groups := 2 + random.IntN(n-2)
	t := &grouped{group: make([]int, n), x: make([]float64, n), y: make([]float64, n), groups: groups}
	slope, spread, sd := random.NormFloat64(), math.Pow(10, uniform(random, -4, 1)), math.Pow(10, uniform(random, -6, 1))
	within := 1.0
	if random.Float64() < 0.3 {
		within = math.Pow(10, uniform(random, -6, 0))
	}
	t.about = fmt.Sprintf("hbm, %d rows, %d groups; spread %.0e, noise %.0e", n, groups, spread, sd)
	if within < 1 {
		t.about += fmt.Sprintf(", x varies by %.0e within groups", within)
	}
	centres, levels := make([]float64, groups), make([]float64, groups)
	for g := range centres {
		centres[g], levels[g] = random.NormFloat64(), spread*random.NormFloat64()
	}
	for i := range n {
		t.group[i] = i
		if i >= groups {
			t.group[i] = random.IntN(groups)
		}
		g := t.group[i]
		t.x[i] = centres[g] + within*random.NormFloat64()
		t.y[i] = slope*t.x[i] + levels[g] + sd*random.NormFloat64()
	}
	if !kind.Continuous() {
		var how string
		t.y, how = drawResponse(kind, t.y, random)
		t.about = fmt.Sprintf("hbm, %v, %d rows, %d groups; spread %.0e, %s", kind, n, groups, spread, how)
		return t
	}
	if random.Float64() < 0.2 {
		t.about += ", a constant group"
		for i := range n {
			if t.group[i] == 0 {
				t.y[i] = levels[0]
			}
		}
	}
	if random.Float64() < 0.2 {
		t.about += ", outlier"
		t.y[random.IntN(n)] += math.Pow(10, uniform(random, 0.5, 4))
	}
	if kind == likelihood.LogNormalKind {
		for i, y := range t.y {
			t.y[i] = math.Exp(math.Max(-300, math.Min(y, 300)))
		}
	}
	return t
}
