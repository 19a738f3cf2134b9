package timing

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"

	"github.com/transdim/vti/internal/verdict"
)

// Hierarchy is a hierarchical regression of a table, with a reference answer under the same priors.
type Hierarchy struct {
	// Name is the name of the table, and File the name of its file in the folders of data.
	Name, File string
	// Flags are the flags of the command, which follow the file.
	Flags []string
	// LME4 and Stan are the seconds of processor time that lme4 and Stan take for the same table on
	// machines with two cores, or 0 if unknown. Stan runs four chains of a thousand draws; the time
	// of compilation is not included.
	LME4, Stan float64
	// Flat reports whether the reference consists of estimates and standard errors of lme4, whose
	// priors are flat. Such a reference has no evidence, and agrees with answers only for large
	// tables.
	Flat bool
	// LogEvidence is the log evidence of the reference, or NaN if the reference has none.
	// LogEvidenceSE is its standard error.
	LogEvidence, LogEvidenceSE float64
	// Moments holds the posterior mean and standard deviation of each quantity, by name.
	Moments map[string][2]float64
}

// referencesCSV holds, for each table, the log evidence with its standard error, and the posterior
// mean and standard deviation of each quantity. They were computed in R, by importance sampling
// from t distributions around the mode, with dense covariances of all rows. References of tables
// for which Stan's time is given come instead from benchmarks/hbm_stan.R, and have no evidence.
// References with Flat come from lme4 1.1-31. None of these programs shares code with vti.
//
//go:embed references.csv
var referencesCSV []byte

// evidenceRow is the name of a log evidence in the column of quantities.
const evidenceRow = "log evidence"

// Hierarchies returns the tables with their references.
func Hierarchies() ([]Hierarchy, error) {
	formula := func(name, file, formula string, lme4 float64) Hierarchy {
		return Hierarchy{Name: name, File: file, Flags: []string{"--formula", formula}, LME4: lme4, LogEvidence: math.NaN(), Moments: map[string][2]float64{}}
	}
	list := []Hierarchy{
		formula("penicillin", "penicillin.csv", "diameter ~ 1 + (1 | plate) + (1 | sample)", 0.089),
		formula("oats", "oats.csv", "yield ~ nitro + Variety + (1 | Block/Variety)", 0.04),
		formula("alfalfa", "alfalfa.csv", "Yield ~ Date + Variety + (1 | Block/Variety)", 0.03),
		formula("pastes", "pastes.csv", "strength ~ 1 + (1 | batch/cask)", 0.034),
		formula("machines", "machines.csv", "score ~ Machine + (1 | Worker) + (1 | Worker:Machine)", 0.04),
	}
	other := func(name, text string, lme4, stan float64, flags ...string) {
		h := formula(name, name+".csv", text, lme4)
		h.Flags, h.Stan, h.Flat = append(h.Flags, flags...), stan, stan == 0
		list = append(list, h)
	}
	other("sleepstudy", "Reaction ~ Days + (Days | Subject)", 0.014, 5)
	other("rats", "weight ~ day + (day | rat)", 0.016, 7.1)
	other("radon", "log_radon ~ floor + (1 | county)", 0.016, 7.1)
	other("epil", "y ~ lbase*trt + lage + V4 + (1 | subject)", 0.11, 7.6, "--likelihood", "poisson")
	other("cbpp", "sick ~ period + (1 | herd)", 0.29, 4.8, "--likelihood", "logistic")
	other("grouseticks", "TICKS ~ YEAR + cHEIGHT + (1 | BROOD) + (1 | INDEX) + (1 | LOCATION)", 1.5, 74.1, "--likelihood", "poisson")
	other("verbagg", "r2 ~ Anger + gender + btype + situ + (1 | id) + (1 | item)", 4.3, 135.7, "--likelihood", "logistic")
	other("insteval", "y ~ 1 + (1 | s) + (1 | d)", 8, 0)
	rows, err := csv.NewReader(bytes.NewReader(referencesCSV)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("timing: references: %w", err)
	}
	for _, row := range rows[1:] {
		mean, err := strconv.ParseFloat(row[2], 64)
		if err != nil {
			return nil, fmt.Errorf("timing: references: %w", err)
		}
		sd, err := strconv.ParseFloat(row[3], 64)
		if err != nil {
			return nil, fmt.Errorf("timing: references: %w", err)
		}
		for i := range list {
			switch {
			case list[i].Name != row[0]:
			case row[1] == evidenceRow:
				list[i].LogEvidence, list[i].LogEvidenceSE = mean, sd
			default:
				list[i].Moments[row[1]] = [2]float64{mean, sd}
			}
		}
	}
	return list, nil
}

// regressionAnswer holds the parts of the answer of vti hbm that are compared.
type regressionAnswer struct {
	Certificate struct {
		Verdict verdict.Verdict `json:"verdict"`
	} `json:"certificate"`
	LogEvidence *float64         `json:"log_evidence"`
	Effects     []answeredMoment `json:"effects"`
	SDs         []answeredMoment `json:"sds"`
}

// answeredMoment is the mean and the standard deviation of a quantity. Each is null if there are
// too few draws to estimate it.
type answeredMoment struct {
	Name string   `json:"name"`
	Mean *float64 `json:"mean"`
	SD   *float64 `json:"sd"`
}

// HierarchyRow holds the errors and the times of the answers for one table.
type HierarchyRow struct {
	// Name is the name of the table.
	Name string `json:"name"`
	// Verdict is the worst verdict over all seeds, and Seeds their number.
	Verdict verdict.Verdict `json:"verdict"`
	Seeds   int             `json:"seeds"`
	// LargestShift is the largest difference of a posterior mean from the reference, in standard
	// deviations of the reference. SDRatio holds the smallest and the largest ratio of a standard
	// deviation to the reference. Compared is the number of quantities that are compared, and
	// Unresolved the number of moments that are null in answers, because there are too few draws.
	LargestShift *float64    `json:"largest_shift"`
	SDRatio      *[2]float64 `json:"sd_ratio"`
	Compared     int         `json:"compared"`
	Unresolved   int         `json:"unresolved"`
	// EvidenceError is the largest error of a log evidence, and EvidenceSE the standard error of
	// the reference.
	EvidenceError *float64 `json:"evidence_error"`
	EvidenceSE    float64  `json:"evidence_se"`
	// Seconds is the median of the wall-clock times. LME4 and Stan are copies of the fields of
	// Hierarchy.
	Seconds float64 `json:"seconds"`
	LME4    float64 `json:"lme4_seconds,omitempty"`
	Stan    float64 `json:"stan_seconds,omitempty"`
	// Flat reports whether the reference is lme4, which has no priors.
	Flat bool `json:"flat_reference,omitempty"`
	// Skipped is the reason why nothing was measured.
	Skipped string `json:"skipped,omitempty"`
}

// RunHierarchy runs vti hbm on a table with every seed, and compares answers with the reference.
func (m Measurement) RunHierarchy(ctx context.Context, h Hierarchy) (HierarchyRow, error) {
	row := HierarchyRow{Name: h.Name, Verdict: verdict.Trusted, Seeds: m.Repetitions, LME4: h.LME4, Stan: h.Stan, EvidenceSE: h.LogEvidenceSE, Flat: h.Flat}
	path, ok, err := (Case{Name: h.Name, File: h.File}).Table(m.Folders, m.Scratch)
	if err != nil || !ok {
		row.Skipped = h.File + " is in no folder of data"
		return row, err
	}
	var times []float64
	for k := range m.Repetitions {
		answer := &regressionAnswer{}
		args := append(append([]string{"hbm", path}, h.Flags...), "--no-report", "--seed", strconv.FormatUint(m.Seed+uint64(k), 10))
		spent, err := m.run(ctx, args, answer)
		if err != nil && ctx.Err() == nil {
			row.Skipped = err.Error()
			return row, nil
		}
		if err != nil {
			return row, err
		}
		times = append(times, spent.wall)
		row.Verdict = min(row.Verdict, answer.Certificate.Verdict)
		h.compare(answer, &row)
	}
	row.Seconds = median(times)
	return row, nil
}

// compare updates a row with an answer.
func (h Hierarchy) compare(a *regressionAnswer, row *HierarchyRow) {
	if a.LogEvidence != nil && !math.IsNaN(h.LogEvidence) {
		row.EvidenceError = larger(row.EvidenceError, math.Abs(*a.LogEvidence-h.LogEvidence))
	}
	row.Compared = 0
	for _, list := range [][]answeredMoment{a.Effects, a.SDs} {
		for _, got := range list {
			want, known := h.Moments[got.Name]
			if !known {
				continue
			}
			row.Compared++
			if got.Mean == nil {
				row.Unresolved++
			} else {
				row.LargestShift = larger(row.LargestShift, math.Abs(*got.Mean-want[0])/want[1])
			}
			if got.SD == nil {
				row.Unresolved++
				continue
			}
			ratio := *got.SD / want[1]
			if row.SDRatio == nil {
				row.SDRatio = &[2]float64{ratio, ratio}
			}
			row.SDRatio[0], row.SDRatio[1] = min(row.SDRatio[0], ratio), max(row.SDRatio[1], ratio)
		}
	}
}

// larger returns the larger of value and *before, or value if before is nil.
func larger(before *float64, value float64) *float64 {
	if before != nil && *before > value {
		return before
	}
	return &value
}
