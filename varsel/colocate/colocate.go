package colocate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti"
	"github.com/transdim/vti/compare"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/varsel"
)

// Result is the posterior over the predictors that two selections, A and B, share.
type Result struct {
	Schema  string      `json:"schema"`
	Command string      `json:"command"`
	Version string      `json:"version"`
	A       compare.Run `json:"a"`
	B       compare.Run `json:"b"`
	// Predictors is the number of predictors that both runs select from, matched by their names.
	// OnlyA and OnlyB count the predictors of only one run, which are left out.
	Predictors int `json:"predictors"`
	OnlyA      int `json:"only_a"`
	OnlyB      int `json:"only_b"`
	// Hypotheses are five: neither response has predictors, only A's has, only B's has, both have
	// predictors but share none, and both share one or more.
	Hypotheses []Hypothesis `json:"hypotheses"`
	// Shared lists the predictors that may be shared, the most probable one first.
	Shared []Predictor `json:"shared"`
	// Prior is the prior probability that two responses with one predictor each have the same
	// predictor. Sensitivity holds the probability of a shared predictor for other values of Prior.
	Prior       report.Number `json:"prior"`
	Sensitivity []Sensitivity `json:"sensitivity"`
	Notes       []string      `json:"notes,omitempty"`
}

// Hypothesis is a hypothesis with its probability and the standard error of the probability.
type Hypothesis struct {
	Name        string        `json:"name"`
	Probability report.Number `json:"probability"`
	SE          report.Number `json:"se"`
}

// Predictor is a predictor with the probability that it is in both models, and its inclusion
// probabilities in the two runs.
type Predictor struct {
	Name   string        `json:"name"`
	Shared report.Number `json:"shared"`
	A      report.Number `json:"a"`
	B      report.Number `json:"b"`
}

// Sensitivity is the probability that a predictor is shared, given another prior probability.
type Sensitivity struct {
	Prior  report.Number `json:"prior"`
	Shared report.Number `json:"shared"`
	SE     report.Number `json:"se"`
}

// DefaultPrior is the default prior probability that two responses with one predictor each have the
// same predictor.
const DefaultPrior = 0.5

// leastShared is the smallest probability with which a predictor is listed in Result.Shared.
const leastShared = 1e-4

// Of returns the posterior over the predictors that two finished runs share. In the joint prior of
// the models of A and B, their sizes have the priors of the runs, and the predictors of A are more
// likely in B. The argument prior is the probability that two models of one predictor are the same;
// 0 stands for DefaultPrior. Rows of the two runs are treated as independent.
func Of(a, b *varsel.StoredRun, prior float64) (*Result, error) {
	prior = cmp.Or(prior, DefaultPrior)
	if !(prior > 0 && prior < 1) {
		return nil, fmt.Errorf("prior probability that a predictor is shared: got %g, want a number between 0 and 1", prior)
	}
	r := &Result{Schema: "vti/coloc/1", Command: "coloc", Version: vti.Version, A: a.Summary(), B: b.Summary(), Prior: report.Number(prior)}
	names, err := r.common(a, b)
	if err != nil {
		return nil, err
	}
	for _, of := range []*varsel.StoredRun{a, b} {
		if of.Record.Model.Prior.Kind == varsel.InclusionPrior {
			return nil, fmt.Errorf("%s: predictors have prior inclusion probabilities of their own; the joint prior of two responses needs priors that depend on the size of a model alone", of.Dir)
		}
	}
	var models [2][]weightedModel
	var inflation [2]float64
	for side, of := range []*varsel.StoredRun{a, b} {
		if models[side], inflation[side], err = modelsOf(of, names); err != nil {
			return nil, err
		}
	}
	p := newPairs(models[0], models[1], len(names))
	probability, se := p.estimate(oddsOf(prior, len(names)), inflation)
	for h, name := range []string{"neither response has a predictor", "only A has", "only B has", "both have, and share none", "both share one or more"} {
		r.Hypotheses = append(r.Hypotheses, Hypothesis{name, report.Number(probability[h]), report.Number(se[h])})
	}
	for _, other := range []float64{0.01, 0.1, 0.5, 0.9, 0.99} {
		probability, se := p.estimate(oddsOf(other, len(names)), inflation)
		r.Sensitivity = append(r.Sensitivity, Sensitivity{report.Number(other), report.Number(probability[shared]), report.Number(se[shared])})
	}
	placesA, placesB := rank.Places(a.Result.Data.Predictors), rank.Places(b.Result.Data.Predictors)
	for j, share := range p.sharing(models[0], models[1], oddsOf(prior, len(names))) {
		if name := names[j]; share >= leastShared {
			r.Shared = append(r.Shared, Predictor{name, report.Number(share), a.Result.Inclusion[placesA[name]].Certified, b.Result.Inclusion[placesB[name]].Certified})
		}
	}
	slices.SortStableFunc(r.Shared, func(x, y Predictor) int { return cmp.Compare(y.Shared, x.Shared) })
	for _, of := range []compare.Run{r.A, r.B} {
		if of.Verdict != nil && *of.Verdict != vti.Trusted {
			r.Notes = append(r.Notes, fmt.Sprintf("%s is %s: so is what is said here", of.RunDir, of.Verdict))
		}
	}
	if r.OnlyA+r.OnlyB > 0 {
		r.Notes = append(r.Notes, "all of this is about the predictors in both runs; others, such as copies that one run left out, cannot be shared")
	}
	if run.SameTable(a.Dir, &a.Record.Header, b.Dir, &b.Record.Header) == nil {
		r.Notes = append(r.Notes, "both runs use the same table: rows of the runs are taken to be independent, so that noise in both responses counts as evidence for a shared predictor")
	}
	return r, nil
}

// common returns the names of the predictors of both runs, and counts the predictors of only one
// run.
func (r *Result) common(a, b *varsel.StoredRun) (names []string, err error) {
	x, y := a.Result.Data.Predictors, b.Result.Data.Predictors
	places := rank.Places(y)
	for _, name := range x {
		if _, known := places[name]; known {
			names = append(names, name)
		}
	}
	r.Predictors, r.OnlyA, r.OnlyB = len(names), len(x)-len(names), len(y)-len(names)
	if len(names) < 2 {
		return nil, fmt.Errorf("predictors are matched by their names, and %d of %d in %s (%q, …) are in %s (%q, …); want 2 or more", len(names), len(x), a.Dir, x[0], b.Dir, y[0])
	}
	return names, nil
}

// usedDraws bounds the number of draws of a run that are used. With this number the standard error
// of a probability is below 0.01.
const usedDraws = 4000

// modelsOf returns the models of a run, without predictors that are not in names. It also returns
// the factor by which variances exceed the variances of independent draws.
func modelsOf(r *varsel.StoredRun, names []string) (list []weightedModel, inflation float64, err error) {
	drawn, independent, err := r.DrawnModels()
	if err != nil {
		return nil, 0, err
	}
	numbers, places := rank.Places(names), map[string]int{}
	used := min(len(drawn), usedDraws)
	for i := range used {
		var members []int
		for _, j := range drawn[i*len(drawn)/used] {
			if number, known := numbers[r.Result.Data.Predictors[j]]; known {
				members = append(members, number)
			}
		}
		slices.Sort(members)
		key := fmt.Sprint(members)
		at, known := places[key]
		if !known {
			at = len(list)
			places[key], list = at, append(list, weightedModel{members: members})
		}
		list[at].draws[i*blocks/used]++
	}
	if c := r.Result.Certificate; c != nil && independent { // draws of a certificate were resampled by their weights
		return list, math.Max(1, float64(used)/float64(c.ESS)), nil
	}
	return list, 1, nil
}
