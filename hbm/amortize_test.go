package hbm

import (
	gocontext "context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/lab/testkit"
)

// A variational family trained on simulated data sets gives nearly the exact evidence of new data
// sets, which have as many groups as the data sets in training, or more.
func TestAmortizedOverDataSets(t *testing.T) {
	testkit.Slow(t)
	e := newEffects(3, 5, 1)
	p := fit(t, e.model, nil, Config{Family: PAVIE, Amortize: 16, Steps: 1500})
	for _, groups := range []int{3, 12} {
		other := e
		if groups != 3 {
			other = newEffects(groups, 5, 1)
		}
		var gap float64
		const sets = 10
		for s := range sets {
			data := other.draw(t, 50+uint64(s))
			q, err := p.On(other.model, data)
			require.NoError(t, err)
			elbo, _, err := q.ELBO(t.Context(), 200, "elbo")
			require.NoError(t, err)
			gap += (other.exact(data).logEvidence - elbo) / float64(groups) / sets
		}
		require.Less(t, gap, 0.3, "nats for each of %d groups", groups)
	}
	q, err := p.On(e.model, e.draw(t, 1))
	require.NoError(t, err)
	draws, err := q.Sample(t.Context(), 3, "draws")
	require.NoError(t, err)
	require.Len(t, draws.Values[e.groupMean], 9)
}

// TestEncoderSizes checks that the sizes of encoders change the number of weights, and that a
// checkpoint keeps them.
func TestEncoderSizes(t *testing.T) {
	e := newEffects(3, 5, 1)
	cfg := Config{Family: ADAVI, Amortize: 4, Steps: 2, Checkpoint: filepath.Join(t.TempDir(), "family.ckpt"), Encoder: EncoderConfig{Units: 8, Heads: 2, Points: 3}}
	small := fit(t, e.model, nil, cfg)
	few := small.Weights()
	for _, larger := range []EncoderConfig{{}, {Units: 16, Heads: 2, Points: 3}, {Units: 8, Heads: 2, Points: 4}} {
		require.Greater(t, fit(t, e.model, nil, Config{Family: ADAVI, Amortize: 4, Steps: 1, Encoder: larger}).Weights(), few, larger)
	}
	elbo := func(p *Posterior, err error) float64 {
		require.NoError(t, err)
		value, _, err := p.ELBO(t.Context(), 20, "elbo")
		require.NoError(t, err)
		return value
	}
	data := e.draw(t, 1)
	oneHead, err := fit(t, e.model, nil, Config{Family: ADAVI, Amortize: 4, Steps: 2, Encoder: EncoderConfig{Units: 8, Heads: 1, Points: 3}}).On(e.model, data)
	want := elbo(small.On(e.model, data))
	require.NotEqual(t, want, elbo(oneHead, err))
	require.Equal(t, want, elbo(LoadAmortized(openCPU(t), e.model, data, Config{Checkpoint: cfg.Checkpoint})))
	require.ErrorContains(t, Config{Encoder: EncoderConfig{Units: 6}}.Validate(), "6 units and 4 heads")
}

func TestAmortizeMistakes(t *testing.T) {
	e := newEffects(3, 5, 1)
	device := openCPU(t)
	_, err := Fit(gocontext.Background(), device, e.model, nil, Config{Amortize: 4})
	require.ErrorContains(t, err, "got Amortize with family")
	_, err = Fit(gocontext.Background(), device, e.model, nil, Config{Family: PAVIE, Amortize: 4, Draws: 8})
	require.ErrorContains(t, err, "as many as Amortize has data sets")

	data := e.draw(t, 1)
	free := fit(t, e.model, data, Config{Steps: 1})
	_, err = free.On(e.model, data)
	require.ErrorContains(t, err, "does not compute all encodings from data")
	p := fit(t, e.model, data, Config{Family: PAVIE, Steps: 1})
	_, err = p.On(e.model, Values{})
	require.ErrorContains(t, err, "has no values")
	wide := newEffects(3, 5, 2)
	_, err = p.On(wide.model, wide.draw(t, 1))
	require.ErrorContains(t, err, `got latent variable "mean" on [] of shape [2], want latent variable "mean" on [] of shape [1]`)
	m := NewModel()
	m.Latent("mean", Normal(Number(0), Number(1)))
	_, err = p.On(m, nil)
	require.ErrorContains(t, err, "want plate")
}

// Training that is stopped and continued gives the same bits as training without a stop, and so
// does a trained family that is only loaded. Encodings of members are trained, or computed by
// networks.
func TestResume(t *testing.T) {
	e := newEffects(5, 4, 2)
	data := e.draw(t, 1)
	for name, cfg := range map[string]Config{
		"free":      {Steps: 12, Batch: map[*Plate]int{e.model.plates[0]: 2}},
		"encoded":   {Steps: 12, Family: PAVIE},
		"amortized": {Steps: 12, Family: PAVIE, Amortize: 3},
	} {
		t.Run(name, func(t *testing.T) {
			trainingData := data
			if cfg.Amortize > 0 {
				trainingData = nil
			}
			values := func(p *Posterior) []float64 {
				if cfg.Amortize > 0 {
					var err error
					p, err = p.On(e.model, data)
					require.NoError(t, err)
				}
				draws, err := p.Sample(t.Context(), 4, "posterior")
				require.NoError(t, err)
				return append(draws.Values[e.groupMean], draws.LogQ...)
			}
			cfg.Checkpoint = filepath.Join(t.TempDir(), "posterior.vti")
			want := values(fit(t, e.model, trainingData, cfg))
			loaded, err := Load(t.Context(), openCPU(t), e.model, trainingData, cfg)
			require.NoError(t, err)
			require.Equal(t, 12, loaded.Steps())
			require.Equal(t, want, values(loaded))

			stopped, stop := gocontext.WithCancel(gocontext.Background())
			interrupted := cfg
			interrupted.LogEvery, interrupted.Checkpoint = 1, filepath.Join(t.TempDir(), "stopped.vti")
			interrupted.Progress = func(info vti.Info) {
				if info.Step == 5 {
					stop()
				}
			}
			_, err = Fit(stopped, openCPU(t), e.model, trainingData, interrupted)
			require.True(t, errors.Is(err, gocontext.Canceled))
			interrupted.Resume, interrupted.Progress = true, nil
			require.Equal(t, want, values(fit(t, e.model, trainingData, interrupted)))

			interrupted.Seed = 5
			_, err = Load(t.Context(), openCPU(t), e.model, trainingData, interrupted)
			require.ErrorContains(t, err, "seed was 0 and is now 5")
			if cfg.Amortize == 0 {
				interrupted.Seed = 0
				_, err = Load(t.Context(), openCPU(t), e.model, e.draw(t, 2), interrupted)
				require.ErrorContains(t, err, "written by a different run: flow was")
			}
		})
	}
	_, err := Load(t.Context(), openCPU(t), e.model, data, Config{})
	require.ErrorContains(t, err, "Resume needs Checkpoint")
}

// patient is a context whose method Err returns nil for the first calls, as many as the field left,
// and then reports that the context is cancelled. The field after counts the later calls.
type patient struct {
	gocontext.Context
	left, after int
}

func (p *patient) Err() error {
	if p.left--; p.left >= 0 {
		return nil
	}
	p.after++
	return gocontext.Canceled
}

// All long operations stop soon after their context is cancelled.
func TestCancelled(t *testing.T) {
	e := newEffects(3, 50, 2)
	data := e.draw(t, 1)
	p := fit(t, e.model, data, Config{Steps: 2})
	simulator, err := NewSimulator(openCPU(t), e.model)
	require.NoError(t, err)
	for name, call := range map[string]func(ctx gocontext.Context) error{
		"Sample":  func(ctx gocontext.Context) error { _, err := p.Sample(ctx, 10_000, "x"); return err },
		"ELBO":    func(ctx gocontext.Context) error { _, _, err := p.ELBO(ctx, 10_000, "x"); return err },
		"Certify": func(ctx gocontext.Context) error { _, err := p.Certify(ctx, CertifyConfig{Draws: 50_000}); return err },
		"DrawSets": func(ctx gocontext.Context) error {
			_, err := simulator.DrawSets(ctx, Values{}, 50, nil, 1, "x")
			return err
		},
		"Fit": func(ctx gocontext.Context) error {
			_, err := Fit(ctx, openCPU(t), e.model, data, Config{Steps: 50})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for left := range 3 {
				ctx := &patient{Context: t.Context(), left: left}
				require.ErrorIs(t, call(ctx), gocontext.Canceled, "after %d steps", left)
				require.LessOrEqual(t, ctx.after, 3, "it goes on")
			}
		})
	}
}
