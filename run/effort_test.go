package run

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEffortText(t *testing.T) {
	for _, effort := range []Effort{AutoEffort, FixedEffort} {
		text, err := effort.MarshalText()
		require.NoError(t, err)
		var read Effort
		require.NoError(t, read.UnmarshalText(text))
		require.Equal(t, effort, read)
	}
	require.EqualError(t, new(Effort).UnmarshalText([]byte("much")), `unknown effort "much"; want auto or fixed`)
	require.Equal(t, "run.Effort(7)", Effort(7).String())
}
