package hbm

import (
	gocontext "context"
	"testing"

	"github.com/stretchr/testify/require"
)

// patient is a context that is cancelled when it has been asked so many times whether it is.
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

// Everything that can last stops soon after its context is cancelled: it asks often, and does not
// go on when it is told.
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
			_, err := simulator.DrawSets(ctx, Values{}, 50, 1, "x")
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
