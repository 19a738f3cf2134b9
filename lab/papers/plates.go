package papers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

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
	Mixture   otherPlates `json:"mixture"`   // table B.2
	Variances otherPlates `json:"variances"` // table B.3
	Brain     struct {
		Size brainSize          `json:"size"`
		ELBO map[string]float64 `json:"elbo"`
	} `json:"brain"` // table B.4
	Parcellation parcellationSettings `json:"parcellation"`
	OurSamples   int                  `json:"our_samples"`
	OurSD        [3]float64           `json:"our_sd"`
	OurSteps     int                  `json:"our_steps"`
	QuickSteps   int                  `json:"quick_steps"`
}

// otherPlates describes a model of tables B.2 and B.3 of PAVI, with its published ELBOs.
type otherPlates struct {
	Dim     int                `json:"dim"`
	Groups  int                `json:"groups"`
	Samples int                `json:"samples"`
	ELBO    map[string]float64 `json:"elbo"`
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
	NonConjugate  map[string]float64   `json:"non_conjugate"` // ELBOs of table 1
	Mixture       map[string]float64   `json:"mixture"`
	OurSetsOfStep int                  `json:"our_sets_of_a_step"`
	OurSteps      int                  `json:"our_steps"`
	QuickSteps    int                  `json:"quick_steps"`
}

// branchSettings holds the settings of Agrawal and Domke (2021), appendix F.2.
type branchSettings struct {
	Dim        int            `json:"dim"`
	Rows       int            `json:"rows"`
	Groups     []int          `json:"groups"`
	OurBatch   []int          `json:"our_batch"` // groups in a step; 0 for all groups
	OurUnits   int            `json:"our_units"` // of the encoders of amortized branches
	OurSteps   int            `json:"our_steps"`
	QuickSteps int            `json:"quick_steps"`
	Ratings    ratingSettings `json:"ratings"` // table 2
}

// plateKeys and plateValues are the columns of the CSV file of families of approximations. Column
// amortize is the number of simulated data sets in a step, or 0 for a family that is trained on the
// data themselves.
var (
	plateKeys   = []string{"model", "groups", "dim", "batch", "family", "pooling", "covariance", "units", "encoding", "amortize", "steps", "data_set"}
	plateValues = []string{"log_evidence", "elbo", "elbo_se", "weights"}
)

// plateFit is the family, model and data of one cell (measurement) of a study of families of
// approximations.
type plateFit struct {
	model                                              string // a name that the method plates knows
	groups, dim, batch, units, encoding, amortize, set int
	family                                             hbm.Family
	attention                                          bool // encoders are set transformers
	covariance                                         hbm.Covariance
	steps                                              int
}

// covariances holds the names of hbm.Covariance.
var covariances = []string{"dense", "block", "diagonal"}

// key returns the values of plateKeys, from the model up to the argument last.
func (f plateFit) key() []string {
	key, pooling := []string{f.model}, "default"
	if f.attention {
		pooling = "attention"
	}
	for _, n := range []int{f.groups, f.dim, f.batch} {
		key = append(key, strconv.Itoa(n))
	}
	key = append(key, f.family.String(), pooling, covariances[f.covariance])
	for _, n := range []int{f.units, f.encoding, f.amortize, f.steps, f.set} {
		key = append(key, strconv.Itoa(n))
	}
	return key
}

// plateCell returns the cell (measurement) that trains a family and computes its ELBO and the
// evidence.
func (l *Lab) plateCell(f plateFit) Cell {
	f.steps = cmp.Or(l.Steps, f.steps)
	return Cell{Key: f.key(), Measure: func(ctx context.Context) ([]string, error) {
		p, err := l.plates(ctx, f)
		if err != nil {
			return nil, err
		}
		cfg := hbm.Config{
			Family: f.family, Covariance: f.covariance, Encoding: f.encoding, Encoder: hbm.EncoderConfig{Units: f.units, Attention: f.attention}, Amortize: f.amortize, Steps: f.steps,
			Seed: uint64(f.set), Products: f.model == "regressions",
		}
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
		elbo, se, err := posterior.ELBO(ctx, max(20, draws/max(f.groups, 1)), "elbo")
		return []string{text(p.logEvidence, 3), text(elbo, 3), text(se, 3), strconv.Itoa(posterior.Weights())}, err
	}}
}

// plates returns the model and the data of a cell.
func (l *Lab) plates(ctx context.Context, f plateFit) (*plates, error) {
	adavi, pavi, seed := settingsOf[adaviSettings]("adavi"), settingsOf[paviSettings]("pavi"), uint64(f.set)
	switch f.model {
	case "regressions":
		return newRegressions(f.groups, settingsOf[branchSettings]("branch").Rows, f.dim)
	case "non-conjugate":
		return newNonConjugate(ctx, l.Device, seed)
	case "mixture of three":
		return newMixtures(ctx, l.Device, f.groups, adavi.Samples, f.dim, adavi.SD, seed)
	case "mixture":
		return newMixtures(ctx, l.Device, f.groups, pavi.Mixture.Samples, f.dim, pavi.OurSD, seed)
	case "variances":
		return newVariances(ctx, l.Device, f.groups, pavi.Variances.Samples, f.dim, seed)
	case "brain":
		b := newBrain(pavi.Brain.Size)
		return drawn(ctx, l.Device, b.model, b.subject, b.x, seed)
	}
	return newEffects(f.groups, adavi.Samples, f.dim, adavi.SD, seed), nil
}

// gapOf returns the log evidence minus the ELBO.
func gapOf(row Row) float64 { return row.number("log_evidence") - row.number("elbo") }

// longest returns the rows of a cell, with any data set, whose number of steps is the largest.
func (f plateFit) longest(rows []Row) (longest []Row) {
	steps, key := 0.0, f.key()
	for _, row := range rows {
		same := true
		for i, column := range plateKeys[:len(plateKeys)-2] {
			same = same && row[column] == key[i]
		}
		if same && row.number("steps") > steps {
			steps, longest = row.number("steps"), nil
		}
		if same && row.number("steps") == steps {
			longest = append(longest, row)
		}
	}
	return longest
}

// plateStudy is a study of families of approximations. The field cells holds its cells for one data
// set, sets is the number of data sets, and quick holds the cells of its quick form for tests. The
// function published returns the number that the paper prints for a cell: a gap to the evidence, in
// nats per group, or an ELBO.
type plateStudy struct {
	paper, name, title, note string
	cells                    []plateFit
	quick                    []plateFit
	published                func(f plateFit) string
	claims                   func(rows []Row) []Claim
	sets                     int
	// levels says that the paper prints ELBOs of a model whose constants are known, and not gaps.
	levels bool
}

func (p plateStudy) study() *Study {
	compared := []string{"paper: gap for each group", "ours: gap for each group, nats"}
	if p.levels {
		compared = []string{"paper: ELBO", "ours: ELBO", "ours: gap for each group, nats"}
	}
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
		header: slices.Concat([]string{"groups", "in a step", "family", "encoding", "steps"}, compared, []string{"weights"}),
		lines: func(rows []Row) (lines [][]string) {
			for _, f := range p.cells {
				line, there := []string{noneOr(f.groups), allOr(f.batch), f.title(), standardOr(f.encoding)}, f.longest(rows)
				if len(there) == 0 {
					lines = append(lines, append(append(line, "not run", p.published(f)), make([]string, len(compared))...))
					continue
				}
				elbos, gaps := make([]float64, len(there)), make([]float64, len(there))
				for i, row := range there {
					elbos[i], gaps[i] = row.number("elbo"), gapOf(row)/float64(max(f.groups, 1))
				}
				slices.Sort(elbos)
				ours := []string{text(stat.Mean(gaps, nil), 4)}
				if math.IsNaN(gaps[0]) {
					ours[0] = "" // the evidence is not known
				}
				if p.levels {
					ours = []string{text(stat.Quantile(0.5, stat.LinInterp, elbos, nil), 1), ours[0]}
				}
				if n := len(there); n > 1 {
					ours[0] += fmt.Sprintf(" (%d)", n)
				}
				line = append(line, there[0]["steps"], p.published(f))
				lines = append(lines, append(append(line, ours...), there[0]["weights"]))
			}
			return lines
		},
	}
}

// title returns the family of a cell with its covariance, the units of its encoder, and whether it
// is amortized over data sets.
func (f plateFit) title() string {
	title := f.family.String()
	if f.covariance != hbm.DenseCovariance {
		title += ", " + covariances[f.covariance]
	}
	if f.attention {
		title += ", set transformer"
	}
	if f.units > 0 {
		title += fmt.Sprintf(", %d units", f.units)
	}
	if f.amortize > 0 {
		title += ", over data sets"
	}
	return title
}

func noneOr(n int) string     { return numberOr(n, "none") }
func allOr(n int) string      { return numberOr(n, "all") }
func standardOr(n int) string { return numberOr(n, "default") }

// numberOr returns n, or a word for 0.
func numberOr(n int, zero string) string {
	if n == 0 {
		return zero
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

// aboveMeanField returns the claim that ELBOs of pavi-f are above those of the mean field of the
// same model, data set and steps.
func aboveMeanField(rows []Row) []Claim {
	of := func(row Row) string { return row["model"] + row["data_set"] + row["steps"] }
	meanField := map[string]Row{}
	for _, row := range rows {
		if row["family"] == hbm.MeanField.String() {
			meanField[of(row)] = row
		}
	}
	sum, variance := 0.0, 0.0
	for _, row := range rows {
		if below, ok := meanField[of(row)]; ok && row["family"] == hbm.PAVIF.String() {
			sum += row.number("elbo") - below.number("elbo")
			variance += math.Pow(row.number("elbo_se"), 2) + math.Pow(below.number("elbo_se"), 2)
		}
	}
	if variance == 0 {
		return nil
	}
	return []Claim{{Text: "pavi-f is above the mean field after the same steps", Z: sum / math.Sqrt(variance)}}
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
	// other returns the study of another model, by the families with published ELBOs and mean
	// field.
	other := func(name, title, note, model string, size otherPlates, families ...hbm.Family) *Study {
		study := plateStudy{
			paper: "pavi", name: name, title: title, sets: s.DataSets, claims: aboveMeanField, levels: true, note: note,
			published: func(f plateFit) string { return publishedELBO(size.ELBO, f) },
		}
		for _, family := range append(families, hbm.MeanField) {
			study.cells = append(study.cells, plateFit{model: model, groups: size.Groups, dim: size.Dim, family: family, steps: s.OurSteps})
		}
		for _, family := range []hbm.Family{hbm.PAVIF, hbm.MeanField} {
			study.quick = append(study.quick, plateFit{model: model, groups: size.Groups, dim: size.Dim, family: family, steps: s.QuickSteps, set: 1})
		}
		return study.study()
	}
	brain := otherPlates{Dim: s.Brain.Size.Dim, Groups: s.Brain.Size.Subjects, ELBO: s.Brain.ELBO}
	return []*Study{
		scaling.study(), convergence.study(), encodings.study(),
		other("tableB2", "Gaussian mixture with random effects", "The paper does not print the standard deviations of its data; ours are those of ADAVI, so that levels need not compare. Families find different labels of components.",
			"mixture", s.Mixture, hbm.PAVIF, hbm.PAVIE, hbm.ADAVI),
		other("tableB3", "Hierarchical variances", "All constants are printed, but not the data sets: the paper's ELBOs vary by 80 between data sets. Our evidence is computed by integrals.",
			"variances", s.Variances, hbm.PAVIF, hbm.PAVIE),
		other("tableB4", "Neuroimaging model of small dimension", "Labels, which the paper relaxes, are summed out here, and all vertices and sessions are used in each step. The paper's ELBO of −82,000 for 1,440 numbers is not in the units of ours.",
			"brain", brain, hbm.PAVIF),
		parcellationFigure(),
	}
}

// publishedELBO returns the ELBO that a paper prints for the family of a cell, or "".
func publishedELBO(elbos map[string]float64, f plateFit) string {
	if elbo, ok := elbos[f.family.String()]; ok {
		return text(elbo, 1)
	}
	return ""
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
	expressivity := plateStudy{
		paper: "adavi", name: "table1", title: "Non-conjugate model and Gaussian mixture", sets: s.DataSets, claims: aboveMeanField, levels: true,
		note: "Medians over data sets. The first rows are of the non-conjugate model, which has no groups; its evidence is computed by integrals. The paper's mean field has the parametric form of the prior, ours is normal on the logarithmic scale.",
		published: func(f plateFit) string {
			if f.model == "non-conjugate" {
				return publishedELBO(s.NonConjugate, f)
			}
			return publishedELBO(s.Mixture, f)
		},
	}
	for _, model := range []string{"non-conjugate", "mixture of three"} {
		f := plateFit{model: model, dim: s.Dim, steps: s.OurSteps}
		if model != "non-conjugate" {
			f.groups = s.Groups[0]
		}
		f.family, f.amortize = hbm.ADAVI, s.OurSetsOfStep
		expressivity.cells = append(expressivity.cells, f)
		f.family = hbm.PAVIE
		for _, f.attention = range []bool{true, false} {
			expressivity.cells = append(expressivity.cells, f)
		}
		f.amortize = 0
		for _, f.family = range []hbm.Family{hbm.PAVIF, hbm.MeanField} {
			expressivity.cells = append(expressivity.cells, f)
			quick := f
			if quick.steps, quick.set = s.QuickSteps, 1; model != "non-conjugate" {
				expressivity.quick = append(expressivity.quick, quick)
			}
		}
	}
	return []*Study{
		amortized.study(),
		expressivity.study(),
		{Paper: "adavi", Name: "fig4", Title: "Parcellation of the cortex", Missing: "needs the HCP data set, which is not free to pass on"},
	}
}

// branchStudies returns figure 7 and table 2.
func branchStudies() []*Study {
	s := settingsOf[branchSettings]("branch")
	synthetic := plateStudy{
		paper: "branch", name: "fig7", title: "Regressions of groups whose evidence is known (figure 7)", sets: 1, claims: gapClaims(1),
		note: "The nine families of table 1 of the paper. It plots traces of the ELBO: with 10 groups dense ones are at the evidence, block ones slightly and diagonal ones far below, and the amortized ones are best with 1,000 and 100,000. " +
			"A joint distribution of 1,000 groups or more is too large for vti. Encoders of amortized branches have 128 units, as the features of the paper. `--steps` says after how many steps; the paper trains for 100,000 to 200,000.",
		published: func(plateFit) string { return "plotted" },
		quick:     []plateFit{{model: "regressions", groups: s.Groups[0], dim: s.Dim, family: hbm.Branch, steps: s.QuickSteps, set: 1}},
	}
	for i, groups := range s.Groups {
		for covariance := range hbm.Covariance(len(covariances)) {
			for _, family := range []hbm.Family{hbm.Joint, hbm.Branch, hbm.AmortizedBranch} {
				f := plateFit{model: "regressions", groups: groups, dim: s.Dim, batch: s.OurBatch[i], family: family, covariance: covariance, steps: s.OurSteps}
				if family == hbm.AmortizedBranch {
					f.units = s.OurUnits
				}
				if family != hbm.Joint || groups*s.Dim <= hbm.MaxJoint {
					synthetic.cells = append(synthetic.cells, f)
				}
			}
		}
	}
	return []*Study{
		synthetic.study(),
		ratingTable(),
	}
}
