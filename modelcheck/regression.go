package modelcheck

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/likelihood"
)

// Kind is the kind of values of a response.
type Kind int

const (
	// Continuous responses are real numbers with additive noise.
	Continuous Kind = iota
	// Binary responses are 0 or 1.
	Binary
	// Count responses are 0, 1, 2, ….
	Count
	// Category responses are the numbers of categories, 0, 1, 2, ….
	Category
)

// KindOf returns the kind of the values of a response.
func KindOf(kind likelihood.Kind) Kind {
	switch {
	case kind.Binary():
		return Binary
	case kind.HasCategories():
		return Category
	case kind.Discrete():
		return Count
	}
	return Continuous
}

// Column is a named column of a table, in the units of the table.
type Column struct {
	Name string
	// Values has a finite entry for each row.
	Values []float64
	// Indicator reports whether the column is a 0/1 column that stands for a level of a factor.
	Indicator bool
}

// Remedies holds, for each kind of finding, a text about the options of the calling program, such
// as "--likelihood robust". An empty text stands for general advice.
type Remedies struct {
	HeavyTails, Overdispersion, Counts, TwoValues, Categories, Curvature, Dependence string
}

// RegressionInput is a fitted regression of one response on columns.
type RegressionInput struct {
	// Kind is the kind of the response.
	Kind       Kind
	Response   Column
	Predictors []Column
	// Unordered are the names of the categories 0, 1, … of a Category response without an order.
	// Each category is then checked separately. Unordered is nil for all other responses.
	Unordered []string
	// Rows determines the names of rows in findings.
	Rows RowNames
	// Checked lists the rows whose residuals are checked, in increasing order; nil means all rows.
	// See [CheckedRows].
	Checked []int
	// Draw writes draw d of the posterior; d is below [MinDraws]. It writes the mean and the
	// standard deviation (up to a constant factor) of the response of each row given the parameters
	// of the draw, and a response replicated from them. Each slice has one entry for each checked
	// row. If Unordered is set, mean and sd hold these values for the 0/1 indicator of the first
	// category in all rows, then of the second, and so on.
	Draw func(d int, mean, sd, replicate []float64)
	// Remedies are texts for the advice in findings.
	Remedies Remedies
}

// MinDraws is the number of posterior draws that are compared. With fewer draws, p-values could not
// reach [Level] after adjustment. Draws may repeat parameters, but each needs a new replicate.
const MinDraws = 1000

// fewestRows is the least number of rows for which patterns of residuals are checked.
const fewestRows = 8

// MostChecked is the largest number of rows whose residuals are worth checking. A discrepancy that
// shows only with more rows is too small to be important.
const MostChecked = 10000

// checkedBlock is the number of neighbouring rows in a block of checked rows. Blocks keep serial
// dependence visible.
const checkedBlock = 500

// CheckedRows selects rows of a table with n rows, in blocks of neighbours that are spread over the
// table. The argument most is about the number of selected rows. If n is at most this number, all
// rows are returned.
func CheckedRows(n, most int) (rows []int) {
	blocks := max(2, most/checkedBlock)
	size := most / blocks
	if n <= most {
		size = n
	}
	for b := range blocks {
		first := b * (n - size) / (blocks - 1)
		for i := range size {
			if row := first + i; len(rows) == 0 || row > rows[len(rows)-1] {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// checked returns columns with only the listed rows, or with all rows if rows is nil.
func checked(columns []Column, rows []int) []Column {
	if rows == nil {
		return columns
	}
	part := slices.Clone(columns)
	for k, c := range columns {
		part[k].Values = distinct.At(c.Values, rows)
	}
	return part
}

// Regression checks a fitted regression. It panics if lengths differ, and returns an error only if
// ctx is cancelled.
func Regression(ctx context.Context, in RegressionInput) (Report, error) {
	n := len(in.Response.Values)
	for _, c := range in.Predictors {
		if len(c.Values) != n {
			panic(fmt.Sprintf("modelcheck.Regression: column %q has %d rows, want %d", c.Name, len(c.Values), n))
		}
	}
	if in.Rows.Numbers != nil && len(in.Rows.Numbers) != n {
		panic(fmt.Sprintf("modelcheck.Regression: got %d row numbers for %d rows", len(in.Rows.Numbers), n))
	}
	findings := append(columnFindings(in.Predictors, in.Rows), collinearFindings(in.Predictors)...)
	findings = append(findings, sentinel(in.Response, in.Kind, in.Rows)...)
	if in.Kind == Continuous {
		findings = append(findings, fewValues(in.Response, in.Remedies)...)
	}
	findings = append(findings, repeatedTable(append([]Column{in.Response}, in.Predictors...))...)
	y := checked([]Column{in.Response}, in.Checked)[0].Values
	responses, kept := in.responsesOf(y), newFitting(in.Kind, y)
	if in.Unordered != nil { // the checked rows may lack categories
		kept.edges, kept.counts = wholeNumbers(0, float64(len(in.Unordered)-1)), make([][]float64, len(in.Unordered))
	}
	fitted, found, err := in.compare(ctx, responses, kept)
	if err != nil {
		return Report{}, err
	}
	findings = append(findings, found...)
	for _, r := range responses {
		if r.kind == Binary {
			findings = append(findings, separation(r, r.part(fitted))...)
		}
	}
	report := newReport(findings)
	report.Predictive = kept.predictive()
	for k, name := range in.Unordered {
		report.Predictive[k].Category = name
	}
	if in.Unordered == nil {
		report.Fitted = kept.rows(func(i int) int {
			if in.Checked != nil {
				i = in.Checked[i]
			}
			return in.Rows.number(i)
		})
	}
	return report, nil
}

// compare compares the responses with replicates drawn from the posterior, and adds the draws to
// the argument kept. It returns the posterior mean of the response of each row and the findings.
// For unordered categories, the means are in the order of the field Draw.
func (in *RegressionInput) compare(ctx context.Context, responses []*response, kept *fitting) (fitted []float64, found []Finding, err error) {
	checks := newChecks(responses, in.Predictors, in.Remedies, false)
	checks.addCopies(in.Predictors)
	checks.everyDraw = true
	n := len(kept.y)
	all := n * max(1, len(in.Unordered))
	mean, sd, replicate := make([]float64, all), make([]float64, all), make([]float64, n)
	fitted = make([]float64, all)
	err = checks.run(ctx, func(d, j int, ownMean, ownSD, ownReplicate []float64) {
		if j == 0 {
			in.Draw(d, mean, sd, replicate)
			for i, m := range mean {
				fitted[i] += m / MinDraws
			}
			kept.add(mean[:n], replicate)
		}
		r := responses[j]
		copy(ownMean, r.part(mean))
		copy(ownSD, r.part(sd))
		copy(ownReplicate, replicate)
		if r.order != nil {
			for i, v := range replicate {
				ownReplicate[i] = indicator(v, r.category)
			}
		}
	})
	if err != nil {
		return nil, nil, err
	}
	return fitted, checks.findings(), nil
}

// response is a column whose residuals are checked.
type response struct {
	name     string
	noun     string // noun in findings: response or node
	y        []float64
	kind     Kind
	rowNames RowNames
	rows     []int // indices in the table of the rows of y; nil for all rows
	// For categories without an order, y is 1 in the rows of the category with this number and 0 in
	// other rows, and order [n] numbers the categories of the rows. For other responses order is
	// nil.
	category int
	order    []float64
	// residual is the posterior mean of the centred residual of each row.
	residual []float64
}

// outliers names the rows whose residuals are at least half as large as the largest one, in
// descending order.
func (r *response) outliers() string {
	size := func(i int) float64 { return math.Abs(r.residual[i]) }
	order := rank.Order(len(r.residual), func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	count := 1
	for count < len(order) && size(order[count]) >= size(order[0])/2 {
		count++
	}
	return r.names(order[:count])
}

func (r *response) place() string { return r.noun + " " + r.name }

// part returns the part of values [categories · n] that belongs to the category of the response.
func (r *response) part(values []float64) []float64 {
	n := len(r.y)
	return values[r.category*n : (r.category+1)*n]
}

// inTable returns the indices in the table of rows that are given by their indices in y.
func (r *response) inTable(rows []int) []int {
	if r.rows == nil {
		return rows
	}
	return distinct.At(r.rows, rows)
}

// names names rows that are given by their indices in y.
func (r *response) names(rows []int) string { return r.rowNames.list(r.inTable(rows)) }

// sample is a response, observed or replicated, under one posterior draw.
type sample struct {
	y, mean []float64
	// The slice r holds residuals divided by the standard deviation, and centred holds r less its
	// median. The slice clipped holds centred divided by its spread, limited to ±3, and then scaled
	// to mean square 1.
	r, centred, clipped []float64
	scale               float64 // the spread of r
	scratch             []float64
}

func newSample(n int) *sample {
	column := func() []float64 { return make([]float64, n) }
	return &sample{y: column(), mean: column(), r: column(), centred: column(), clipped: column(), scratch: column()}
}

func (s *sample) set(kind Kind, y, mean, sd []float64) {
	if len(y) == 0 {
		return
	}
	copy(s.y, y)
	copy(s.mean, mean)
	for i := range y {
		r := (y[i] - mean[i]) / sd[i]
		if math.IsNaN(r) || math.IsInf(r, 0) {
			r = 0 // the noise is 0 or the mean overflows: the row has no information
		}
		s.r[i] = r
	}
	var centre float64
	centre, s.scale = medianAndSpread(s.r, s.scratch)
	var squares float64
	for i, r := range s.r {
		s.centred[i] = r - centre
		c := r
		if kind != Binary && kind != Category && s.scale > 0 {
			c = s.centred[i] / s.scale
		}
		c = max(-3, min(3, c))
		s.clipped[i] = c
		squares += c * c
	}
	if squares > 0 {
		floats.Scale(math.Sqrt(float64(len(y))/squares), s.clipped)
	}
}

// check is a family of statistics of one kind, with the findings for extreme values.
type check struct {
	*family
	// compare writes the statistics of the members of response j under one draw to observed and
	// replicated, or stores numbers from which finish computes them. The argument place is the
	// position of the draw in its block. Responses are compared in parallel.
	compare func(j, place int, seen, drawn *sample, observed, replicated []float64)
	// prepare, if not nil, is called before draw d is compared.
	prepare func(d, place int)
	// finish, if not nil, is called after a block of draws, and writes statistics of response j.
	finish               func(j int, observed, replicated [][]float64)
	observed, replicated [drawsAtOnce][]float64 // statistics of all members in each draw of a block
	// The members of response j are those from first[j] to first[j+1] − 1.
	first []int
	// finding returns the finding of a member, whose observed statistic has the given posterior
	// mean. The caller sets P.
	finding func(member int, mean float64) Finding
	// bestOf returns the group of a member. Each group has at most one finding. If bestOf is nil,
	// each member is a group.
	bestOf func(member int) any
}

// checks holds the families of statistics for one table.
type checks struct {
	responses []*response
	list      []*check
	remedies  Remedies
	// everyDraw reports whether the caller needs all draws, and not only the findings.
	everyDraw bool
	// ignored reports whether the residuals of response j are not compared with a column in draw d.
	// If ignored is nil, all columns are compared.
	ignored func(d, j, column int) bool
}

// drawsAtOnce is the number of draws in a block, whose statistics are computed together. For 100
// responses a block takes some tens of megabytes.
const drawsAtOnce = 16

// responseBlock holds the draws of one response in a block, and scratch memory.
type responseBlock struct {
	mean, sd, replicate [drawsAtOnce][]float64
	seen, drawn         *sample
}

// run draws from the posterior and compares the statistics, until no family can have a finding. The
// function draw writes the mean, the standard deviation and the replicate of the rows of response
// j. run returns the error of ctx.
func (c *checks) run(ctx context.Context, draw func(d, j int, mean, sd, replicate []float64)) error {
	for _, check := range c.list {
		for place := range drawsAtOnce {
			members := check.first[len(check.first)-1]
			check.observed[place], check.replicated[place] = make([]float64, members), make([]float64, members)
		}
	}
	blocks := make([]*responseBlock, len(c.responses))
	for j, r := range c.responses {
		n := len(r.y)
		r.residual = make([]float64, n)
		blocks[j] = &responseBlock{seen: newSample(n), drawn: newSample(n)}
		for place := range drawsAtOnce {
			blocks[j].mean[place], blocks[j].sd[place], blocks[j].replicate[place] = make([]float64, n), make([]float64, n), make([]float64, n)
		}
	}
	open := slices.Clone(c.list)
	for from := 0; from < MinDraws && (len(open) > 0 || c.everyDraw); from += drawsAtOnce {
		block := min(drawsAtOnce, MinDraws-from)
		for place := range block {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("the model check stopped after %d of %d draws: %w", from+place, MinDraws, err)
			}
			for j, b := range blocks {
				draw(from+place, j, b.mean[place], b.sd[place], b.replicate[place])
			}
			for _, check := range open {
				if check.prepare != nil {
					check.prepare(from+place, place)
				}
			}
		}
		if len(open) == 0 {
			continue
		}
		parallel.Run(len(blocks), func(j int) { c.responses[j].compare(j, blocks[j], block, open) })
		for _, check := range open {
			for place := range block {
				check.add(check.observed[place], check.replicated[place])
			}
		}
		open = slices.DeleteFunc(open, func(check *check) bool { return check.settled() })
	}
	return nil
}

// compare compares the response r, which has the index j, with its replicates in a block of draws.
func (r *response) compare(j int, b *responseBlock, block int, list []*check) {
	for place := range block {
		b.seen.set(r.kind, r.y, b.mean[place], b.sd[place])
		b.drawn.set(r.kind, b.replicate[place], b.mean[place], b.sd[place])
		for i, residual := range b.seen.centred {
			r.residual[i] += residual / MinDraws
		}
		for _, check := range list {
			if from, to := check.first[j], check.first[j+1]; from < to {
				check.compare(j, place, b.seen, b.drawn, check.observed[place][from:to], check.replicated[place][from:to])
			}
		}
	}
	for _, check := range list {
		from, to := check.first[j], check.first[j+1]
		if check.finish == nil || from == to {
			continue
		}
		original, drawn := make([][]float64, block), make([][]float64, block)
		for place := range block {
			original[place], drawn[place] = check.observed[place][from:to], check.replicated[place][from:to]
		}
		check.finish(j, original, drawn)
	}
}

// findings returns the findings with adjusted p-values of at most Level.
func (c *checks) findings() []Finding {
	families := apply.To(c.list, func(check *check) *family { return check.family })
	var found []Finding
	for k, factor := range holm(families) {
		check := c.list[k]
		best := make(map[any]int) // most extreme member of each group so far
		var order []any
		for member := range check.upper {
			if factor*check.p(member) > Level {
				continue
			}
			group := any(member)
			if check.bestOf != nil {
				group = check.bestOf(member)
			}
			before, seen := best[group]
			if !seen {
				order = append(order, group)
			}
			if !seen || math.Abs(check.mean(member)) > math.Abs(check.mean(before)) {
				best[group] = member
			}
		}
		for _, group := range order {
			member := best[group]
			f := check.finding(member, check.mean(member))
			f.P = Number(min(1, factor*check.p(member)))
			found = append(found, f)
		}
	}
	return found
}
