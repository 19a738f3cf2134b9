// Package cold measures samplers of models from the start of Davies et al. (2025): the identity as
// flow and the prior over models, without approximations, pilot runs or chains.
//
//	cold.go  fits of robust regressions, against evidences known from elsewhere
package cold

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel"
)

// Samplers of models: a surrogate with either belief, a table and a network.
var Samplers = []string{"diagonal", "process", "categorical", "autoregressive"}

// Fit is one fit of a table of the paper's robust design.
type Fit struct {
	// Table is a CSV file with the columns x0 (ones, in every model), x1, x2, … and y. The file of
	// the same name with _logz before .csv has the log evidences of its models: their bits, x1
	// first, then the value.
	Table string
	// Sampler is one of Samplers.
	Sampler string
	Flow    cosmic.Config
	Steps   int
	Batch   int
	Seed    uint64
	// AtOnce lets q(m) learn from the first step.
	AtOnce bool
}

// Outcome is what became of a fit.
type Outcome struct {
	// Variation is the total variation of q(m) from the probabilities by the evidences.
	Variation float64
	// Seconds is the time of training.
	Seconds float64
}

// Run fits.
func (f Fit) Run(ctx context.Context, device *gpu.Device) (Outcome, error) {
	problem, err := f.problem()
	if err != nil {
		return Outcome{}, err
	}
	exact, err := readProbabilities(strings.TrimSuffix(f.Table, ".csv") + "_logz.csv")
	if err != nil {
		return Outcome{}, err
	}
	sampler, options := varsel.SurrogateSampler, varsel.SurrogateOptions{}
	switch f.Sampler {
	case "diagonal":
		options.Belief = modeldist.DiagonalBelief
	case "process":
		options.Belief = modeldist.ProcessBelief
	default:
		if err := sampler.UnmarshalText([]byte(f.Sampler)); err != nil {
			return Outcome{}, err
		}
	}
	record := varsel.Record{
		Flow: f.Flow, Sampler: sampler, Surrogate: options, Learning: varsel.Learning{Start: vti.IdentityStart}, Steps: f.Steps, Batch: f.Batch, Seed: f.Seed,
	}
	config, err := record.FitConfig(problem)
	if err != nil {
		return Outcome{}, err
	}
	config.LearnAtOnce = f.AtOnce
	started := time.Now()
	posterior, err := vti.Fit(ctx, device, problem.Posterior(), config)
	if err != nil {
		return Outcome{}, err
	}
	outcome := Outcome{Seconds: time.Since(started).Seconds()}
	outcome.Variation, err = variation(ctx, posterior, exact)
	return outcome, err
}

// problem is the paper's posterior.
func (f Fit) problem() (*varsel.Problem, error) {
	data, err := table.ReadFile(f.Table)
	if err != nil {
		return nil, err
	}
	design, err := varsel.NewDesign(data, varsel.DesignOptions{Target: "y", NoStandardize: true, NoIntercept: true, Always: []string{"x0"}, Likelihood: likelihood.RobustKind})
	if err != nil {
		return nil, err
	}
	return varsel.NewProblem(design, varsel.ModelOptions{Prior: varsel.Prior{Kind: varsel.UniformPrior}, Likelihood: likelihood.RobustKind})
}

// variation is the total variation of q(m), of which a certificate lists all values.
func variation(ctx context.Context, posterior *vti.Posterior, exact map[string]float64) (float64, error) {
	certificate, err := posterior.Certify(ctx, vti.CertifyConfig{Draws: 1})
	if err != nil {
		return 0, err
	}
	if len(certificate.Models) != len(exact) {
		return 0, fmt.Errorf("got evidences of %d models, want %d", len(exact), len(certificate.Models))
	}
	sum := 0.0
	for _, model := range certificate.Models {
		code := make([]byte, len(model.Code))
		for i, bit := range model.Code {
			code[i] = '0' + byte(bit)
		}
		probability, ok := exact[string(code)]
		if !ok {
			return 0, fmt.Errorf("got no evidence of the model %s", code)
		}
		sum += math.Abs(model.Q-probability) / 2
	}
	return sum, nil
}

// readProbabilities are those of models under a uniform prior.
func readProbabilities(path string) (map[string]float64, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) < 2 || len(rows[0]) < 2 {
		return nil, fmt.Errorf("%s: want a header, then models and log evidences: %w", path, err)
	}
	logs := make([]float64, len(rows)-1)
	for i, row := range rows[1:] {
		if logs[i], err = strconv.ParseFloat(row[1], 64); err != nil {
			return nil, fmt.Errorf("%s: model %s: %w", path, row[0], err)
		}
	}
	best, total := slices.Max(logs), 0.0
	for i := range logs {
		logs[i] = math.Exp(logs[i] - best)
		total += logs[i]
	}
	probabilities := map[string]float64{}
	for i, row := range rows[1:] {
		probabilities[row[0]] = logs[i] / total
	}
	return probabilities, nil
}
