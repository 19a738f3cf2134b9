package varsel

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/run"
)

// Number is a float64 that JSON shows as null when it is not finite.
type Number = report.Number

// Result is the answer of a command, on the scale of the user's table: the object that --json
// prints. Fields that do not apply to a command are left out of its JSON.
type Result struct {
	run.Origin
	// Data describes the data.
	Data DataSummary `json:"data"`
	// Steps is the number of training steps.
	Steps int `json:"steps,omitempty"`
	run.Work
	// Loss is an estimate of −ELBO in nats, the mean over the steps of the last report.
	Loss *Number `json:"loss,omitempty"`
	// Certificate is the verdict of certification, with diagnostics.
	Certificate *CertificateReport `json:"certificate,omitempty"`
	// Diagnostics is the verdict on reversible-jump chains, with diagnostics.
	Diagnostics *ChainReport `json:"diagnostics,omitempty"`
	// Summary is set if the data are summary statistics of predictors instead of rows.
	Summary *SummaryReport `json:"summary_statistics,omitempty"`
	// LogEvidence is the log evidence of all models together, in nats.
	LogEvidence *Number `json:"log_evidence,omitempty"`
	// LogEvidSE is the standard error of LogEvidence.
	LogEvidSE *Number `json:"log_evidence_se,omitempty"`
	// InclusionPrior is the file of the prior inclusion probabilities, if predictors have their
	// own.
	InclusionPrior string `json:"inclusion_prior,omitempty"`
	// Inclusion holds the inclusion probabilities of the predictors, in table order.
	Inclusion []Inclusion `json:"inclusion"`
	// CredibleSets holds disjoint sets of correlated predictors. It is empty if there are only a
	// few predictors.
	CredibleSets []CredibleSet `json:"credible_sets,omitempty"`
	// Models holds the most probable models.
	Models []ModelReport `json:"models"`
	// Coefficients holds the posteriors of the coefficients.
	Coefficients []Coefficient `json:"coefficients"`
	// SizePrior holds the prior probabilities of models with 0, 1, 2, … predictors. It is absent
	// under heredity.
	SizePrior []Number `json:"size_prior,omitempty"`
}

// DataSummary describes the data of a run.
type DataSummary struct {
	// Rows is the number of rows.
	Rows int `json:"rows"`
	// Predictors are the selectable predictors, in the order of a model's code.
	Predictors []string `json:"predictors"`
}

// CertificateReport is the verdict of certification, with diagnostics.
type CertificateReport struct {
	// Verdict is the verdict on the answer.
	Verdict vti.Verdict `json:"verdict"`
	Basis   vti.Basis   `json:"basis"` // source of the numbers
	// Confirmed is set if the weights and tempered chains, which are independent of each other,
	// agree within their errors.
	Confirmed bool    `json:"confirmed"`
	KHat      *Number `json:"khat"`           // Pareto shape of the weights; null without weights
	RHat      *Number `json:"rhat,omitempty"` // R-hat of the chains, if the answer comes from them
	// ESS is the effective sample size.
	ESS Number `json:"ess"`
	// Draws is the number of draws.
	Draws int `json:"draws"`
	// ModelsChecked is the number of models that were checked.
	ModelsChecked int `json:"models_checked"`
	// Complete is set if every model was checked. Otherwise only models that q(m) proposed were
	// checked, and others can be missing.
	Complete bool `json:"complete"`
	// Reasons are the reasons for a verdict other than trusted.
	Reasons []string `json:"reasons,omitempty"`
}

// ChainReport describes the mixing of the chains of a sampler.
type ChainReport struct {
	// Verdict is the verdict on the chains.
	Verdict vti.Verdict `json:"verdict"`
	// Chains is the number of chains.
	Chains int `json:"chains"`
	// Exchanges holds the shares of accepted exchanges between neighbouring temperatures.
	Exchanges []Number `json:"exchanges,omitempty"`
	// RoundTrips is the number of times that a state went through all temperatures and back.
	RoundTrips int `json:"round_trips,omitempty"`
	Draws      int `json:"draws"` // number of draws of each chain
	// RHat is the largest R-hat, and ESS the smallest effective sample size, of all inclusion
	// indicators and the log density.
	RHat Number `json:"rhat"`
	ESS  Number `json:"ess"`
	// Reasons are the reasons for a verdict other than trusted.
	Reasons []string `json:"reasons,omitempty"`
}

// Inclusion is the posterior probability that a predictor is in the model.
type Inclusion struct {
	// Name is the name of the predictor.
	Name string `json:"name"`
	// Prior is the prior probability, if predictors have their own prior probabilities.
	Prior *Number `json:"prior,omitempty"`
	// Q is the probability under q(m).
	Q *Number `json:"q,omitempty"`
	// Certified is the posterior probability, by certification, enumeration or sampling.
	Certified Number `json:"certified"`
	// SE is the standard error of Certified.
	SE Number `json:"se"`
	// RHat and ESS are diagnostics of the inclusion indicator in chains.
	RHat *Number `json:"rhat,omitempty"`
	ESS  *Number `json:"ess,omitempty"`
}

// ModelReport describes one model.
type ModelReport struct {
	// Code has one bit for each selectable predictor. With more than 64 predictors it lists the
	// numbers of the model's predictors instead, from 1 and separated by commas.
	Code string `json:"code"`
	Size int    `json:"size"` // number of predictors in the model
	// Q is the probability under q(m).
	Q *Number `json:"q,omitempty"`
	// Certified is the posterior probability, by certification, enumeration or sampling.
	Certified Number `json:"certified"`
	// SE is the standard error of Certified.
	SE Number `json:"se"`
	// LogEvidence is the log evidence of the model, in nats. It is null if draws do not resolve it,
	// for example if the model is rarely drawn.
	LogEvidence *Number `json:"log_evidence"`
	// LogEvidenceSE is the standard error of LogEvidence.
	LogEvidenceSE *Number `json:"log_evidence_se"`
	// KHat is the Pareto shape of the weights of the model's draws.
	KHat *Number `json:"khat,omitempty"`
}

// Coefficient is the posterior of one coefficient on the scale of the table. Mean, SD and the
// quantiles Q025 and Q975 are averaged over models; the coefficient is zero in models without it.
// The fields with GivenIn in their names describe the coefficient given that it is in the model.
// Means and sds are null if draws do not resolve them, for example if the tail is too heavy or if
// few draws or few chains hold the coefficient. The Monte Carlo standard errors MeanGivenInSE and
// SDGivenInSE are 0 for an exact answer, and null for a single chain.
type Coefficient struct {
	// Predictor is the predictor of the coefficient. It is absent for a coefficient that is in
	// every model.
	Predictor string `json:"predictor,omitempty"`
	// Name is the name of the coefficient.
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
	// Prior is the prior of the coefficient given that it is in the model.
	Prior *CoefficientPrior `json:"prior,omitempty"`
}

// Limits of the list of models in a result. All models are listed if there are at most
// maxListedModels, and the topModels most probable ones otherwise. A model takes about 200 bytes
// of a JSON file, so that the list takes at most a megabyte.
const (
	maxListedModels = 4096
	topModels       = 100
)

// ExitStatus returns the status of the process: 3 if the answer must not be used, and 0 otherwise.
func (r *Result) ExitStatus() int {
	switch {
	case r.Certificate != nil:
		return r.Certificate.Verdict.ExitStatus()
	case r.Diagnostics != nil:
		return r.Diagnostics.Verdict.ExitStatus()
	}
	return 0 // exact answers have no verdict
}

// known returns x, or nil if x is NaN.
func known(x float64) *Number {
	if math.IsNaN(x) {
		return nil
	}
	return new(Number(x))
}

// mostBits is the largest number of predictors with which the text of a model has a bit for each
// predictor.
const mostBits = 64

const emptyModel = "none"

// modelText returns the text of a model whose members are in ascending order. The text has one bit
// for each predictor in table order, such as "0110". With more than 64 predictors it lists the
// numbers of the members from 1 instead, such as "3,17,250", and emptyModel stands for a model
// without members.
func modelText(members []int, predictors int) string {
	switch {
	case predictors > mostBits && len(members) == 0:
		return emptyModel
	case predictors > mostBits:
		numbers := apply.To(members, func(predictor int) string { return strconv.Itoa(predictor + 1) })
		return strings.Join(numbers, ",")
	}
	text := []byte(strings.Repeat("0", predictors))
	for _, predictor := range members {
		text[predictor] = '1'
	}
	return string(text)
}

// ModelMembers reads the code of a [ModelReport], given the number of selectable predictors. It
// returns the predictors of the model in ascending order, numbered from 0.
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
