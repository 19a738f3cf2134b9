package models

import (
	"context"
	"io"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/shard"
	"github.com/transdim/vti/space"
)

// Engine certifies a posterior over models from their evidences. It is not safe for concurrent use.
type Engine struct {
	Space space.Space
	// LogPrior is log p(m) of codes.
	LogPrior func(codes [][]int32) ([]float64, error)
	Known    Known
	// Q proposes models, and answers are compared with it.
	Q Proposal
	// Seed is the root of every random stream.
	Seed uint64
	// AnswerOnly leaves out the density of draws under Q, which costs a pass of the flow each,
	// where the answer does not come from Q.
	AnswerOnly bool
	// Shard is the part of this process in a certificate; nil: the whole.
	Shard *shard.Shard

	found  map[string]Evidence // evidences found so far, by model
	chains *keptChains         // chains over models; nil before the first certificate with chains
	joint  foundJoint
}

// Proposal is q(m) q(θ | m).
type Proposal interface {
	// Draw draws some models from q(m).
	Draw(random *rand.Rand) ([][]int32, error)
	// LogModel is log q(m), and LogProb log q(m) + log q(θ | m) of rows of theta.
	LogModel(codes [][]int32) ([]float64, error)
	LogProb(codes [][]int32, theta *mat.Dense) ([]float64, error)
	// Wide is a wider version of q(m), for weighting models.
	Wide() Reference
	// Fit fits q(m) to models with weights; nil: equal weights.
	Fit(ctx context.Context, codes [][]int32, weights []float64) error
	// Set sets q(m), if it is a table, to estimates of log p(m) Z_m of every model: −Inf or NaN
	// without an estimate.
	Set(logPrior, logMass []float64) error
}

// Reference is r(m), the distribution from which models are drawn to be weighted.
type Reference interface {
	// Draw draws some models; the first fromQ of them come from q(m). A nil code is a draw of no
	// model, and has weight 0.
	Draw(random *rand.Rand) (codes [][]int32, fromQ int, err error)
	// LogProb is log r(m).
	LogProb(codes [][]int32) ([]float64, error)
}

// Config sets the work of a certificate over models.
type Config struct {
	// Stream is the prefix of the names of the random streams.
	Stream string
	// Draws is the largest number of models drawn.
	Draws int
	// Precision, if not 0, is the standard error of every probability at which drawing ends.
	Precision float64
	// Glance requests a certificate of few draws, which sets q(m) to its result where q(m) is a
	// table, unless KeepModels keeps q(m) unchanged.
	Glance, KeepModels bool
	// Late, if not nil, reports whether the time is over: a certificate of few draws, or a sum,
	// then ends with its results so far.
	Late func() bool
	// Progress, if not nil, is called as draws accumulate, with the number expected in all.
	Progress func(done, total int)
}

// overdue reports whether a certificate of few draws must end.
func (c Config) overdue() bool { return c.Glance && c.late() }

func (c Config) late() bool { return c.Late != nil && c.Late() }

func (c Config) report(done, total int) {
	if c.Progress != nil {
		c.Progress(done, total)
	}
}

// random returns a separate random stream for every name.
func (e *Engine) random(name string) *rand.Rand { return stream.Rand(e.Seed, name) }

const (
	// evidenceChunk is the number of evidences between two reports of progress, and in a piece for
	// another process: enough to outweigh the time of a file.
	evidenceChunk = 1 << 8
	// sharedChunks is the number of chunks at a time when several processes share them: enough for
	// some tens of processes.
	sharedChunks = 64
)

// evidences returns the evidences of models. Unknown evidences are computed in chunks, which
// processes may share. A few are computed here: chains need the evidences of one step at a time,
// which take less time than a file.
func (e *Engine) evidences(ctx context.Context, codes [][]int32, progress func(done int)) ([]Evidence, error) {
	var fresh [][]int32
	for _, code := range codes {
		if _, known := e.found[space.Key(code)]; !known {
			fresh = append(fresh, code)
		}
	}
	chunks, together := slices.Collect(slices.Chunk(fresh, evidenceChunk)), sharedChunks
	part := e.Shard
	if part == nil || len(chunks) < 2 {
		part, together = nil, 1
	}
	if e.found == nil {
		e.found = map[string]Evidence{}
	}
	done := len(codes) - len(fresh)
	for group := range slices.Chunk(chunks, together) {
		pieces, err := shard.Map(ctx, part, shard.Stage[[][]int32, []Evidence]{
			Name: "evidences",
			Key:  func(w io.Writer, codes [][]int32) { shard.Numbers(w, codes...) },
			Do: func(ctx context.Context, codes [][]int32) ([]Evidence, error) {
				return e.Known.Evidences.Of(ctx, codes, e.Seed)
			},
		}, group)
		if err != nil {
			return nil, err
		}
		for k, chunk := range group {
			for i, code := range chunk {
				e.found[space.Key(code)] = pieces[k][i]
			}
			done += len(chunk)
		}
		if progress != nil {
			progress(done)
		}
	}
	all := make([]Evidence, len(codes))
	for i, code := range codes {
		all[i] = e.found[space.Key(code)]
	}
	return all, nil
}

// Exact reports whether evidences are known in closed form.
func (e *Engine) Exact() bool { return e.Known.Evidences != nil && e.Known.Evidences.Exact() }

// Certify certifies by the sum over all models where they are listed or the application computes
// it, else by weights over models alone, which have no variance from parameters. It returns the
// visited models together with the certificate.
func (e *Engine) Certify(ctx context.Context, listed bool, cfg Config) (*Certificate, *Visited, error) {
	x := e.Visit()
	if listed {
		certificate, err := x.sum(ctx, cfg)
		return certificate, x, err
	}
	if e.Known.Sum != nil {
		if certificate, err := x.total(ctx, cfg); err != nil || certificate != nil {
			return certificate, x, err
		}
	}
	if _, ok := itemsOf(e.Space); ok {
		certificate, err := x.WeighFitted(ctx, cfg)
		if err != nil && ctx.Err() != nil || err == nil && cfg.enough(certificate) {
			return certificate, x, err
		}
	}
	certificate, err := x.WeighProposed(ctx, cfg)
	return certificate, x, err
}
