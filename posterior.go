package vti

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// Posterior is a trained q(m) q(θ | m) with its target. It is not safe for concurrent use.
type Posterior struct {
	evaluator *evaluator
	steps     int
}

// Steps returns the number of training steps behind the posterior.
func (p *Posterior) Steps() int { return p.steps }

// Weights returns the number of trainable numbers of q(m) and the flow.
func (p *Posterior) Weights() int {
	count := 0
	for variable := range p.evaluator.Variables.IterVariables() {
		if variable.Trainable && (strings.HasPrefix(variable.Scope(), "/"+evaluate.FlowScope) || strings.HasPrefix(variable.Scope(), "/"+evaluate.ModelScope)) {
			count += variable.Shape().Size()
		}
	}
	return count
}

// Beginning returns the trained variables of the Backbone, from which a fit to another target, with
// its own Backbone, may start. If the Backbone is an AmortizedFlow, these variables already give an
// answer for the other target, which Open returns.
func (p *Posterior) Beginning() *Beginning {
	return &Beginning{Weights: p.evaluator.Variables, backbone: fmt.Sprint(p.evaluator.Flow)}
}

// Target returns the approximated posterior density.
func (p *Posterior) Target() Target { return p.evaluator.Target }

// Sample draws n models and their parameters from q. The configured seed and the argument name
// determine the random stream; another name gives independent draws. Inactive coordinates of theta
// [n,D] are 0. logQ[i] is log q(m_i) + log q(θ_i | m_i).
func (p *Posterior) Sample(n int, name string) (codes [][]int32, theta *mat.Dense, logQ []float64, err error) {
	e := p.evaluator
	batch, sites, dim := e.Sizes()
	theta = mat.NewDense(max(n, 1), dim, nil)
	for start := 0; start < n; start += batch {
		random := e.Random(fmt.Sprintf("sample/%s/%d", name, start/batch))
		flat, err := e.DrawCodes(random)
		if err != nil {
			return nil, nil, nil, err
		}
		draws, err := e.Push(flat, stream.Normals(random, batch*dim))
		if err != nil {
			return nil, nil, nil, err
		}
		drawn := slices.Collect(slices.Chunk(flat, sites))[:min(batch, n-start)]
		logModel, err := e.LogModel(drawn)
		if err != nil {
			return nil, nil, nil, err
		}
		codes = append(codes, drawn...)
		for i := range drawn {
			theta.SetRow(start+i, draws.Theta[i*dim:(i+1)*dim])
			logQ = append(logQ, logModel[i]+draws.LogQ[i])
		}
	}
	return codes, theta, logQ, nil
}

// SampleModels draws n models from q(m), with random streams as in Sample, and returns log q(m) of
// each.
func (p *Posterior) SampleModels(n int, name string) (codes [][]int32, logQ []float64, err error) {
	e := p.evaluator
	for start := 0; start < n; start += e.Batch {
		drawn, err := e.Draw(e.Random(fmt.Sprintf("models/%s/%d", name, start/e.Batch)))
		if err != nil {
			return nil, nil, err
		}
		codes = append(codes, drawn[:min(len(drawn), n-start)]...)
	}
	logQ, err = e.LogModel(codes)
	return codes, logQ, err
}

// LogProb returns log q(m) + log q(θ | m) of each row: codes[i] is a model and row i of theta [n,D]
// its parameters, with any values at inactive coordinates, which are ignored.
func (p *Posterior) LogProb(codes [][]int32, theta *mat.Dense) ([]float64, error) {
	dim := p.evaluator.Target.Space().Dim()
	rows, columns := theta.Dims()
	if rows != len(codes) || columns != dim {
		return nil, fmt.Errorf("vti.LogProb: got theta of %s and %s, want %d (one per code) and %d", english.Count(rows, "row"), english.Count(columns, "column"), len(codes), dim)
	}
	for i, code := range codes {
		if err := space.CheckCode(p.evaluator.Target.Space(), code); err != nil {
			return nil, fmt.Errorf("vti.LogProb: row %d: %w", i, err)
		}
	}
	return p.evaluator.LogProb(codes, theta)
}

// Certify weights draws of the flow by the target and returns corrected model probabilities,
// evidences and a verdict.
//
// q alone favours models whose posterior the flow fits well. Importance weights w = p(y, θ | m) /
// r(θ | m) correct this, where r is the density of the flow applied to noise that is wider than the
// standard normal. The mean of the weights estimates the evidence of m if their tail is light,
// which Pareto's k̂ shows. If the space has at most MaxModels models, each is weighted separately
// and the result does not depend on q(m). If weights are not trusted, tempered chains give the
// result, provided that they have mixed.
func (p *Posterior) Certify(ctx context.Context, cfg CertifyConfig) (*Certificate, error) {
	if err := cfg.CheckSize(p.evaluator.Target); err != nil {
		return nil, err
	}
	p.evaluator.engine.Shard = cfg.Shard
	certificate, err := certify(ctx, p.evaluator, cfg.withDefaults())
	if certificate != nil {
		certificate.Space = p.evaluator.Target.Space()
	}
	return certificate, err
}
