package gpu

import (
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
)

func TestOpenRunsAGraphOnEveryKind(t *testing.T) {
	for _, kind := range []Kind{Auto, CPU, Reference} {
		t.Run(kind.String(), func(t *testing.T) {
			device, err := Open(kind)
			require.NoError(t, err)
			defer device.Close()
			require.NotEqual(t, Auto, device.Kind())
			exec, err := graph.NewExec(device.Backend(), func(x *graph.Node) *graph.Node { return graph.ReduceAllSum(x) })
			require.NoError(t, err)
			outputs, err := exec.Exec([]float64{1, 2, 3.5})
			require.NoError(t, err)
			require.Equal(t, 6.5, outputs[0].Value())
		})
	}
}

func TestKindVariableChoosesAuto(t *testing.T) {
	t.Setenv(KindVariable, "go")
	device, err := Open(Auto)
	require.NoError(t, err)
	require.Equal(t, Reference, device.Kind())

	t.Setenv(KindVariable, "abacus")
	_, err = Open(Auto)
	require.ErrorContains(t, err, `VTI_DEVICE`)
	require.ErrorContains(t, err, `unknown device "abacus"; want auto, cpu, cuda, xla-cpu or go`)
}

func TestParseKindInvertsString(t *testing.T) {
	for _, kind := range []Kind{Auto, CPU, Reference} {
		parsed, err := ParseKind(kind.String())
		require.NoError(t, err)
		require.Equal(t, kind, parsed)
	}
}
