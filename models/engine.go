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
	// Space is the set of models.
	Space space.Space
	// LogPrior returns log p(m) of each of codes, which are models of Space.
	LogPrior func(codes [][]int32) ([]float64, error)
	// Known holds the functions of the application.
	Known Known
	// Q is the approximation of the posterior. Models are drawn from it, and answers are compared
	// with it.
	Q Proposal
	// Seed is the root of every random stream.
	Seed uint64
	// AnswerOnly leaves out draws from Q, densities under Q, and fits of Q to an answer that does
	// not come from Q. Each of these costs passes through networks.
	AnswerOnly bool
	// Shard says which part of the work this process does, if several processes compute a
	// certificate together; nil if this process does all of it.
	Shard *shard.Shard

	found  map[string]Evidence // evidences found so far, by model
	chains *keptChains         // chains over models; nil before the first certificate with chains
	joint  foundJoint
}

// Proposal is an approximation q(m) q(θ | m) of the posterior of models m and their parameters θ.
type Proposal interface {
	// Draw draws some models from q(m).
	Draw(random *rand.Rand) ([][]int32, error)
	// LogModel returns log q(m) of each of codes. LogProb returns log q(m) + log q(θ | m) for the
	// codes, with θ in the rows of theta.
	LogModel(codes [][]int32) ([]float64, error)
	LogProb(codes [][]int32, theta *mat.Dense) ([]float64, error)
	// Wide returns a wider version of q(m), from which models are drawn for importance weighting.
	Wide() Reference
	// Fit fits q(m) to weighted models. nil weights are equal weights.
	Fit(ctx context.Context, codes [][]int32, weights []float64) error
	// Set sets q(m), if it is a table of all models, to estimates logMass of log p(m) p(y | m) of
	// every model. An estimate is −Inf or NaN if it is unknown.
	Set(logPrior, logMass []float64) error
}

// Reference is r(m), the distribution from which models are drawn for importance weighting.
type Reference interface {
	// Draw draws some models; fromQ is the number of draws, the first ones, that come from q(m). A
	// nil code is a draw outside the space of models, and has weight 0.
	Draw(random *rand.Rand) (codes [][]int32, fromQ int, err error)
	// LogProb returns log r(m) of codes.
	LogProb(codes [][]int32) ([]float64, error)
}

// Config sets how much work a certificate over models may take, and its random streams.
type Config struct {
	// Stream is the prefix of the names of the random streams.
	Stream string
	// Draws is the largest number of models drawn.
	Draws int
	// Precision, if not 0, is the requested standard error of probabilities: drawing ends when no
	// probability has a larger standard error.
	Precision float64
	// Preliminary requests a certificate from few draws. If q(m) is a table of all models, it is
	// then set to the probabilities of this certificate. KeepModels leaves q(m) as it is.
	Preliminary, KeepModels bool
	// BirthsNext says that the caller will run birth-death chains if weights of models are not good
	// enough. Few rounds of weights then suffice, and no models are drawn from q(m).
	BirthsNext bool
	// Found holds the codes of models that other methods found, the most probable first. Chains
	// over models get them as the argument found.
	Found [][]int32
	// Late, if not nil, reports whether the time is over: a certificate of few draws, or a sum over
	// models, then ends with its results so far.
	Late func() bool
	// Progress, if not nil, is called at intervals with the number of draws done and the number
	// expected in all.
	Progress func(done, total int)
}

// overdue reports whether a certificate of few draws must end because the time is over.
func (c Config) overdue() bool { return c.Preliminary && c.late() }

func (c Config) late() bool { return c.Late != nil && c.Late() }

func (c Config) report(done, total int) {
	if c.Progress != nil {
		c.Progress(done, total)
	}
}

// random returns a separate random stream for every name.
func (e *Engine) random(name string) *rand.Rand { return stream.Rand(e.Seed, name) }

const (
	// evidenceChunk is the number of evidences computed between two reports of progress. It is also
	// the number that one of several processes computes at a time, which takes longer than to write
	// and read the file with the result.
	evidenceChunk = 1 << 8
	// sharedChunks is the number of chunks that several processes share at a time. It is large
	// enough for some tens of processes.
	sharedChunks = 64
)

// evidences returns the evidences of models. Unknown evidences are computed in chunks, which
// processes may share. This process alone computes a single chunk: chains ask for the evidences of
// one step at a time, which take less time than sharing a file.
func (e *Engine) evidences(ctx context.Context, codes [][]int32, progress func(done int)) ([]Evidence, error) {
	all := make([]Evidence, len(codes))
	var fresh [][]int32
	var at []int // index of each fresh code
	for i, code := range codes {
		var known bool
		if all[i], known = e.found[space.Key(code)]; !known {
			fresh, at = append(fresh, code), append(at, i)
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
				e.found[space.Key(code)], all[at[i]] = pieces[k][i], pieces[k][i]
			}
			at, done = at[len(chunk):], done+len(chunk)
		}
		if progress != nil {
			progress(done)
		}
	}
	return all, nil
}

// Exact reports whether evidences are known in closed form.
func (e *Engine) Exact() bool { return e.Known.Evidences != nil && e.Known.Evidences.Exact() }

// Certify certifies by the sum over all models if listed is true or the application computes the
// sum. Otherwise it draws models and weights them by their evidences; such weights have no variance
// from parameters. It returns the certificate and the evaluated models.
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
		if err != nil && ctx.Err() != nil || err == nil && (cfg.BirthsNext || cfg.enough(certificate)) {
			return certificate, x, err
		}
	}
	certificate, err := x.WeighProposed(ctx, cfg)
	return certificate, x, err
}
