package regression

import (
	gocontext "context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/transdim/vti/hbm/frame"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/run"
)

// Figure is a float64 that JSON shows as null when it is not finite.
type Figure = report.Number

// Result is the answer in the units and names of the table: the object that the flag --json prints.
type Result struct {
	run.Origin
	// Family is the name of the family.
	Family string `json:"family"`
	// Integration is the method of a run without training: ClosedForm or Laplace. It is "" for a
	// run with training.
	Integration string `json:"integration,omitempty"`
	// Data describes the table, and Effects are the population effects.
	Data    FrameSummary `json:"data"`
	Effects []Summary    `json:"effects"`
	// Categories lists the categories of a response without an order. Effects of the population and
	// of levels are then log odds of each category against the first, named LEVEL:COLUMN, and
	// standard deviations are standard deviations of the log odds of any two categories.
	Categories []string `json:"categories,omitempty"`
	// SDs are the standard deviations and correlations of varying effects, and σ.
	SDs []Summary `json:"sds"`
	// Cuts are the cut points of ordered categories. Shares are the shares of the single steps in
	// the whole change of each monotonic effect, and Varying the effects of levels.
	Cuts    []Summary      `json:"cuts,omitempty"`
	Shares  []Summary      `json:"shares,omitempty"`
	Varying []LevelSummary `json:"varying"`
	// Priors are the priors of effects and standard deviations.
	Priors []PriorSummary `json:"priors,omitempty"`
	// ELBO is the evidence lower bound of a trained family. LogEvidence is the log evidence of all
	// models together, and LogEvidenceSE its standard error. They are in nats, for the response in
	// the units of the table.
	ELBO          *Figure `json:"elbo,omitempty"`
	LogEvidence   *Figure `json:"log_evidence,omitempty"`
	LogEvidenceSE *Figure `json:"log_evidence_se,omitempty"`
	// Certificate is the verdict on the answer.
	Certificate *Certificate `json:"certificate,omitempty"`
	// Terms are the probabilities of the states of each term, and Models the models. Only a
	// selection of terms has them.
	Terms  []TermState    `json:"terms,omitempty"`
	Models []ModelSummary `json:"models,omitempty"`
	// Checks compare statistics of the response with responses drawn from the posterior.
	Checks []CheckSummary `json:"checks,omitempty"`
	// Notes are remarks about the data and the answer. Steps is the number of training steps.
	Notes []string `json:"notes,omitempty"`
	Steps int      `json:"steps,omitempty"`
	run.Work
	Weights int `json:"weights,omitempty"` // number of trained parameters
}

// FrameSummary describes the analysed data.
type FrameSummary struct {
	// Rows is the number of rows, and Groups the groupings of the formula.
	Rows    int            `json:"rows"`
	Formula string         `json:"formula"`
	Groups  []GroupSummary `json:"groups,omitempty"`
	// Response is the name of the explained variable, and Columns the columns of the population.
	Response string                `json:"response,omitempty"`
	Columns  []frame.ColumnSummary `json:"columns,omitempty"`
}

// GroupSummary is the size of a grouping, or of a smooth function, which has one level.
type GroupSummary struct {
	// Name is the name of the grouping, and Levels the number of its levels.
	Name   string `json:"name"`
	Levels int    `json:"levels"`
	// Line is the column of the linear part of a smooth function; "" for a grouping.
	Line string `json:"line,omitempty"`
}

// Summary is the posterior of one number, in the units of the table. With a selection of terms it
// is averaged over all models; the number is zero in models that lack it.
type Summary struct {
	// Name is the name of the number.
	Name string `json:"name"`
	// Mean and SD are null if draws do not determine them, for example if a quantity has such a
	// heavy tail that it has no moments. MeanSE and SDSE are their Monte Carlo standard errors.
	Mean   Figure `json:"mean"`
	MeanSE Figure `json:"mean_se"`
	SD     Figure `json:"sd"`
	SDSE   Figure `json:"sd_se"`
	// Q025 and Q975 are the quantiles at 2.5 and 97.5 percent.
	Q025 Figure `json:"q025"`
	Q975 Figure `json:"q975"`
}

// LevelSummary is the posterior of the effect of a level: the coefficient of a term in the level
// less its coefficient in the population.
type LevelSummary struct {
	// Smooth says that the effect is a coefficient of the basis of a smooth function.
	Smooth bool `json:"smooth,omitempty"`
	// Group and Level are the names of the grouping and its level, and Term the name of the term.
	Group string `json:"group"`
	Level string `json:"level"`
	Term  string `json:"term"`
	// The following fields have the meaning of the fields of [Summary], for the effect.
	Mean   Figure `json:"mean"`
	MeanSE Figure `json:"mean_se"`
	SD     Figure `json:"sd"`
	SDSE   Figure `json:"sd_se"`
	Q025   Figure `json:"q025"`
	Q975   Figure `json:"q975"`
	// Rows is the number of rows of the level. Pooling is the posterior variance of its effect
	// divided by the prior variance, from 0 (no pooling: the rows determine the effect) to 1
	// (complete pooling: other levels determine it).
	Rows    int    `json:"rows"`
	Pooling Figure `json:"pooling"`
	// Unpooled is the effect estimated from only the rows of the level, if they determine it.
	Unpooled *Figure `json:"unpooled,omitempty"`
}

// TermState is the probability of a state of a term: "absent", "pooled", or "varying by" groups. A
// smooth function is "absent", "linear" or "curved". "linear" and "curved" are followed by the
// groups by which the line varies, if it varies.
type TermState struct {
	// Term is the name of the term, and State its state.
	Term  string `json:"term"`
	State string `json:"state"`
	// Prob is the posterior probability of the state, and SE its standard error.
	Prob Figure `json:"prob"`
	SE   Figure `json:"se"`
	Q    Figure `json:"q"`
}

// ModelSummary is one model of a selection.
type ModelSummary struct {
	Code          string  `json:"code"` // one digit for each selectable term
	Formula       string  `json:"formula"`
	Q             *Figure `json:"q,omitempty"`
	Certified     Figure  `json:"certified"`
	SE            Figure  `json:"se"`
	LogEvidence   *Figure `json:"log_evidence,omitempty"`
	LogEvidenceSE *Figure `json:"log_evidence_se,omitempty"`
	KHat          *Figure `json:"khat,omitempty"`
}

// Certificate is the verdict of importance weighting.
type Certificate struct {
	// Verdict says how far the answer can be trusted.
	Verdict vti.Verdict `json:"verdict"`
	// KHat is k̂, the shape of the tail of the importance weights, and ESS their effective number
	// of draws.
	KHat Figure `json:"khat"`
	ESS  Figure `json:"ess"`
	// RHat is R̂ of tempered chains, if the answer comes from these chains because importance
	// weights were unreliable; KHat is then null.
	RHat          *Figure  `json:"rhat,omitempty"`
	Draws         int      `json:"draws"`
	ModelsChecked int      `json:"models_checked"`
	Reasons       []string `json:"reasons,omitempty"`
}

// ExitStatus returns the exit status for the result: 3 if the answer is not reliable, else 0.
func (r *Result) ExitStatus() int {
	if r.Certificate == nil {
		return 0
	}
	return r.Certificate.Verdict.ExitStatus()
}

// listedModels bounds the number of models that a result lists, unless AllModels is set.
const listedModels = 1000

// fill writes a certificate and a sample to a result, and checks the model.
func (r *Regression) fill(ctx gocontext.Context, result *Result, c *vti.Certificate, s *posteriorSample) (err error) {
	result.Certificate = &Certificate{
		Verdict: c.Verdict, KHat: Figure(c.KHat), ESS: Figure(c.ESS), Draws: c.Draws, ModelsChecked: c.ModelsChecked, Reasons: c.Reasons,
	}
	if c.RHat > 0 {
		result.Certificate.RHat = new(Figure(c.RHat))
	}
	result.LogEvidence, result.LogEvidenceSE = new(Figure(c.LogEvidence+r.logJacobian)), new(Figure(c.LogEvidenceSE))
	r.fillSample(result, s)
	if r.Options.Select {
		r.fillSelection(result, c)
	}
	result.ModelCheck, err = r.checkModel(ctx, s, *result.Seed)
	return err
}

// fillSample writes a sample into a result.
func (r *Regression) fillSample(result *Result, s *posteriorSample) {
	for j, name := range r.Frame.CoefficientNames() {
		result.Effects = append(result.Effects, s.summarize(name, j))
	}
	shares := len(r.sdNames) - len(r.shareNames())
	for j, name := range r.sdNames {
		one := s.summarize(name, r.effectCount()+j)
		switch {
		case j >= shares:
			result.Shares = append(result.Shares, one)
		case j >= shares-len(r.Frame.CutNames()):
			result.Cuts = append(result.Cuts, one)
		default:
			result.SDs = append(result.SDs, one)
		}
	}
	for i, g := range r.groups {
		terms := r.Frame.VaryingNames(g.Grouping)
		for at := range r.effects(g) {
			column, level := at/len(g.Levels), at%len(g.Levels)
			one := s.summarize("", r.firstQuantity(i)+at)
			result.Varying = append(result.Varying, LevelSummary{
				Smooth: g.Smooth, Group: g.Name, Level: g.Levels[level], Term: terms[column],
				Mean: one.Mean, MeanSE: one.MeanSE, SD: one.SD, SDSE: one.SDSE, Q025: one.Q025, Q975: one.Q975,
				Rows: g.Counts[level], Pooling: r.poolingOf(s, r.firstQuantity(i)+at, g.SpreadName(g.Columns[column%len(g.Columns)])),
			})
		}
	}
	result.Checks = r.checks(s)
}

// fillSelection writes the terms and models of a certificate into a result.
func (r *Regression) fillSelection(result *Result, c *vti.Certificate) {
	for site, q := range r.questions {
		probability, se := c.Frequencies(q.outcomes(), func(code []int32) []int { return []int{int(code[site])} })
		underQ := make([]float64, q.outcomes())
		for _, model := range c.Models {
			underQ[model.Code[site]] += model.Q
		}
		for outcome := range q.outcomes() {
			result.Terms = append(result.Terms, TermState{q.name, q.state(int32(outcome), r.groups), Figure(probability[outcome]), Figure(se[outcome]), Figure(underQ[outcome])})
		}
	}
	listed := len(c.Models)
	if !r.AllModels {
		listed = min(listed, listedModels)
	}
	for _, model := range c.Models[:listed] {
		if math.IsInf(r.space.logPrior[r.index(model.Code)], -1) {
			continue
		}
		evidence, se := model.LogEvidence+r.logJacobian, model.LogEvidenceSE
		if !(se <= resolvedEvidence) || math.IsInf(model.KHat, 1) { // too few draws for k̂
			evidence, se = math.NaN(), math.NaN()
		}
		result.Models = append(result.Models, ModelSummary{
			Code: codeText(model.Code), Formula: r.FormulaOf(model.Code), Q: new(Figure(model.Q)), Certified: Figure(model.Certified), SE: Figure(model.SE),
			LogEvidence: new(Figure(evidence)), LogEvidenceSE: new(Figure(se)), KHat: new(Figure(model.KHat)),
		})
	}
}

// resolvedEvidence is the largest standard error of a model's log evidence that is reported. A
// larger error means fewer than four effective draws: the model is improbable, and neither its log
// evidence nor the error is known.
const resolvedEvidence = 0.5

// poolingOf returns the posterior variance of an effect over its prior variance. The argument
// effect is its index among the quantities, and spread the name of its standard deviation.
func (r *Regression) poolingOf(s *posteriorSample, effect int, spread string) Figure {
	if s.draws == nil {
		return Figure(math.NaN())
	}
	sds := mat.Col(nil, r.effectCount()+slices.Index(r.sdNames, spread), s.draws)
	variance := stat.PopVariance(mat.Col(nil, effect, s.draws), nil)
	// A ratio above 1 comes from means of the effect that differ between draws of other parameters:
	// the rows determine nothing.
	return Figure(min(1, variance*float64(len(sds))/floats.Dot(sds, sds)))
}

// codeText writes a code as digits, with separators if a number has more than one digit.
func codeText(code []int32) string {
	parts := make([]string, len(code))
	separator := ""
	for i, outcome := range code {
		parts[i] = strconv.Itoa(int(outcome))
		if outcome > 9 {
			separator = ","
		}
	}
	return strings.Join(parts, separator)
}

// summarize returns the posterior of a quantity.
func (s *posteriorSample) summarize(name string, quantity int) Summary {
	if s.draws == nil {
		missing := Figure(math.NaN())
		return Summary{name, missing, missing, missing, missing, missing, missing}
	}
	values := mat.Col(nil, quantity, s.draws)
	m := s.momentsOf(quantity, values)
	low, _, high := report.Central(values)
	return Summary{name, Figure(m.Mean), Figure(m.MeanSE), Figure(m.SD), Figure(m.SDSE), low, high}
}
