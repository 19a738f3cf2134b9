package models

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/apply"
)

// counted gives each model its number as log evidence, and an error when it is asked for a model
// with a larger number than the field most.
type counted struct {
	most int32
}

var errLarge = errors.New("a large model")

func (c *counted) Exact() bool { return true }

func (c *counted) Of(_ context.Context, codes [][]int32, _ uint64) ([]Evidence, error) {
	for _, code := range codes {
		if code[0] > c.most {
			return nil, errLarge
		}
	}
	return apply.To(codes, func(code []int32) Evidence { return Closed(float64(code[0])) }), nil
}

func (c *counted) Parameters([]int32, Evidence, int, *rand.Rand) (Parameters, error) {
	return Parameters{}, nil
}

// An error, for example at the end of the time, adds no model: the models before it can still be
// used, and the new ones can be added later.
func TestVisitedAfterAnError(t *testing.T) {
	evidences := &counted{most: 1}
	e := &Engine{
		Known:    Known{Evidences: evidences},
		LogPrior: func(codes [][]int32) ([]float64, error) { return make([]float64, len(codes)), nil },
	}
	x := e.Visit()
	_, err := x.Add(t.Context(), [][]int32{{0}, {1}}, nil)
	require.NoError(t, err)
	_, err = x.Add(t.Context(), [][]int32{{1}, {2}, {3}}, nil)
	require.ErrorIs(t, err, errLarge)
	require.Equal(t, 2, x.Len())
	require.Equal(t, []float64{0, 1}, x.logMasses())
	evidences.most = 3
	positions, err := x.Add(t.Context(), [][]int32{{3}, {1}, {2}, {3}}, nil)
	require.NoError(t, err)
	require.Equal(t, []int{2, 1, 3, 2}, positions)
	require.Equal(t, []float64{0, 1, 3, 2}, x.logMasses())
}
