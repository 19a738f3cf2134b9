package regression

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/transdim/vti/hbm/frame"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/likelihood"
)

// Regression is a frame with priors: the posterior of population effects β, standard deviations and
// correlations of varying effects, and noise, for one model or, with Select, for every choice of
// terms. With y, X, Z on the working scale (centred and scaled) and g the groupings,
//
//	η = X β + Σ_g Z_g b_g,   b_gj = Λ_g u_gj for each level j,
//	u_gj ~ N(0, I),        Λ_g = diag(s_g) L_g,
//
// where s_g are the standard deviations of the effects, and L_g is the Cholesky factor of their
// correlations. The effects u of the inner grouping (with the most effects) are integrated out. The
// effects of the other, outer groupings are coordinates.
type Regression struct {
	// Frame is the design of the regression, and Options its priors.
	Frame   *frame.Frame
	Options Options
	// AllModels makes results list every model of a selection that was evaluated.
	AllModels bool

	y           []float64  // [n] on the working scale
	offset      []float64  // [n] if the response is not continuous, or nil
	x           *mat.Dense // [n, P] on the working scale, or nil
	yMean, ySD  float64
	xMean, xSD  []float64
	groups      []*varyingGroup
	inner       *varyingGroup // its effects are integrated out; nil without groupings
	coordinates []coordinate
	monotonic   []monotonic
	noise       int                          // the coordinate of log σ or of the other parameter of the response, or −1
	categories  likelihood.OrderedCategories // categories of an ordered response; nil for others
	unordered   likelihood.UnorderedCategories
	planes      int // M, the number of linear predictors of a row; see planes.go
	firstCut    int // the coordinate of the first parameter of categories
	space       *effectSpace
	questions   []question
	sdNames     []string // names from listSDs
	// logJacobian is added to the log density of the standardised response to get the log density
	// of the response in the table
	logJacobian float64
	likelihood  func() groupedLikelihood // density of the response for flows; made when it is first called
	joint       func() *jointEffects     // effects, for the distinct rows; made when it is first called
	distinct    func() *Regression       // see newDistinct; made when it is first called
	times       []float64                // number of rows that each distinct row stands for, or nil
	rowOf       []int                    // index of the distinct row for each row of the table, or nil
	prepared    bool                     // whether Prepare has set units
}

// varyingGroup is a grouping, with its varying columns centred and scaled (the working scale).
type varyingGroup struct {
	*frame.Grouping
	z   *mat.Dense // [n, q]
	zSD []float64
	sd  []int // coordinate of each standard deviation [q]
	// coordinates of partial correlations [q][q], below the diagonal; −1 where there is none
	partial [][]int
	// the first coordinate of the effects u, plane by plane, column by column, level by level; −1
	// if they are integrated out
	first int
}

// coordinateKind is the meaning of a coordinate.
type coordinateKind int

const (
	populationCoordinate coordinateKind = iota // coefficient β of a population column
	sdCoordinate                               // τ of a standard deviation; see scaleMap
	partialCoordinate                          // z of a partial correlation; see partialMap
	noiseCoordinate                            // log σ
	effectCoordinate                           // effect u of an outer grouping
	cutCoordinate                              // z of a cut point; see likelihood.OrderedCategories
	stepCoordinate                             // coefficient of a later step of a monotonic effect; its first step has the prior
	stickCoordinate                            // z of a share of a step; see monotonic
)

// coordinate describes a coordinate of θ.
type coordinate struct {
	kind coordinateKind
	name string
	// mean and sd are the moments of a normal prior. beta is b of the prior ∝ (1 − ρ²)^(b−1) of a
	// partial correlation in the model with all terms, and unit is c of the scaleMap of a standard
	// deviation.
	mean, sd, beta, unit float64
	// prior is the prior of a standard deviation, and scale its scale on the working scale
	prior SDPrior
	scale float64
	// A partial correlation of two columns is conditional on the columns before both. later holds
	// the coordinates of the standard deviations of other columns that come after the first of the
	// two and are correlated with it. For each of these other columns that a model lacks, b is
	// smaller by ½, so that the model has the LKJ prior for its own columns.
	later []int
}

// betaOf returns b of the prior of a partial correlation in a model.
func (c coordinate) betaOf(mask []bool) float64 {
	b := c.beta
	for _, sd := range c.later {
		if !mask[sd] {
			b -= 0.5
		}
	}
	return b
}

// New returns the regression of a frame with the priors in opt.
func New(f *frame.Frame, opt Options) (*Regression, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	r := &Regression{Frame: f, Options: opt.withDefaults(), noise: -1, yMean: 0, ySD: 1, planes: 1}
	if err := r.scale(); err != nil {
		return nil, err
	}
	switch kind := f.Response; {
	case kind.Ordered():
		r.categories = likelihood.NewCategories(f.Response, len(f.Labels)).(likelihood.OrderedCategories)
	case kind.HasCategories():
		if err := r.useUnordered(); err != nil {
			return nil, err
		}
	}
	r.layOut()
	r.sdNames = r.listSDs()
	if err := r.setTermPriors(); err != nil {
		return nil, err
	}
	if err := r.makeQuestions(); err != nil {
		return nil, err
	}
	r.likelihood = sync.OnceValue(r.newLikelihood)
	r.distinct = sync.OnceValue(r.newDistinct)
	r.joint = sync.OnceValue(func() *jointEffects {
		if distinct := r.distinct(); distinct != r {
			return distinct.joint()
		}
		return newJointEffects(r)
	})
	if err := r.checkVarying(); err != nil {
		return nil, err
	}
	if f.Response.HasCategories() && !r.weighable() {
		return nil, fmt.Errorf("%s: the %s likelihood needs effects that vary by a group, at most %d standard deviations and correlations, and at most %d models", f.Path, f.Response, exactHyperparameters, exactModels)
	}
	if r.monotonic != nil && (r.planes > 1 || !r.weighable() && !r.integrable()) {
		return nil, fmt.Errorf("%s: monotonic effects need a gaussian or lognormal response, or a likelihood with a concave log density and effects that vary by a group, and at most %d standard deviations and correlations, and few models", f.Path, exactHyperparameters)
	}
	if f.Reduced != nil && !r.integrable() {
		return nil, fmt.Errorf("%s: the formula has too many models or standard deviations for integrals, and a table read by slices has no other answer: leave terms out", f.Path)
	}
	return r, nil
}

// newLikelihood returns the density of the response with the effects of the inner grouping
// integrated out, in closed form or by quadrature.
func (r *Regression) newLikelihood() groupedLikelihood {
	if r.Frame.Response.Conjugate() {
		return newGrouped(r.y, r.wide(), r.inner)
	}
	return newQuadratureRows(r.rowLikelihood(), r.distinct(), quadratureNodes)
}

// rowLikelihood returns the likelihood of a row on the working scale.
func (r *Regression) rowLikelihood() likelihood.Likelihood {
	return likelihood.New(r.Frame.Response.Working(), likelihood.Shape{Degrees: r.Options.Degrees})
}

// logConstants returns the sum of the constants in the log densities of the rows.
func (r *Regression) logConstants() float64 {
	if r.Frame.Response.HasCategories() {
		return 0
	}
	return likelihood.LogConstants(r.rowLikelihood(), r.y, r.times)
}

func (r *Regression) layOut() {
	add := func(c coordinate) int {
		r.coordinates = append(r.coordinates, c)
		return len(r.coordinates) - 1
	}
	plane := func(m int) string { // prefix of coordinates; planes are not the log odds of answers
		if r.unordered == nil {
			return ""
		}
		return fmt.Sprintf("plane %d:", m+1)
	}
	for m := range r.planes {
		for j, c := range r.Frame.Columns {
			if r.Frame.LaterStep(j) {
				add(coordinate{kind: stepCoordinate, name: plane(m) + c.Text()})
				continue
			}
			mean, sd := r.coefficientPrior(c)
			add(coordinate{kind: populationCoordinate, name: plane(m) + c.Name, mean: mean, sd: sd})
		}
	}
	r.layOutSteps(add)
	for _, g := range r.groups {
		q := len(g.Columns)
		for _, c := range g.Spreads() {
			g.sd = append(g.sd, add(coordinate{kind: sdCoordinate, name: g.SpreadName(c), unit: r.Options.SDScale, prior: r.Options.SDPrior, scale: r.Options.SDScale}))
		}
		for len(g.sd) < q { // a smooth function has one sd for all columns
			g.sd = append(g.sd, g.sd[0])
		}
		for a := range q {
			g.partial = append(g.partial, slices.Repeat([]int{-1}, q))
			for b := range a {
				if r.Frame.Correlated(g.Grouping, a, b) {
					// LKJ(η) as partial correlations given the columns before b: Beta(β, β) on (−1,
					// 1), with β = η plus ½ for each of the columns left (Lewandowski, Kurowicka
					// and Joe 2009).
					c := coordinate{kind: partialCoordinate, name: frame.CorrelationName(g.Columns[b].Name, g.Columns[a].Name, g.Name)}
					for k := b + 1; k < q; k++ {
						if k != a && r.Frame.Correlated(g.Grouping, a, k) {
							c.later = append(c.later, g.sd[k])
						}
					}
					c.beta = r.Options.Correlation + float64(len(c.later))/2
					g.partial[a][b] = add(c)
				}
			}
		}
	}
	if name := r.Frame.Response.Scale(); name != "" && r.Frame.SE == nil {
		r.noise = add(coordinate{kind: noiseCoordinate, name: "log " + name, sd: r.Frame.Response.ScaleSD()})
	}
	if r.categories != nil {
		r.firstCut = len(r.coordinates)
		for _, name := range r.Frame.CutNames() {
			add(coordinate{kind: cutCoordinate, name: "z(" + name + ")", sd: 1})
		}
	}
	for _, g := range r.groups {
		if g == r.inner {
			continue
		}
		g.first = len(r.coordinates)
		for m := range r.planes {
			for _, c := range g.Columns {
				for _, level := range g.Levels {
					add(coordinate{kind: effectCoordinate, name: "u(" + plane(m) + c.Name + " | " + g.Name + "=" + level + ")", sd: 1})
				}
			}
		}
	}
}

// Dim returns D, the number of coordinates.
func (r *Regression) Dim() int { return len(r.coordinates) }

// LogJacobian returns the number to be added to log evidences of the standardised response to get
// log evidences of the response in the units of the table.
func (r *Regression) LogJacobian() float64 { return r.logJacobian }

// Priors describes the likelihood and each prior in one line, in the units of the table.
func (r *Regression) Priors() []string {
	f, unit := r.Frame, r.ySD
	first := "likelihood: " + f.Response.String()
	switch {
	case f.SE != nil:
		first += " with known standard errors"
	case f.Response == likelihood.StudentKind:
		first += fmt.Sprintf(" with %g degrees of freedom, log σ ~ N(log %.4g, %g²)", r.Options.Degrees, unit, f.Response.ScaleSD())
	case f.Response.Conjugate():
		first += fmt.Sprintf(", log σ ~ N(log %.4g, %g²)", unit, f.Response.ScaleSD())
		if f.Weights != nil {
			first += fmt.Sprintf(", variance σ² / %s", f.Formula.Weights)
		}
	case r.categories != nil:
		first += fmt.Sprintf(" of %d categories, %s", len(f.Labels), strings.Join(f.Labels, " < "))
	case r.unordered != nil:
		first += fmt.Sprintf(" of %d categories without an order, %s: what follows is of the log odds of any two of them", len(f.Labels), strings.Join(f.Labels, ", "))
	case r.noise >= 0:
		first += fmt.Sprintf(", log %s ~ N(0, %g²)", f.Response.Scale(), f.Response.ScaleSD())
	}
	lines := []string{first}
	if r.categories != nil {
		lines = append(lines, "cut points: uniform prior of the probabilities of the categories, Dirichlet(1, …, 1), at the mean of the columns")
	}
	for _, j := range f.EffectColumns() {
		c := f.Columns[j]
		prior := r.coordinates[j]
		if c.Name == formula.InterceptName {
			lines = append(lines, fmt.Sprintf("intercept, at the mean of the columns: ~ N(%.4g, %.4g²)", prior.mean*unit+r.yMean, prior.sd*unit))
		} else {
			label := "effect of " + c.Name
			if c.Step != "" {
				label += ", the average change a step"
			}
			lines = append(lines, fmt.Sprintf("%s: ~ N(%.4g, %.4g²)", label, prior.mean*unit/r.xSD[j], prior.sd*unit/r.xSD[j]))
			if steps := f.StepsFrom(j); steps > 1 {
				lines = append(lines, fmt.Sprintf("shares of its %d steps: ~ Dirichlet(1, …, 1)", steps))
			}
		}
	}
	correlated := false
	for _, g := range r.groups {
		for c, column := range g.Spreads() {
			label := "sd of " + column.Name + " by " + g.Name
			if g.Smooth {
				label = "sd of " + g.Name + " around its line"
			}
			prior := r.coordinates[g.sd[c]]
			lines = append(lines, label+": ~ "+prior.prior.text(prior.scale*unit/g.zSD[c]))
			correlated = correlated || slices.Max(g.partial[c]) >= 0
		}
	}
	if correlated {
		lines = append(lines, fmt.Sprintf("correlations: ~ LKJ(%g)", r.Options.Correlation))
	}
	if r.Options.Select {
		curves := ""
		if r.smooth() {
			curves = ", and over which are curves"
		}
		lines = append(lines, fmt.Sprintf("models: %s over the terms that are in, and over how those vary by groups%s; an interaction needs the terms it is made of", r.Options.Models, curves))
	}
	return lines
}
