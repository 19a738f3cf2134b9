package varsel

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/run"
)

// Number is a float64 that JSON shows as null when it is not finite.
type Number = report.Number

// Result is the answer of a command in terms of the user's table: the object that --json prints.
// Fields that do not apply to a command are left out of its JSON.
type Result struct {
	// Schema names the schema of the object, with its version; docs/schema has the file.
	Schema  string      `json:"schema"`
	Command string      `json:"command"`
	Version string      `json:"version"`
	Seed    *uint64     `json:"seed,omitempty"`
	Backend string      `json:"backend,omitempty"`
	Data    DataSummary `json:"data"`
	Seconds Seconds     `json:"seconds"`
	Steps   int         `json:"steps,omitempty"`
	run.Work
	// estimate of −ELBO in nats: the mean over the last report
	Loss        *Number            `json:"loss,omitempty"`
	Certificate *CertificateReport `json:"certificate,omitempty"`
	Diagnostics *ChainReport       `json:"diagnostics,omitempty"`
	// ModelCheck is the comparison of the model with the table.
	ModelCheck *modelcheck.Report `json:"model_check,omitempty"`
	// Summary is set where statistics of predictors stand for rows.
	Summary *SummaryReport `json:"summary_statistics,omitempty"`
	// of all models together, in nats
	LogEvidence *Number     `json:"log_evidence,omitempty"`
	LogEvidSE   *Number     `json:"log_evidence_se,omitempty"`
	Inclusion   []Inclusion `json:"inclusion"`
	// CredibleSets are disjoint, and found among more than a few predictors.
	CredibleSets []CredibleSet `json:"credible_sets,omitempty"`
	Models       []ModelReport `json:"models"`
	Coefficients []Coefficient `json:"coefficients"`
	// SizePrior are the prior probabilities of 0, 1, 2, … predictors; absent under heredity.
	SizePrior []Number `json:"size_prior,omitempty"`
	RunDir    string   `json:"run_dir,omitempty"`
}

// DataSummary describes the data of a run.
type DataSummary struct {
	Rows int `json:"rows"`
	// Predictors are the selectable predictors, in the order of a model's code.
	Predictors []string `json:"predictors"`
}

// Seconds are wall-clock times.
type Seconds = run.Seconds

// CertificateReport is the verdict of importance weighting.
type CertificateReport struct {
	Verdict vti.Verdict `json:"verdict"`
	Basis   vti.Basis   `json:"basis"` // source of the numbers
	// weights and tempered chains, which are independent, agree within their errors
	Confirmed     bool    `json:"confirmed"`
	KHat          *Number `json:"khat"`           // of weights; null if there are none
	RHat          *Number `json:"rhat,omitempty"` // of the chains, if they gave the answer
	ESS           Number  `json:"ess"`
	Draws         int     `json:"draws"`
	ModelsChecked int     `json:"models_checked"`
	// every model was checked; otherwise only models that q(m) proposed: others can be missing
	Complete bool     `json:"complete"`
	Reasons  []string `json:"reasons,omitempty"`
}

// ChainReport has the mixing of the chains of a sampler: the worst value over all inclusion
// indicators and the log density.
type ChainReport struct {
	Verdict vti.Verdict `json:"verdict"`
	Chains  int         `json:"chains"`
	// Exchanges are the shares of exchanges accepted between neighbouring temperatures. RoundTrips
	// counts states that went all the way and back.
	Exchanges  []Number `json:"exchanges,omitempty"`
	RoundTrips int      `json:"round_trips,omitempty"`
	Draws      int      `json:"draws"` // kept, of each chain
	RHat       Number   `json:"rhat"`
	ESS        Number   `json:"ess"`
	// Reasons are the reasons against a trusted verdict.
	Reasons []string `json:"reasons,omitempty"`
}

// Inclusion is the posterior probability that a predictor is in the model.
type Inclusion struct {
	Name string `json:"name"`
	// Q is the probability under q(m). Certified is the probability after importance weighting (or
	// by enumeration or sampling), SE its standard error.
	Q         *Number `json:"q,omitempty"`
	Certified Number  `json:"certified"`
	SE        Number  `json:"se"`
	// RHat and ESS are the diagnostics of the indicator's chains.
	RHat *Number `json:"rhat,omitempty"`
	ESS  *Number `json:"ess,omitempty"`
}

// ModelReport is one model.
type ModelReport struct {
	// one bit per selectable predictor; with more than 64 of them the numbers of its predictors,
	// from 1, separated by commas
	Code      string  `json:"code"`
	Size      int     `json:"size"` // number of predictors in it
	Q         *Number `json:"q,omitempty"`
	Certified Number  `json:"certified"`
	SE        Number  `json:"se"`
	// null where draws do not resolve it, as for models that are rarely drawn
	LogEvidence   *Number `json:"log_evidence"`
	LogEvidenceSE *Number `json:"log_evidence_se"`
	KHat          *Number `json:"khat,omitempty"`
}

// Coefficient is the posterior of one coefficient on the original scale: averaged over models (zero
// where it is out) and given that it is in. Means and sds are null where draws do not resolve them,
// as for a quantity whose tail is too heavy. Their Monte Carlo standard errors are 0 for an exact
// answer, and null for draws of chains.
type Coefficient struct {
	// Predictor is the predictor of the coefficient; absent for a coefficient in every model.
	Predictor     string `json:"predictor,omitempty"`
	Name          string `json:"name"`
	Mean          Number `json:"mean"`
	SD            Number `json:"sd"`
	Q025          Number `json:"q025"`
	Q975          Number `json:"q975"`
	MeanGivenIn   Number `json:"mean_given_in"`
	MeanGivenInSE Number `json:"mean_given_in_se"`
	SDGivenIn     Number `json:"sd_given_in"`
	SDGivenInSE   Number `json:"sd_given_in_se"`
	Q025GivenIn   Number `json:"q025_given_in"`
	Q975GivenIn   Number `json:"q975_given_in"`
	// Prior is the prior of the coefficient given that it is in.
	Prior *CoefficientPrior `json:"prior,omitempty"`
}

// Limits of the list of models: all up to maxListedModels, else the best topModels. Not tuned.
const (
	maxListedModels = 4096
	topModels       = 100
)

// Took returns the times of the run.
func (r *Result) Took() Seconds { return r.Seconds }

// ExitStatus is the status of the process: 3 when the answer must not be used, else 0.
func (r *Result) ExitStatus() int {
	switch {
	case r.Certificate != nil:
		return r.Certificate.Verdict.ExitStatus()
	case r.Diagnostics != nil:
		return r.Diagnostics.Verdict.ExitStatus()
	}
	return 0 // exact
}

// known is a number, but nil for NaN.
func known(x float64) *Number {
	if math.IsNaN(x) {
		return nil
	}
	return new(Number(x))
}

// mostBits is the largest number of predictors for which the text of a model has a bit for each.
const mostBits = 64

const emptyModel = "none"

// modelText is the text of a model with the given members, ascending: one bit for each predictor in
// table order, "0110", or with more than 64 of them the numbers of the members from 1, "3,17,250".
// emptyModel stands for no member.
func modelText(members []int, predictors int) string {
	switch {
	case predictors > mostBits && len(members) == 0:
		return emptyModel
	case predictors > mostBits:
		numbers := make([]string, len(members))
		for i, predictor := range members {
			numbers[i] = strconv.Itoa(predictor + 1)
		}
		return strings.Join(numbers, ",")
	}
	text := []byte(strings.Repeat("0", predictors))
	for _, predictor := range members {
		text[predictor] = '1'
	}
	return string(text)
}

// ModelMembers reads the code of a [ModelReport] among the given number of predictors. It lists the
// predictors of the model, from 0.
func ModelMembers(code string, predictors int) (members []int, err error) {
	if predictors <= mostBits {
		if len(code) != predictors || strings.Trim(code, "01") != "" {
			return nil, fmt.Errorf("code of a model: got %q, want one bit for each of %s", code, english.Count(predictors, "predictor"))
		}
		for predictor, bit := range code {
			if bit == '1' {
				members = append(members, predictor)
			}
		}
		return members, nil
	}
	if code == emptyModel {
		return nil, nil
	}
	for text := range strings.SplitSeq(code, ",") {
		number, err := strconv.Atoi(text)
		if err != nil || number < 1 || number > predictors || len(members) > 0 && number-1 <= members[len(members)-1] {
			return nil, fmt.Errorf("code of a model: got %q, want ascending numbers from 1 to %d", code, predictors)
		}
		members = append(members, number-1)
	}
	return members, nil
}
