package selection

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/varsel"
)

// The flags about q(m) give the expected records, and contradictory flags an error.
func TestLearningFlags(t *testing.T) {
	for _, test := range []struct {
		args  []string
		want  varsel.Learning
		error string
	}{
		{nil, varsel.Learning{}, ""},
		{[]string{"--control-variate", "none", "--information-gain", "none"}, varsel.Learning{ControlVariate: vti.NoControl, InformationGain: -1}, ""},
		{[]string{"--control-variate", "mean", "--information-gain", "0.005"}, varsel.Learning{ControlVariate: vti.Running, InformationGain: 0.005}, ""},
		{[]string{"--sampler", "categorical", "--control-variate", "surrogate"}, varsel.Learning{ControlVariate: vti.SurrogateMean}, ""},
		{[]string{"--steps", "10", "--start", "identity"}, varsel.Learning{Start: vti.IdentityStart}, ""},
		{[]string{"--sampler", "surrogate", "--belief", "process", "--start", "anchor"}, varsel.Learning{Start: vti.AnchorStart}, ""},
		{[]string{"--control-variate", "surrogate"}, varsel.Learning{}, "--control-variate surrogate is for --sampler categorical; this one is auto"},
		{[]string{"--sampler", "surrogate", "--information-gain", "1"}, varsel.Learning{}, "--information-gain is for a q(m) that follows a gradient"},
		{[]string{"--sampler", "surrogate", "--control-variate", "none"}, varsel.Learning{}, "--control-variate is for a q(m) that follows a gradient"},
		{[]string{"--belief", "process"}, varsel.Learning{}, "--belief is for --sampler surrogate; this one is auto"},
		{[]string{"--start", "identity"}, varsel.Learning{}, "--start is for --effort fixed"},
		{[]string{"--steps", "10", "--start", "anchor", "--from", "network"}, varsel.Learning{}, "--start and --from"},
		{[]string{"--sampler", "surrogate", "--start", "pilot"}, varsel.Learning{}, "has no pilot run"},
	} {
		var f varselFlags
		cmd := &cobra.Command{}
		f.Register(cmd)
		require.NoError(t, cmd.Flags().Parse(append(test.args, "--target", "y")))
		record, err := f.Describe(cmd.Flags())
		if test.error != "" {
			require.ErrorContains(t, err, test.error, test.args)
			continue
		}
		require.NoError(t, err, test.args)
		require.Equal(t, test.want, record.Learning, test.args)
		if record.Sampler == varsel.SurrogateSampler {
			require.Equal(t, modeldist.ProcessBelief, record.Surrogate.Belief)
		}
	}
	cmd, f := &cobra.Command{}, varselFlags{}
	f.Register(cmd)
	require.ErrorContains(t, cmd.Flags().Parse([]string{"--information-gain", "0"}), "expected a positive number or none, found \"0\"")
	require.ErrorContains(t, cmd.Flags().Parse([]string{"--start", "warm"}), `unknown start "warm"; want pilot, anchor or identity`)
}
