package calibrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

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

// Hbm draws regressions with intercepts that vary by group from the priors of vti hbm, where those
// that refer to the mean and sd of a continuous response refer to 0 and 1, or nasty tables.
type Hbm struct {
	// Device computes.
	Device *gpu.Device
	// Record is what is asked for beside the table and the formula.
	Record regression.Record
	// Rows and Groups are the size of the tables.
	Rows, Groups int
	// Hard draws nasty tables instead: groups of one row, nearly as many groups as rows, constant
	// groups, noise of almost zero, outliers, predictors that hardly vary within groups, and, of
	// responses that are not continuous, rare events, groups that are separated, and large counts.
	Hard bool
	// Responses, with Hard, are those that are drawn among; none stands for that of the record.
	Responses []regression.ResponseKind
}

// ExactHbm reports whether there are exact answers to compare with for a response.
func ExactHbm(kind regression.ResponseKind) bool {
	return kind == likelihood.GaussianKind || kind == likelihood.LogisticKind || kind == likelihood.PoissonKind
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

// family is that of the record in words, unless it is the usual one.
func (h Hbm) family() string {
	if h.Record.Family == "" || h.Record.Family == regression.MarginalFamily {
		return ""
	}
	return ", " + h.Record.Family
}

// hbmTable is a table with what it was drawn from.
type hbmTable struct {
	about              string
	x, y               []float64
	group              []int
	slope, spread, sd  float64 // of x, of the groups' intercepts, and of the noise
	levels             []float64
	cuts               []float64 // cut points of ordered categories, named by cutNames
	cutNames           []string
	refersToResponseSD bool // priors refer to the response's own mean and sd
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

// drawPrior draws a table from the priors; nil when a count is too large.
func (h Hbm) drawPrior(random *rand.Rand) *hbmTable {
	t := &hbmTable{about: h.Name(), group: make([]int, h.Rows), x: make([]float64, h.Rows), y: make([]float64, h.Rows), levels: make([]float64, h.Groups)}
	for i := range t.x {
		t.x[i] = random.NormFloat64()
		t.group[i] = i % h.Groups
	}
	mean, xSD := stat.MeanStdDev(t.x, nil)
	options := h.Record.Model
	t.slope = cmp.Or(options.CoefficientScale, 1.5) * random.NormFloat64() / xSD
	level := cmp.Or(options.InterceptScale, interceptSD) * random.NormFloat64()
	t.spread = cmp.Or(options.SDScale, 1) * drawRatio(options.SDPrior, random)
	t.sd = math.Exp(h.Record.Frame.Response.ScaleSD() * random.NormFloat64())
	for g := range t.levels {
		t.levels[g] = t.spread * random.NormFloat64()
	}
	kind := h.Record.Frame.Response
	var noise likelihood.Row
	if kind.Ordered() { // cut points in place of the intercept
		cuts := h.drawCuts(random)
		noise, level = cuts, 0
		for k, point := range cuts.Points { // where x is 0
			t.cuts = append(t.cuts, point+t.slope*mean)
			t.cutNames = append(t.cutNames, fmt.Sprintf("%d|%d", k, k+1))
		}
	} else {
		noise = likelihood.New(kind, likelihood.Shape{Degrees: cmp.Or(options.Degrees, 4)})
	}
	for i := range t.y {
		t.y[i] = noise.Draw(level+t.slope*(t.x[i]-mean)+t.levels[t.group[i]], t.sd, random)
		if kind.Link() == likelihood.LogLink && !(t.y[i] <= mostCounted) {
			return nil
		}
	}
	return t
}

// drawnCategories is the number of ordered categories.
const drawnCategories = 4

// drawCuts draws cut points: probabilities of the categories from Dirichlet(1, …, 1).
func (h Hbm) drawCuts(random *rand.Rand) *likelihood.Cuts {
	categories := likelihood.NewCategories(h.Record.Frame.Response, drawnCategories).(likelihood.OrderedCategories)
	total, tails := 0.0, make([]float64, drawnCategories)
	for k := range tails {
		total += random.ExpFloat64()
		tails[k] = total
	}
	points := make([]float64, drawnCategories-1)
	for k := range points {
		p := tails[k] / total
		if h.Record.Frame.Response == likelihood.CumulativeLogitKind {
			points[k] = math.Log(p) - math.Log1p(-p)
		} else {
			points[k] = distuv.UnitNormal.Quantile(p)
		}
	}
	return categories.Cut(points)
}

// drawRatio draws a standard deviation in units of its prior's scale, and logRatio is the log
// density.
func drawRatio(prior regression.SDPrior, random *rand.Rand) float64 {
	switch prior {
	case regression.HalfCauchySD:
		return math.Abs(random.NormFloat64() / random.NormFloat64())
	case regression.ExponentialSD:
		return random.ExpFloat64()
	}
	return math.Abs(random.NormFloat64())
}

func logRatio(prior regression.SDPrior, z float64) float64 {
	switch prior {
	case regression.HalfCauchySD:
		return math.Log(2/math.Pi) - math.Log1p(z*z)
	case regression.ExponentialSD:
		return -z
	}
	return math.Ln2 - halfLog2Pi - z*z/2
}

// drawHard draws a nasty table.
func (h Hbm) drawHard(random *rand.Rand) *hbmTable {
	n := []int{4, 5, 6, 8, 12, 20, 40, 80}[random.IntN(8)]
	groups := 2 + random.IntN(n-2)
	t := &hbmTable{group: make([]int, n), x: make([]float64, n), y: make([]float64, n), levels: make([]float64, groups), refersToResponseSD: true}
	t.slope, t.spread, t.sd = random.NormFloat64(), math.Pow(10, uniform(random, -4, 1)), math.Pow(10, uniform(random, -6, 1))
	within := 1.0
	if random.Float64() < 0.3 {
		within = math.Pow(10, uniform(random, -6, 0))
	}
	t.about = fmt.Sprintf("hbm, %d rows, %d groups; spread %.0e, noise %.0e", n, groups, t.spread, t.sd)
	if within < 1 {
		t.about += fmt.Sprintf(", x varies by %.0e within groups", within)
	}
	centres := make([]float64, groups)
	for g := range centres {
		centres[g], t.levels[g] = random.NormFloat64(), t.spread*random.NormFloat64()
	}
	for i := range n {
		t.group[i] = i
		if i >= groups {
			t.group[i] = random.IntN(groups)
		}
		g := t.group[i]
		t.x[i] = centres[g] + within*random.NormFloat64()
		t.y[i] = t.slope*t.x[i] + t.levels[g] + t.sd*random.NormFloat64()
	}
	if kind := h.Record.Frame.Response; !kind.Continuous() {
		var how string
		t.y, how = drawResponse(kind, t.y, random)
		t.about = fmt.Sprintf("hbm, %v, %d rows, %d groups; spread %.0e, %s", kind, n, groups, t.spread, how)
		return t
	}
	if random.Float64() < 0.2 {
		t.about += ", a constant group"
		for i := range n {
			if t.group[i] == 0 {
				t.y[i] = t.levels[0]
			}
		}
	}
	if random.Float64() < 0.2 {
		t.about += ", outlier"
		t.y[random.IntN(n)] += math.Pow(10, uniform(random, 0.5, 4))
	}
	return t
}

// csv writes the table.
func (t *hbmTable) csv() []byte {
	var text strings.Builder
	text.WriteString("y,x,g\n")
	for i := range t.y {
		fmt.Fprintf(&text, "%s,%s,g%d\n", strconv.FormatFloat(t.y[i], 'g', -1, 64), strconv.FormatFloat(t.x[i], 'g', -1, 64), t.group[i])
	}
	return []byte(text.String())
}

// answer runs the command, notes what it says of the truth, and compares with the exact posterior.
func (h Hbm) answer(ctx context.Context, t *hbmTable, seed uint64, dir string, random *rand.Rand) (*Replicate, error) {
	started := time.Now()
	r := &Replicate{About: t.about, table: t.csv()}
	defer func() { r.Seconds = time.Since(started).Seconds() }()
	data, err := table.Parse("table.csv", r.table)
	if err != nil {
		return nil, err
	}
	options := h.Record.Frame
	options.Formula = HbmFormula
	if options.Response.Ordered() {
		options.Levels = nil
		for k := range drawnCategories {
			options.Levels = append(options.Levels, strconv.Itoa(k))
		}
	}
	frame, err := regression.NewFrame(data, options)
	if err != nil {
		r.Verdict, r.Error = refused, err.Error()
		return r, nil
	}
	model := h.Record.Model
	if !t.refersToResponseSD {
		model.ResponseMean, model.ResponseSD = 0, 1
	}
	problem, err := regression.New(frame, model)
	if err != nil {
		r.Verdict, r.Error = refused, err.Error()
		return r, nil
	}
	work := filepath.Join(dir, "run")
	if err := errors.Join(os.RemoveAll(work), os.MkdirAll(work, 0o755)); err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	result, err := h.run(ctx, problem, seed, work)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if h.Hard {
		r.Command = fmt.Sprintf("vti hbm %s --formula '%s' --likelihood %s --seed %d", tableName(seed), HbmFormula, options.Response, seed)
		if h.Record.Family != "" {
			r.Command += " --family " + h.Record.Family
		}
	}
	if err != nil {
		r.Verdict, r.Error = broken, err.Error()
		return r, nil
	}
	r.Verdict, r.Reasons = fmt.Sprint(result.Certificate.Verdict), strings.Join(result.Certificate.Reasons, "; ")
	r.noteModelCheck(result.ModelCheck)
	if !h.Hard {
		if err := t.judge(r, work, random); err != nil {
			return nil, err
		}
	}
	var exact *exactHbm
	switch options.Response {
	case likelihood.GaussianKind:
		exact, err = t.exact(model)
	case likelihood.LogisticKind:
		exact, err = t.exactLinked(ctx, model, logisticRow)
	case likelihood.PoissonKind:
		exact, err = t.exactLinked(ctx, model, poissonRow)
	default:
		return r, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		r.Reasons = strings.TrimPrefix(r.Reasons+"; no exact answer: "+err.Error(), "; ")
		return r, nil
	}
	r.Comparisons = exact.compare(result)
	return r, nil
}

// run answers a problem as the command does.
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
	sample, err := draws.Read(filepath.Join(run, regression.DrawsParquet))
	if err != nil {
		return err
	}
	g := random.IntN(len(t.levels))
	type parameter struct {
		kind, name string
		value      float64
	}
	parameters := []parameter{
		{"slope", "x", t.slope}, {"sd of groups", "sd((Intercept) | g)", t.spread}, {"sigma", "sigma", t.sd},
		{"group", fmt.Sprintf("(Intercept) | g=g%d", g), t.levels[g]},
	}
	for k, name := range t.cutNames {
		parameters = append(parameters, parameter{"cut point " + name, name, t.cuts[k]})
	}
	for _, one := range parameters {
		column := slices.Index(sample.Coordinates, one.name)
		if column < 0 {
			continue
		}
		below := 0.0
		for i := range sample.Len() {
			if sample.Values(i)[column] < one.value {
				below++
			}
		}
		r.Ranks = append(r.Ranks, Rank{one.kind, (below + random.Float64()) / float64(sample.Len()+1)})
	}
	return nil
}

// exactHbm is the exact posterior of a table, in its units.
type exactHbm struct {
	logEvidence                float64
	slope, spread, sigma, sets [2]float64 // mean and sd; sets of the first group, 0 where not known
}

// The grid over the logarithm of the sd of groups.
const (
	spreadBelow = -16.0
	spreadAbove = 16.0 // beyond it lies 1e−7 of a half-Cauchy prior
	spreadStep  = 0.05
)

// exact integrates over the sd of groups by the trapezoidal rule over its logarithm; given that,
// the rest is a Gaussian regression whose columns are those of the groups too.
func (t *hbmTable) exact(model regression.Options) (*exactHbm, error) {
	n, groups := len(t.y), len(t.levels)
	yMean, ySD := 0.0, 1.0
	if t.refersToResponseSD {
		yMean, ySD = stat.MeanStdDev(t.y, nil)
	}
	xMean, xSD := stat.MeanStdDev(t.x, nil)
	p := &regressionProblem{
		x: mat.NewDense(n, 2+groups, nil), y: make([]float64, n), priorMean: make([]float64, 2+groups), priorSD: make([]float64, 2+groups),
		logSigmaSD: logScaleSD,
	}
	p.priorSD[0], p.priorSD[1] = cmp.Or(model.InterceptScale, interceptSD), cmp.Or(model.CoefficientScale, 1.5)
	coordinates := make([]int, 2+groups)
	for j := range coordinates {
		coordinates[j] = j
	}
	for i := range n {
		p.y[i] = (t.y[i] - yMean) / ySD
		p.x.Set(i, 0, 1)
		p.x.Set(i, 1, (t.x[i]-xMean)/xSD)
		p.x.Set(i, 2+t.group[i], 1)
	}
	unit := cmp.Or(model.SDScale, 1)
	var terms []float64
	var list []modelMoments
	var spreads []float64
	for at := spreadBelow; at <= spreadAbove; at += spreadStep {
		spread := unit * math.Exp(at)
		for g := range groups {
			p.priorSD[2+g] = spread
		}
		moments, err := p.gaussian(coordinates)
		if err != nil {
			return nil, err
		}
		z := spread / unit
		// dz = z d log z
		terms = append(terms, moments.logEvidence+logRatio(model.SDPrior, z)+at+math.Log(spreadStep))
		list, spreads = append(list, moments), append(spreads, spread)
	}
	total := floats.LogSumExp(terms)
	out := &exactHbm{logEvidence: total - float64(n)*math.Log(ySD)}
	average(terms, func(k int, add func(to *[2]float64, mean, variance float64)) {
		add(&out.slope, list[k].mean[1], list[k].variance[1])
		add(&out.spread, spreads[k], 0)
		add(&out.sigma, list[k].mean[2+groups], list[k].variance[2+groups])
		add(&out.sets, list[k].mean[2], list[k].variance[2])
	})
	for _, one := range []*[2]float64{&out.slope, &out.spread, &out.sigma, &out.sets} {
		one[0], one[1] = one[0]*ySD, math.Sqrt(one[1])*ySD
	}
	out.slope[0], out.slope[1] = out.slope[0]/xSD, out.slope[1]/xSD
	return out, nil
}

// compare compares an answer with it.
func (e *exactHbm) compare(result *regression.Result) (list []Comparison) {
	add := func(name string, s regression.Summary, exact [2]float64) {
		list = append(list,
			Comparison{Mean, name, Number(float64(s.Mean) / exact[1]), Number(float64(s.MeanSE) / exact[1]), Number(exact[0] / exact[1])},
			Comparison{SD, name, Number(math.Log(float64(s.SD))), Number(float64(s.SDSE / s.SD)), Number(math.Log(exact[1]))})
	}
	if result.LogEvidence != nil && result.LogEvidenceSE != nil {
		list = append(list, Comparison{Evidence, "", *result.LogEvidence, *result.LogEvidenceSE, Number(e.logEvidence)})
	}
	for _, s := range result.Effects {
		if s.Name == "x" {
			add("slope", s, e.slope)
		}
	}
	for _, s := range result.SDs {
		switch s.Name {
		case "sd((Intercept) | g)":
			add("sd of groups", s, e.spread)
		case "sigma":
			add("sigma", s, e.sigma)
		}
	}
	for _, v := range result.Varying {
		if v.Level == "g0" && e.sets[1] > 0 {
			add("first group", regression.Summary{Mean: v.Mean, MeanSE: v.MeanSE, SD: v.SD, SDSE: v.SDSE}, e.sets)
		}
	}
	return list
}
