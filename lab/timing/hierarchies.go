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

// Hierarchy is a hierarchical regression of a table, with a reference under the same priors.
type Hierarchy struct {
	// Name names the table, File is its name in the folders of data.
	Name, File string
	// Flags follow the table.
	Flags []string
	// LME4 and Stan are seconds of processor time on the same table: of lme4, and of Stan with four
	// chains of a thousand draws without compilation, on machines of two cores; 0 if unknown.
	LME4, Stan float64
	// Flat reports that the reference has estimates and standard errors of lme4, whose priors are
	// flat: it has no evidence, and only large tables agree with it.
	Flat bool
	// LogEvidence is the log evidence of the reference, with its standard error; NaN for none.
	LogEvidence, LogEvidenceSE float64
	// Moments are means and standard deviations of quantities by name.
	Moments map[string][2]float64
}

// referencesCSV has for each table the log evidence with its standard error, and the posterior mean
// and standard deviation of each quantity. They were computed in R, by importance sampling from t
// distributions around the mode, with dense covariances of all rows. References of tables with
// seconds of Stan come from benchmarks/hbm_stan.R, which has no evidence; Flat ones from lme4
// 1.1-31. None shares code with vti.
//
//go:embed references.csv
var referencesCSV []byte

// evidenceRow is the name of the row of a log evidence.
const evidenceRow = "log evidence"

// Hierarchies lists the tables, and reads their references.
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

// regressionAnswer has the compared parts of the answer of vti hbm.
type regressionAnswer struct {
	Certificate struct {
		Verdict verdict.Verdict `json:"verdict"`
	} `json:"certificate"`
	LogEvidence *float64         `json:"log_evidence"`
	Effects     []answeredMoment `json:"effects"`
	SDs         []answeredMoment `json:"sds"`
}

// answeredMoment is a mean with its standard deviation, null where draws do not resolve it.
type answeredMoment struct {
	Name string   `json:"name"`
	Mean *float64 `json:"mean"`
	SD   *float64 `json:"sd"`
}

// HierarchyRow has the errors and the times of the answers for a table.
type HierarchyRow struct {
	Name string `json:"name"`
	// Verdict is the worst verdict of all seeds.
	Verdict verdict.Verdict `json:"verdict"`
	Seeds   int             `json:"seeds"`
	// LargestShift is the largest difference of a posterior mean from the reference, in standard
	// deviations of the reference. SDRatio is the range of standard deviations over the
	// reference's. Compared counts quantities, and Unresolved missing moments.
	LargestShift *float64    `json:"largest_shift"`
	SDRatio      *[2]float64 `json:"sd_ratio"`
	Compared     int         `json:"compared"`
	Unresolved   int         `json:"unresolved"`
	// EvidenceError is the largest error of a log evidence; the reference's error is EvidenceSE.
	EvidenceError *float64 `json:"evidence_error"`
	EvidenceSE    float64  `json:"evidence_se"`
	// Seconds is the median of wall-clock times. LME4 and Stan are their stored processor seconds.
	Seconds float64 `json:"seconds"`
	LME4    float64 `json:"lme4_seconds,omitempty"`
	Stan    float64 `json:"stan_seconds,omitempty"`
	// Flat reports that the reference is lme4, without priors.
	Flat bool `json:"flat_reference,omitempty"`
	// Skipped is the reason why nothing was measured.
	Skipped string `json:"skipped,omitempty"`
}

// RunHierarchy answers a table with every seed.
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

// compare adds an answer to a row.
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

// larger is the larger of a value and the previous one, if any.
func larger(before *float64, value float64) *float64 {
	if before != nil && *before > value {
		return before
	}
	return &value
}
