package papers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/transdim/vti/hbm"
)

// paviSettings holds the settings of Rouillard et al. (2023): section 5 and table B.1. The paper
// prints neither the number of samples in a group nor the standard deviations; both are taken from
// ADAVI instead.
type paviSettings struct {
	Dim         int                  `json:"dim"`
	Groups      []int                `json:"groups"`
	Reduced     []int                `json:"reduced"` // groups in a step
	DataSets    int                  `json:"data_sets"`
	Asymptotic  []float64            `json:"asymptotic"` // log evidence
	ELBO        map[string][]float64 `json:"elbo"`
	Weights     map[string][]int     `json:"weights"`
	Convergence struct {
		Dim     int `json:"dim"`
		Groups  int `json:"groups"`
		Reduced int `json:"reduced"`
	} `json:"convergence"` // figure 2, left
	Encodings struct {
		Dim     int   `json:"dim"`
		Groups  int   `json:"groups"`
		Reduced int   `json:"reduced"`
		Sizes   []int `json:"sizes"`
	} `json:"encodings"` // figure 2, right
	OurSamples int        `json:"our_samples"`
	OurSD      [3]float64 `json:"our_sd"`
	OurSteps   int        `json:"our_steps"`
	QuickSteps int        `json:"quick_steps"`
}

// adaviSettings holds the settings of Rouillard and Wassermann (2022): eq. 6 and table 2. The paper
// takes the ELBO of a mean-field approximation as the evidence (Truth).
type adaviSettings struct {
	Dim           int                  `json:"dim"`
	Groups        []int                `json:"groups"`
	Samples       int                  `json:"samples"`
	SD            [3]float64           `json:"sd"`
	Truth         []float64            `json:"truth"`
	ELBO          map[string][]float64 `json:"elbo"`
	Weights       map[string]int       `json:"weights"`
	DataSets      int                  `json:"data_sets"`
	OurSetsOfStep int                  `json:"our_sets_of_a_step"`
	OurSteps      int                  `json:"our_steps"`
	QuickSteps    int                  `json:"quick_steps"`
}

// branchSettings holds the settings of Agrawal and Domke (2021), appendix F.2.
type branchSettings struct {
	Dim        int   `json:"dim"`
	Rows       int   `json:"rows"`
	Groups     []int `json:"groups"`
	OurBatch   []int `json:"our_batch"` // groups in a step; 0 for all groups
	OurSteps   int   `json:"our_steps"`
	QuickSteps int   `json:"quick_steps"`
}

// plateKeys and plateValues are the columns of the CSV file of families of approximations. Column
// amortize is the number of simulated data sets in a step, or 0 for a family that is trained on the
// data themselves.
var (
	plateKeys   = []string{"model", "groups", "dim", "batch", "family", "encoding", "amortize", "steps", "data_set"}
	plateValues = []string{"log_evidence", "elbo", "elbo_se", "weights"}
)

// plateFit is the family, model and data of one cell (measurement) of a study of families of
// approximations.
type plateFit struct {
	model                                       string // effects or regressions
	groups, dim, batch, encoding, amortize, set int
	family                                      hbm.Family
	steps                                       int
}

// plateCell returns the cell (measurement) that trains a family and computes its ELBO and the
// evidence.
func (l *Lab) plateCell(f plateFit) Cell {
	f.steps = cmp.Or(l.Steps, f.steps)
	key := []string{f.model}
	for _, n := range []int{f.groups, f.dim, f.batch} {
		key = append(key, strconv.Itoa(n))
	}
	key = append(key, f.family.String())
	for _, n := range []int{f.encoding, f.amortize, f.steps, f.set} {
		key = append(key, strconv.Itoa(n))
	}
	return Cell{Key: key, Measure: func(ctx context.Context) ([]string, error) {
		p, err := l.plates(f)
		if err != nil {
			return nil, err
		}
		cfg := hbm.Config{Family: f.family, Encoding: f.encoding, Amortize: f.amortize, Steps: f.steps, Seed: uint64(f.set), Products: f.model == "regressions"}
		if f.batch > 0 && f.family != hbm.Joint {
			cfg.Batch = map[*hbm.Plate]int{p.group: f.batch}
		}
		data := p.data
		if f.amortize > 0 {
			data = nil
		}
		posterior, err := hbm.Fit(ctx, l.Device, p.model, data, cfg)
		if err == nil && f.amortize > 0 {
			posterior, err = posterior.On(p.model, p.data)
		}
		if err != nil {
			return nil, err
		}
		const draws = 4000
		elbo, se, err := posterior.ELBO(ctx, max(20, draws/f.groups), "elbo")
		return []string{text(p.logEvidence, 3), text(elbo, 3), text(se, 3), strconv.Itoa(posterior.Weights())}, err
	}}
}

func (l *Lab) plates(f plateFit) (*plates, error) {
	if f.model == "regressions" {
		return newRegressions(f.groups, settingsOf[branchSettings]("branch").Rows, f.dim)
	}
	s := settingsOf[adaviSettings]("adavi")
	return newEffects(f.groups, s.Samples, f.dim, s.SD, uint64(f.set)), nil
}

// gapOf returns the log evidence minus the ELBO.
func gapOf(row Row) float64 { return row.number("log_evidence") - row.number("elbo") }

// matching returns the rows of a cell with any data set and number of steps.
func (f plateFit) matching(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
		return r["model"] != f.model || r["groups"] != strconv.Itoa(f.groups) || r["dim"] != strconv.Itoa(f.dim) || r["batch"] != strconv.Itoa(f.batch) ||
			r["family"] != f.family.String() || r["encoding"] != strconv.Itoa(f.encoding) || r["amortize"] != strconv.Itoa(f.amortize)
	})
}

// plateStudy is a study of families of approximations. The field cells holds its cells for one data
// set, sets is the number of data sets, and quick holds the cells of its quick form for tests. The
// function published returns the gap to the evidence that the paper prints for a cell, in nats per
// group.
type plateStudy struct {
	paper, name, title, note string
	cells                    []plateFit
	quick                    []plateFit
	published                func(f plateFit) string
	claims                   func(rows []Row) []Claim
	sets                     int
}

func (p plateStudy) study() *Study {
	return &Study{
		Paper: p.paper, Name: p.name, Title: p.title, Store: "plates", Keys: plateKeys, Values: plateValues, Note: p.note,
		Cells: func(l *Lab) (cells []Cell, err error) {
			if l.Quick {
				for _, f := range p.quick {
					cells = append(cells, l.plateCell(f))
				}
				return cells, nil
			}
			for set := 1; set <= cmp.Or(l.DataSets, p.sets); set++ {
				for _, f := range p.cells {
					f.set = set
					cells = append(cells, l.plateCell(f))
				}
			}
			return cells, nil
		},
		Claims: p.claims,
		header: []string{"groups", "in a step", "family", "encoding", "steps", "paper: gap for each group", "ours: gap for each group, nats", "weights"},
		lines: func(rows []Row) (lines [][]string) {
			for _, f := range p.cells {
				line := []string{strconv.Itoa(f.groups), allOr(f.batch), f.family.String(), standardOr(f.encoding)}
				ofFamily := f.matching(rows)
				if len(ofFamily) == 0 {
					lines = append(lines, append(line, "not run", p.published(f), "", ""))
					continue
				}
				steps := 0.0 // the largest number of steps
				for _, row := range ofFamily {
					steps = math.Max(steps, row.number("steps"))
				}
				sum, n := 0.0, 0.0
				for _, row := range ofFamily {
					if row.number("steps") == steps {
						sum, n = sum+gapOf(row)/float64(f.groups), n+1
					}
				}
				ours := text(sum/n, 4)
				if n > 1 {
					ours += fmt.Sprintf(" (%.0f)", n)
				}
				lines = append(lines, append(line, text(steps, 0), p.published(f), ours, ofFamily[0]["weights"]))
			}
			return lines
		},
	}
}

func allOr(n int) string {
	if n == 0 {
		return "all"
	}
	return strconv.Itoa(n)
}

func standardOr(n int) string {
	if n == 0 {
		return "default"
	}
	return strconv.Itoa(n)
}

// gapClaims returns the claims that the gap to the evidence, divided by the number of groups, is
// below a number of nats.
func gapClaims(nats float64) func(rows []Row) []Claim {
	return func(rows []Row) (claims []Claim) {
		for _, row := range rows {
			claims = append(claims, Claim{
				Text: fmt.Sprintf("%s of %s: less than %.3g nats below the evidence for each of %s groups", row["family"], row["model"], nats, row["groups"]),
				Z:    (nats*row.number("groups") - gapOf(row)) / row.number("elbo_se"),
			})
		}
		return claims
	}
}

// aboveClaim returns the claim that the ELBO of the first row is above the ELBO of the second row.
func aboveClaim(rows []Row) []Claim {
	if len(rows) < 2 {
		return nil
	}
	return []Claim{{
		Text: fmt.Sprintf("%s is above %s after the same steps", rows[0]["family"], rows[1]["family"]),
		Z:    (rows[0].number("elbo") - rows[1].number("elbo")) / math.Hypot(rows[0].number("elbo_se"), rows[1].number("elbo_se")),
	}}
}

// paviStudies returns table B.1, both panels of figure 2, and studies of the paper that cannot be
// run.
func paviStudies() []*Study {
	s := settingsOf[paviSettings]("pavi")
	scaling := plateStudy{
		paper: "pavi", name: "tableB1", title: "Gaussian random effects of more and more groups (figure 3, table B.1)", sets: s.DataSets, claims: gapClaims(1),
		note: "The paper prints neither the samples of a group nor the standard deviations of its data; ours are those of ADAVI. So gaps compare, evidence less ELBO, and ELBOs do not. " +
			"The paper's adavi is trained over simulated data sets, ours here on the data at hand.",
		published: func(f plateFit) string {
			at := slices.Index(s.Groups, f.groups)
			return text((s.Asymptotic[at]-s.ELBO[f.family.String()][at])/float64(f.groups), 3)
		},
		quick: []plateFit{{model: "effects", groups: s.Groups[1], dim: s.Dim, batch: s.Reduced[1], family: hbm.PAVIF, steps: s.QuickSteps, set: 1}},
	}
	for i, groups := range s.Groups {
		for _, family := range []hbm.Family{hbm.PAVIF, hbm.PAVIE, hbm.ADAVI} {
			batch := s.Reduced[i]
			if family == hbm.ADAVI {
				batch = 0
			}
			scaling.cells = append(scaling.cells, plateFit{model: "effects", groups: groups, dim: s.Dim, batch: batch, family: family, steps: s.OurSteps})
		}
	}
	c := s.Convergence
	convergence := plateStudy{
		paper: "pavi", name: "fig2-steps", title: "Steps with and without amortization across the plate (figure 2, left)", sets: 1, claims: aboveClaim,
		note:      "Branch gives each group a distribution of its own: it is the family without amortization. The paper plots that amortized families need ten to a hundred times fewer steps. `--steps` says after how many steps.",
		published: func(plateFit) string { return "plotted" },
	}
	for _, family := range []hbm.Family{hbm.PAVIF, hbm.Branch, hbm.PAVIE} {
		f := plateFit{model: "effects", groups: c.Groups, dim: c.Dim, batch: c.Reduced, family: family, steps: s.OurSteps}
		convergence.cells = append(convergence.cells, f)
		if f.steps, f.set = s.QuickSteps, 1; family != hbm.PAVIE {
			convergence.quick = append(convergence.quick, f)
		}
	}
	e := s.Encodings
	encodings := plateStudy{
		paper: "pavi", name: "fig2-encodings", title: "Sizes of encodings (figure 2, right)", sets: 1,
		note:      "The paper plots that the ELBO rises until the encoding has the size of the data, 8, and no further.",
		published: func(plateFit) string { return "plotted" },
		claims: func(rows []Row) []Claim {
			rows = slices.Clone(rows)
			slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.number("encoding"), a.number("encoding")) })
			if len(rows) < 2 {
				return nil
			}
			last := rows[len(rows)-1]
			return []Claim{{
				Text: "encodings of " + rows[0]["encoding"] + " are above those of " + last["encoding"],
				Z:    (rows[0].number("elbo") - last.number("elbo")) / math.Hypot(rows[0].number("elbo_se"), last.number("elbo_se")),
			}}
		},
	}
	for _, size := range e.Sizes {
		f := plateFit{model: "effects", groups: e.Groups, dim: e.Dim, batch: e.Reduced, encoding: size, steps: s.OurSteps}
		encodings.cells = append(encodings.cells, f)
		if f.steps, f.set = s.QuickSteps, 1; size == e.Sizes[0] || size == e.Sizes[2] {
			encodings.quick = append(encodings.quick, f)
		}
	}
	missing := "needs Dirichlet and mixture densities, which package hbm has in its tests only (issue 38)"
	return []*Study{
		scaling.study(), convergence.study(), encodings.study(),
		{Paper: "pavi", Name: "tableB2", Title: "Gaussian mixture with random effects", Missing: missing},
		{Paper: "pavi", Name: "tableB3", Title: "Hierarchical variances", Missing: "not built: the model has no evidence in closed form, and its ELBOs compare only on the paper's data sets"},
		{Paper: "pavi", Name: "tableB4", Title: "Neuroimaging model of small dimension", Missing: missing},
		{Paper: "pavi", Name: "fig4", Title: "Parcellation of the cortex", Missing: "needs the HCP data set, which is not free to pass on"},
	}
}

// adaviStudies returns table 2 and studies of the paper that cannot be run.
func adaviStudies() []*Study {
	s := settingsOf[adaviSettings]("adavi")
	amortized := plateStudy{
		paper: "adavi", name: "table2", title: "Amortized over data sets, more and more groups (figure 3, table 2)", sets: s.DataSets, claims: gapClaims((s.Truth[0] - s.ELBO["adavi"][0]) / float64(s.Groups[0])),
		note: "Families are trained on simulated data sets, and answer for data that no step has seen. The paper's evidence is its mean field, 245 with 3 groups; the closed form of its printed standard deviations gives about 440 nats, so gaps compare and ELBOs do not.",
		published: func(f plateFit) string {
			if published := s.ELBO[f.family.String()]; published != nil {
				at := slices.Index(s.Groups, f.groups)
				return text((s.Truth[at]-published[at])/float64(f.groups), 2)
			}
			return ""
		},
		quick: []plateFit{{model: "effects", groups: s.Groups[0], dim: s.Dim, family: hbm.ADAVI, amortize: s.OurSetsOfStep, steps: s.QuickSteps, set: 1}},
	}
	for _, groups := range s.Groups {
		for _, family := range []hbm.Family{hbm.ADAVI, hbm.PAVIE} {
			amortized.cells = append(amortized.cells, plateFit{model: "effects", groups: groups, dim: s.Dim, family: family, amortize: s.OurSetsOfStep, steps: s.OurSteps})
		}
	}
	return []*Study{
		amortized.study(),
		{Paper: "adavi", Name: "table1", Title: "Non-conjugate model and Gaussian mixture", Missing: "needs Laplace, Dirichlet and mixture densities, which package hbm has in its tests only (issue 38)"},
		{Paper: "adavi", Name: "fig4", Title: "Parcellation of the cortex", Missing: "needs the HCP data set, which is not free to pass on"},
	}
}

// branchStudies returns figure 7 and a study of the paper that cannot be run.
func branchStudies() []*Study {
	s := settingsOf[branchSettings]("branch")
	families := []hbm.Family{hbm.Joint, hbm.Branch, hbm.AmortizedBranch}
	synthetic := plateStudy{
		paper: "branch", name: "fig7", title: "Regressions of groups whose evidence is known (figure 7)", sets: 1, claims: gapClaims(1),
		note: "Normal distributions with dependence (*dense*). The paper plots traces of the ELBO: all families are near the evidence with 10 groups, and the amortized one is best with 1,000 and 100,000. " +
			"A joint distribution of 1,000 groups or more is too large for vti.",
		published: func(plateFit) string { return "plotted" },
		quick:     []plateFit{{model: "regressions", groups: s.Groups[0], dim: s.Dim, family: hbm.Branch, steps: s.QuickSteps, set: 1}},
	}
	for i, groups := range s.Groups {
		for _, family := range families {
			if family != hbm.Joint || groups*s.Dim <= hbm.MaxJoint {
				synthetic.cells = append(synthetic.cells, plateFit{model: "regressions", groups: groups, dim: s.Dim, batch: s.OurBatch[i], family: family, steps: s.OurSteps})
			}
		}
	}
	return []*Study{
		synthetic.study(),
		{Paper: "branch", Name: "table2", Title: "Ratings of films", Missing: "needs the data set MovieLens25M, whose licence does not let it be passed on"},
	}
}
