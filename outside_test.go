package vti_test

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel"
)

// outsideFolder is the folder of a separate module, whose programs import vti as programs of users
// do.
const outsideFolder = "lab/outside"

// runOutside builds and runs a program of the outside module, and returns the lines that it prints.
func runOutside(t *testing.T, arguments ...string) []string {
	testkit.Slow(t)
	command := exec.Command("go", append([]string{"run", "-ldflags=-s -w"}, arguments...)...) // links faster
	command.Dir = outsideFolder
	var problems strings.Builder
	command.Stderr = &problems
	output, err := command.Output()
	require.NoError(t, err, problems.String())
	return strings.Split(strings.TrimSpace(string(output)), "\n")
}

// standardErrors is the largest accepted error of an estimate, in standard errors, in addition to
// half a unit of the last printed digit. By chance one of the dozen comparisons in this file
// exceeds it once in 10⁵ runs.
const standardErrors = 5

// requireClose checks an estimate, printed to four digits, by its standard error.
func requireClose(t *testing.T, quantity string, want, got, se float64) {
	require.InDelta(t, want, got, standardErrors*(se+0.5e-4)+0.5e-4, quantity)
}

// The inclusion probabilities that a program prints agree with the sum over all subsets of
// variables.
func TestOutsideVariables(t *testing.T) {
	lines := runOutside(t, "./variables", "../../testdata/diabetes.csv", "y")
	require.Equal(t, "trusted", lines[0])
	data, err := table.ReadFile("testdata/diabetes.csv")
	require.NoError(t, err)
	design, err := varsel.NewDesign(data, varsel.DesignOptions{Target: "y"})
	require.NoError(t, err)
	problem, err := varsel.NewProblem(design, varsel.ModelOptions{})
	require.NoError(t, err)
	exact, err := varsel.RunExact(context.Background(), problem, nil, "")
	require.NoError(t, err)
	require.Len(t, lines, 1+len(exact.Inclusion))
	for i, want := range exact.Inclusion {
		var name string
		var got, se float64
		_, err := fmt.Sscanf(lines[1+i], "%s %f ± %f", &name, &got, &se)
		require.NoError(t, err)
		require.Equal(t, want.Name, name)
		requireClose(t, name, float64(want.Certified), got, se)
	}
}

// The evidences of three Poisson models, as a program prints them, agree with quadrature.
func TestOutsideCounts(t *testing.T) {
	lines := runOutside(t, "./counts")
	require.Equal(t, "trusted", lines[0])
	require.Len(t, lines, 4)
	counts := []float64{3, 2, 4, 3, 5, 7, 6, 9, 7, 8}
	logNormal := func(x float64) float64 { return -0.5 * (x*x + math.Log(2*math.Pi)) }
	logJoint := func(a, slope float64, x func(year int) float64) (sum float64) {
		for year, y := range counts {
			logFactorial, _ := math.Lgamma(y + 1)
			logRate := 3*a + slope*x(year)
			sum += y*logRate - math.Exp(logRate) - logFactorial
		}
		return sum + logNormal(a)
	}
	// For this integrand the trapezoidal rule converges exponentially. The standard deviations are
	// 0.04 for a and 0.3 for the slope.
	const step = 0.01
	evidence := map[string]float64{}
	for a := -2.0; a < 4; a += step {
		evidence["constant"] += step * math.Exp(logJoint(a, 0, func(int) float64 { return 0 }))
		for slope := -5.0; slope < 5; slope += step {
			prior := logNormal(slope)
			evidence["trend"] += step * step * math.Exp(prior+logJoint(a, slope, func(year int) float64 { return -0.9 + 0.2*float64(year) }))
			evidence["step"] += step * step * math.Exp(prior+logJoint(a, slope, func(year int) float64 { return float64(year / 5) }))
		}
	}
	total := evidence["constant"] + evidence["trend"] + evidence["step"]
	for _, line := range lines[1:] {
		var name string
		var probability, se, logEvidence, logSE float64
		_, err := fmt.Sscanf(line, "%s %f ± %f, log evidence %f ± %f", &name, &probability, &se, &logEvidence, &logSE)
		require.NoError(t, err)
		require.Contains(t, evidence, name)
		requireClose(t, name, evidence[name]/total, probability, se)
		requireClose(t, "log evidence of "+name, math.Log(evidence[name]), logEvidence, logSE)
	}
}

// TestOutsideGraphs checks that the program finds the edges of the graph rain → wet ← sprinkler,
// wet → slip, from which the data were simulated. With 200 rows and correlations of at least 0.6 no
// method can miss these edges. Their directions are not compared.
func TestOutsideGraphs(t *testing.T) {
	lines := runOutside(t, "./graphs")
	require.Len(t, lines, 6)
	for _, line := range lines {
		var from, to string
		var forward, reversed, absent float64
		_, err := fmt.Sscanf(line, "%s -> %s %f reversed %f absent %f", &from, &to, &forward, &reversed, &absent)
		require.NoError(t, err)
		require.InDelta(t, 1, forward+reversed+absent, 2e-3)
		if strings.Contains(from+to, "wet") {
			require.Less(t, absent, 0.01, line)
		} else {
			require.Greater(t, absent, 0.5, line)
		}
	}
}
