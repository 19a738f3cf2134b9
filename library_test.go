package vti_test

import (
	"go/types"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
)

// operations holds the operations that docs/library.md recommends for a Target. The function apply
// applies an operation to two parameters and reduces the result to a number, which must equal sum.
var operations = map[string]struct {
	apply func(theta *Node) *Node // [1,2]
	sum   float64                 // at θ = (0.5, 2)
}{
	"ConstAsDType":      {func(x *Node) *Node { return Mul(x, ConstAsDType(x.Graph(), x.DType(), [][]float64{{2, 1}})) }, 3},
	"Where":             {func(x *Node) *Node { return Where(GreaterThan(x, OnesLike(x)), x, ZerosLike(x)) }, 2},
	"ZerosLike":         {func(x *Node) *Node { return Add(x, ZerosLike(x)) }, 2.5},
	"MatMul":            {func(x *Node) *Node { return MatMul(x, ConstAsDType(x.Graph(), x.DType(), [][]float64{{1, 0}, {3, 1}})) }, 8.5},
	"space.TakeColumns": {func(x *Node) *Node { return space.TakeColumns(x, []int32{0}) }, 0.5},
	"Squeeze":           {func(x *Node) *Node { return Squeeze(space.TakeColumns(x, []int32{1}), -1) }, 2},
	"Add":               {func(x *Node) *Node { return Div(Mul(Add(x, x), Sub(x, OnesLike(x))), x) }, 1},
	"AddScalar":         {func(x *Node) *Node { return MulScalar(AddScalar(x, 1), 2) }, 9},
	"Square":            {func(x *Node) *Node { return Abs(Neg(Sqrt(Square(x)))) }, 2.5},
	"Exp":               {func(x *Node) *Node { return Add(Exp(x), Add(Log(x), Log1P(x))) }, math.Exp(0.5) + math.Exp(2) + math.Log(1.5) + math.Log(3)},
	"Softplus":          {func(x *Node) *Node { return Softplus(x) }, math.Log1p(math.Exp(0.5)) + math.Log1p(math.Exp(2))},
	"LogAddExp":         {func(x *Node) *Node { return LogAddExp(x, ZerosLike(x)) }, math.Log1p(math.Exp(0.5)) + math.Log1p(math.Exp(2))},
	"ReduceSum":         {func(x *Node) *Node { return ReduceSum(x, -1) }, 2.5},
	"ConvertDType":      {func(x *Node) *Node { return ConvertDType(GreaterThan(x, OnesLike(x)), x.DType()) }, 1},
}

// The table in docs/library.md lists exactly these operations.
func TestLibraryListsItsOperations(t *testing.T) {
	page, err := os.ReadFile("docs/library.md")
	require.NoError(t, err)
	listed := regexp.MustCompile("(?m)^\\| `((?:space\\.)?[A-Z]\\w*)` \\|").FindAllStringSubmatch(string(page), -1)
	require.Len(t, listed, len(operations))
	for _, row := range listed {
		require.Contains(t, operations, row[1])
	}
}

// Each operation has a value and a finite derivative, on the default device and on the reference.
func TestLibraryOperationsRunEverywhere(t *testing.T) {
	for _, kind := range []gpu.Kind{gpu.CPU, gpu.Reference} {
		device, err := gpu.Open(kind)
		require.NoError(t, err)
		for name, operation := range operations {
			exec, err := NewExec(device.Backend(), func(theta *Node) []*Node {
				sum := ReduceAllSum(operation.apply(theta))
				return []*Node{sum, ReduceAllSum(Gradient(Add(sum, ReduceAllSum(theta)), theta)[0])}
			})
			require.NoError(t, err, name)
			outputs, err := exec.Exec([][]float64{{0.5, 2}})
			require.NoError(t, err, name)
			require.InDeltaf(t, operation.sum, outputs[0].Value(), 1e-12, "%s on %v", name, kind)
			slope := outputs[1].Value().(float64)
			require.Falsef(t, math.IsNaN(slope) || math.IsInf(slope, 0), "%s on %v: derivative %v", name, kind, slope)
		}
		device.Close()
	}
}

// The lines of docs/library.md about responses compile, and give a Poisson density with its
// constants.
func TestLibraryResponses(t *testing.T) {
	page, err := os.ReadFile("docs/library.md")
	require.NoError(t, err)
	this, err := os.ReadFile("library_test.go")
	require.NoError(t, err)
	device, err := gpu.Open(gpu.Reference)
	require.NoError(t, err)
	defer device.Close()
	y := []float64{0, 3}
	exec, err := NewExec(device.Backend(), func(eta *Node) *Node {
		poisson := likelihood.New(likelihood.PoissonKind, likelihood.Shape{})
		logLikelihood := likelihood.LogDensity(poisson, y, nil, eta, nil) // y []float64, eta [B,n] -> [B]
		return logLikelihood
	})
	require.NoError(t, err)
	outputs, err := exec.Exec([][]float64{{0.5, 1}})
	require.NoError(t, err)
	want := -math.Exp(0.5) + 3 - math.E - math.Log(6)
	require.InDelta(t, want, outputs[0].Value().([]float64)[0], 1e-12)
	shown := regexp.MustCompile(`(?m)^(\w+ := likelihood\..*)$`).FindAllString(string(page), -1)
	require.Len(t, shown, 2)
	for _, line := range shown {
		require.Contains(t, string(this), "\t"+line)
	}
}

// The error for a Target whose densities are not one number per row names their shape.
func TestTargetOfWrongShapes(t *testing.T) {
	device := openDevice(t, gpu.CPU)
	for _, c := range []struct {
		target vti.Target
		want   string
	}{
		{scalarPrior{newConjugate(30, 3)}, "LogPrior of vti_test.scalarPrior: got a result of shape [], want ["},
		{wideJoint{newConjugate(30, 3)}, "LogJoint of vti_test.wideJoint: got a result of shape ["},
	} {
		_, err := vti.Solve(t.Context(), device, c.target, vti.SolveConfig{Fit: vti.Config{Steps: 10}})
		require.ErrorContains(t, err, c.want)
		_, err = vti.Fit(t.Context(), device, c.target, vti.Config{Steps: 10})
		require.ErrorContains(t, err, c.want)
	}
}

type scalarPrior struct{ *conjugate }

func (scalarPrior) LogPrior(codes *Node) *Node { return Const(codes.Graph(), -1.0) }

type wideJoint struct{ *conjugate }

func (wideJoint) LogJoint(_, _, theta *Node) *Node { return theta }

// Packages declare the names that docs/library.md lists in its table of imports.
func TestLibraryNamesWhatPackagesHave(t *testing.T) {
	testkit.Slow(t)
	page, err := os.ReadFile("docs/library.md")
	require.NoError(t, err)
	row := regexp.MustCompile("(?m)^\\| `(vti[a-z/]*)` \\| (.*) \\|$")
	name := regexp.MustCompile("`(?:\\w+\\.)?([A-Z]\\w*)(?:\\(.*?\\))?`")
	packages := map[string]*types.Package{}
	for _, p := range publicPackages(t) {
		packages["vti"+strings.TrimPrefix(p.Path(), module)] = p
	}
	rows := row.FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(rows), 8)
	for _, row := range rows {
		require.Contains(t, packages, row[1])
		for _, name := range name.FindAllStringSubmatch(row[2], -1) {
			require.NotNilf(t, packages[row[1]].Scope().Lookup(name[1]), "%s has no %s", row[1], name[1])
		}
	}
}
