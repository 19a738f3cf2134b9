package hbm

import (
	gocontext "context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A run that was stopped and continued ends with the bits of one that was not, for free encodings
// and for encoders; and so does one that is only loaded.
func TestResume(t *testing.T) {
	e := newEffects(5, 4, 2)
	data := e.draw(t, 1)
	for name, cfg := range map[string]Config{
		"free":      {Steps: 12, Batch: map[*Plate]int{e.model.plates[0]: 2}},
		"encoded":   {Steps: 12, Family: PAVIE},
		"amortized": {Steps: 12, Family: PAVIE, Amortize: 3},
	} {
		t.Run(name, func(t *testing.T) {
			given := data
			if cfg.Amortize > 0 {
				given = nil
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
			want := values(fit(t, e.model, given, cfg))
			loaded, err := Load(t.Context(), openCPU(t), e.model, given, cfg)
			require.NoError(t, err)
			require.Equal(t, 12, loaded.Steps())
			require.Equal(t, want, values(loaded))

			stopped, stop := gocontext.WithCancel(gocontext.Background())
			interrupted := cfg
			interrupted.LogEvery, interrupted.Checkpoint = 1, filepath.Join(t.TempDir(), "stopped.vti")
			interrupted.Progress = func(info Info) {
				if info.Step == 5 {
					stop()
				}
			}
			_, err = Fit(stopped, openCPU(t), e.model, given, interrupted)
			require.True(t, errors.Is(err, gocontext.Canceled))
			interrupted.Resume, interrupted.Progress = true, nil
			require.Equal(t, want, values(fit(t, e.model, given, interrupted)))

			interrupted.Seed = 5
			_, err = Load(t.Context(), openCPU(t), e.model, given, interrupted)
			require.ErrorContains(t, err, "seed was 0 and is now 5")
			if cfg.Amortize == 0 {
				interrupted.Seed = 0
				_, err = Load(t.Context(), openCPU(t), e.model, e.draw(t, 2), interrupted)
				require.ErrorContains(t, err, "written by a different run: data was")
			}
		})
	}
	_, err := Load(t.Context(), openCPU(t), e.model, data, Config{})
	require.ErrorContains(t, err, "Resume needs Checkpoint")
}
