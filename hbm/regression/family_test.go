package regression

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/transdim/vti/hbm/frame"
	"github.com/transdim/vti/likelihood"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/lab/testkit"
)

// schools is a table of two classes in each of three schools. Teachers are crossed with classes:
// they teach in several.
const schools = `y,x,school,class,teacher
3,1.5,a,1,u
1,0.5,a,1,v
4,2.5,a,2,u
2,1.5,a,2,v
0,-1,b,3,w
1,0,b,3,w
2,2,b,4,u
3,1,b,4,v
5,3,c,5,w
6,2.5,c,5,u
2,0,c,6,v
4,1,c,6,w
`

// naiveJoint returns the log density of all latent variables of a regression and of its response,
// with a dense covariance of the effects of a level.
func naiveJoint(t *testing.T, p *PlateModel, value func(v *hbm.Variable) []float64) float64 {
	r, sum := p.regression, 0.0
	theta := make([]float64, r.Dim())
	copy(theta, value(p.population))
	for j, c := range r.coordinates {
		switch c.kind {
		case populationCoordinate:
			sum += distuv.Normal{Mu: c.mean, Sigma: c.sd}.LogProb(theta[j])
		case sdCoordinate:
			theta[j] = value(p.globals[j])[0]
			sum += math.Ln2 + distuv.Normal{Sigma: r.Options.SDScale}.LogProb(theta[j])
		case noiseCoordinate:
			theta[j] = value(p.globals[j])[0]
			sum += distuv.LogNormal{Mu: c.mean, Sigma: c.sd}.LogProb(theta[j])
		case partialCoordinate: // density of z, from the density of (1 + ρ)/2
			theta[j] = value(p.globals[j])[0]
			w, logSlope := partialAt(theta[j], c.beta)
			rho := math.Tanh(w)
			sum += distuv.Beta{Alpha: c.beta, Beta: c.beta}.LogProb((1+rho)/2) - math.Ln2 + math.Log(1-rho*rho) + logSlope
		}
	}
	eta := make([]float64, len(r.y))
	for i := range eta {
		for j := range r.Frame.Columns {
			eta[i] += r.x.At(i, j) * theta[j]
		}
	}
	prior, _ := p.effectsAt(value, r.space.masks[0], make([]float64, r.Dim()))
	for k, g := range p.groups {
		q := len(g.Columns)
		rows := prior.factors[k]
		factor, covariance := mat.NewDense(q, q, nil), mat.NewSymDense(q, nil)
		for a := range q {
			factor.SetRow(a, rows[a])
		}
		covariance.SymOuterK(1, factor)
		for level := range g.Levels {
			b := make([]float64, q)
			for a, effects := range g.effects {
				b[a] = value(effects)[level]
			}
			normal, ok := distmv.NewNormal(make([]float64, q), covariance, nil)
			require.True(t, ok)
			sum += normal.LogProb(b)
			for i, at := range g.Index {
				for a := range q {
					if at == level {
						eta[i] += g.varyingGroup.z.At(i, a) * b[a]
					}
				}
			}
		}
	}
	for i, y := range r.y {
		if r.offset != nil {
			eta[i] += r.offset[i]
		}
		switch r.Frame.Response {
		case likelihood.PoissonKind:
			sum += distuv.Poisson{Lambda: math.Exp(eta[i])}.LogProb(y)
		case likelihood.StudentKind:
			sum += distuv.StudentsT{Mu: eta[i], Sigma: theta[r.noise], Nu: r.Options.Degrees}.LogProb(y)
		default:
			sum += distuv.Normal{Mu: eta[i], Sigma: theta[r.noise]}.LogProb(y)
		}
	}
	return sum
}

// The density of the model with plates (groups and rows) agrees with naiveJoint at draws of all
// latent variables. A class lies in one school, so that the plate of classes determines the plate
// of schools, but not the reverse, nor the plate of teachers.
func TestPlatesHaveTheDensityOfTheRegression(t *testing.T) {
	for name, opt := range map[string]frame.Options{
		"correlated": {Formula: "y ~ x + (1 + x | school)"},
		"crossed":    {Formula: "y ~ x + (1 | class) + (x || teacher)"},
		"nested":     {Formula: "y ~ 1 + (1 | class) + (1 + x | school)"},
		"student":    {Formula: "y ~ x + (1 | school)", Response: likelihood.StudentKind},
		"counts":     {Formula: "y ~ x + offset(x) + (0 + x | school)", Response: likelihood.PoissonKind},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegression(t, frameOf(t, schools, opt), Options{})
			p, err := r.Plates()
			require.NoError(t, err)
			q, err := hbm.Fit(context.Background(), open(t, gpu.CPU), p.Model, p.Data, hbm.Config{Family: hbm.MeanField, Steps: 1, DType: dtypes.Float64})
			require.NoError(t, err)
			draws, err := q.Sample(t.Context(), 5, "draws")
			require.NoError(t, err)
			for at := range draws.N {
				want := naiveJoint(t, p, func(v *hbm.Variable) []float64 { return draws.Of(v, at) })
				require.InDelta(t, want, draws.LogJoint[at], 1e-8*math.Abs(want))
			}
		})
	}
	nested, err := newRegression(t, frameOf(t, schools, frame.Options{Formula: "y ~ 1 + (1 | class) + (1 | teacher) + (1 | school)"}), Options{}).Plates()
	require.NoError(t, err)
	class, teacher, school := nested.groups[0].plate, nested.groups[1].plate, nested.groups[2].plate
	require.True(t, class.Determines(school) && !school.Determines(class) && !class.Determines(teacher))
	require.True(t, nested.rows.Determines(teacher) && nested.rows.Determines(school))
}

func runFamily(t testing.TB, r *Regression, cfg FamilyRun) *Result {
	t.Helper()
	cfg.Dir = t.TempDir()
	result, err := r.RunFamily(context.Background(), open(t, gpu.CPU), cfg)
	require.NoError(t, err)
	return result
}

// Answers of two variational families agree with the answer that integrates the effects out: means,
// standard deviations and pooling to 0.15. Five standard errors of a mean of a thousand effective
// draws are 0.16 sd. Log evidences agree with quadrature to 0.2 nats.
func TestFamiliesAgreeWithTheMarginalAnswer(t *testing.T) {
	testkit.Long(t)
	f := frameOfFile(t, "sleepstudy.csv", frame.Options{Formula: "Reaction ~ Days + (Days | Subject)"})
	marginal, _ := runRegression(t, f, Options{}, vti.Config{Steps: 100, Batch: 512, Flow: cosmic.Config{Layers: 3}, Seed: 2})
	r := newRegression(t, f, Options{})
	exact := quadratureEvidence(t, r, make([]int32, 1), 9)
	for _, family := range []hbm.Family{hbm.PAVIF, hbm.Branch} {
		result := runFamily(t, r, FamilyRun{Fit: hbm.Config{Family: family, Steps: 1200, DType: dtypes.Float64}})
		require.NotEqual(t, vti.Failed, result.Certificate.Verdict, result.Certificate.Reasons)
		require.Equal(t, family.String(), result.Family)
		assert.InDelta(t, exact, float64(*result.LogEvidence), 0.2)
		assert.Less(t, float64(*result.ELBO), exact)
		assert.Greater(t, float64(*result.ELBO), exact-1.2)
		assertClose := func(want, got Summary) {
			assert.InDelta(t, float64(want.Mean), float64(got.Mean), 0.15*float64(want.SD), "%v: mean of %s", family, want.Name)
			assert.InDelta(t, 1, float64(got.SD/want.SD), 0.15, "%v: sd of %s", family, want.Name)
		}
		for i := range marginal.Effects {
			assertClose(marginal.Effects[i], result.Effects[i])
		}
		for i := range marginal.SDs {
			assertClose(marginal.SDs[i], result.SDs[i])
		}
		require.Len(t, result.Varying, len(marginal.Varying))
		for i, want := range marginal.Varying {
			got := result.Varying[i]
			assertClose(Summary{Name: want.Level, Mean: want.Mean, SD: want.SD}, Summary{Mean: got.Mean, SD: got.SD})
			assert.InDelta(t, float64(want.Pooling), float64(got.Pooling), 0.15)
		}
	}
}

// The noise has a standard deviation of 34, and the means of three groups are equal. The standard
// deviation of groups therefore comes close to zero, and the effects of groups come close to each
// other. Every draw still has a finite density.
func TestFamiliesOfGroupsWithoutSpread(t *testing.T) {
	f := frameOf(t, "y,x,g\n26.12,-0.1246,a\n-24.89,-0.4277,b\n15.36,0.6804,c\n8.537,0.8917,a\n-25.67,-2.171,b\n13.11,-2.614,c\n"+
		"-8.349,0.4758,a\n41.16,-0.05394,b\n51.52,-0.983,c\n-20.28,-0.1671,a\n6.124,0.7757,b\n-5.509,-0.5501,c\n", frame.Options{Formula: "y ~ x + (1 | g)"})
	r := newRegression(t, f, Options{ResponseSD: 1})
	record := Record{Seed: 230592878940990, Steps: 200}
	plates, fit, err := r.familyFit(open(t, gpu.CPU), record.FamilyRun(hbm.PAVIF))
	require.NoError(t, err)
	posterior, err := hbm.Fit(t.Context(), open(t, gpu.CPU), plates.Model, plates.Data, fit)
	require.NoError(t, err)
	draws, err := posterior.Sample(t.Context(), 2000, "draws")
	require.NoError(t, err)
	for i := range draws.N {
		require.False(t, math.IsNaN(draws.LogJoint[i]-draws.LogQ[i]) || math.IsInf(draws.LogQ[i], 0), "draw %d", i)
	}
}

// At any standard deviation, an effect 1.5 standard deviations above a coefficient of 3 keeps this
// distance: rounding loses at most a small part of it, because standard deviations have a lower
// bound. If rounding removed the distance, the density would be too large.
func TestSmallestSDsKeepDistances(t *testing.T) {
	far := []float64{-60, -20, -12, -8, -5}
	for _, dtype := range []dtypes.DType{dtypes.Float32, dtypes.Float64} {
		out := MustExecOnce(testkit.Backend(t), func(u *Node) *Node {
			sd, _ := scaleLink{unit: 2}.ToEvent(ConvertDType(u, dtype), nil)
			effect := AddScalar(MulScalar(sd, 1.5), 3)
			return ConvertDType(Div(AddScalar(effect, -3), sd), dtypes.Float64)
		}, [][]float64{{far[0]}, {far[1]}, {far[2]}, {far[3]}, {far[4]}})
		tolerance := map[dtypes.DType]float64{dtypes.Float32: 0.025, dtypes.Float64: 5e-4}[dtype]
		for i, distance := range tensors.MustCopyFlatData[float64](out) {
			require.InDelta(t, 1.5, distance, tolerance, "%v at %g", dtype, far[i])
		}
	}
}

func TestFamilyMistakes(t *testing.T) {
	crossed := newRegression(t, frameOf(t, schools, frame.Options{Formula: "y ~ x + (1 | class) + (1 | teacher)"}), Options{})
	require.ErrorContains(t, crossed.CheckFamily(hbm.ADAVI, 0), `needs nested plates, but "(Intercept) | teacher" is on plates (teacher) and "(Intercept) | class" on (class), which are crossed`)
	require.NoError(t, crossed.CheckFamily(hbm.PAVIE, 0))
	require.ErrorContains(t, crossed.CheckFamily(hbm.PAVIE, 4), "family pavi-e needs whole groups: leave out the number of members, or use pavi-f or branch")
	require.NoError(t, crossed.CheckFamily(hbm.PAVIF, 4))
	selection := newRegression(t, frameOf(t, schools, frame.Options{Formula: "y ~ x + (1 | class)"}), Options{Select: true})
	require.NoError(t, selection.CheckFamily(hbm.PAVIF, 0))
	require.ErrorContains(t, selection.CheckFamily(hbm.Joint, 0), "to select terms use pavi-f or branch")
	require.NoError(t, selection.CheckFamily(hbm.PAVIF, 2))
	require.ErrorContains(t, selection.CheckFamily(hbm.PAVIF, 1000), "members of class in a step: got 1000, want at most 6")
}

// Evidences of every model, in a selection of terms by families of plates, agree with independent
// integrals, for a slope that may be absent, pooled, or vary together with the intercept.
func TestSelectionByFamilies(t *testing.T) {
	testkit.Long(t)
	random := rand.New(rand.NewPCG(3, 5))
	var text strings.Builder
	text.WriteString("y,x,g\n")
	for g := range 10 {
		level, slope := 0.8*random.NormFloat64(), 0.5+0.4*random.NormFloat64()
		for range 6 {
			x := random.NormFloat64()
			fmt.Fprintf(&text, "%v,%v,g%d\n", level+slope*x+0.7*random.NormFloat64(), x, g)
		}
	}
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	t.Cleanup(device.Close)
	options := Options{Select: true}
	exact, err := New(frameOf(t, text.String(), frame.Options{Formula: "y ~ x + (x | g)"}), options)
	require.NoError(t, err)
	found, err := exact.integrate(t.Context(), exact.effort(), 1, nil)
	require.NoError(t, err)
	for _, family := range []hbm.Family{hbm.PAVIF, hbm.Branch} {
		members := map[hbm.Family]int{hbm.PAVIF: 4}[family] // in a training step; 0: all
		r, err := New(frameOf(t, text.String(), frame.Options{Formula: "y ~ x + (x | g)"}), options)
		require.NoError(t, err)
		dir := t.TempDir()
		result, err := r.RunFamily(t.Context(), device, FamilyRun{Fit: hbm.Config{Family: family, Steps: 600, Seed: 1, DType: dtypes.Float64}, Members: members, Dir: dir})
		require.NoError(t, err)
		require.NotEqual(t, verdict.Failed, result.Certificate.Verdict, "%v: %v", family, result.Certificate.Reasons)
		require.Len(t, result.Models, len(found.list))
		checked := 0
		for _, m := range result.Models {
			at := slices.IndexFunc(found.list, func(model *modelIntegral) bool { return codeText(model.code) == m.Code })
			want := found.list[at].evidence()
			if *m.KHat > 0.5 { // a k̂ that says that the weights are unreliable
				continue
			}
			checked++
			require.InDelta(t, want.Log+r.logJacobian, float64(*m.LogEvidence), 4*math.Hypot(float64(*m.LogEvidenceSE), want.SE)+0.02, "%v: %s", family, m.Formula)
		}
		require.GreaterOrEqual(t, checked, 4, "of %d", len(result.Models))
		// coefficients that a model lacks are zero in its draws
		stored, err := draws.Read(filepath.Join(dir, draws.ParquetFile))
		require.NoError(t, err)
		columnOf := func(name string) int { return slices.Index(stored.Coordinates, name) }
		slope, sd := columnOf("x"), columnOf(r.groups[0].SpreadName(r.groups[0].Columns[1]))
		for i := range stored.Len() {
			mask := r.space.masks[r.index(stored.Codes[i*len(r.space.cards):][:len(r.space.cards)])]
			require.Equal(t, mask[1], stored.Values(i)[slope] != 0)
			require.Equal(t, mask[r.groups[0].sd[1]], stored.Values(i)[sd] != 0)
		}
	}
}

// The test sets a standard deviation to its lower bound, at correlations from zero to nearly one,
// which leave only a small part of it for an effect given the other effect. This part is bounded
// too, so that rounding does not remove it from a sum with 1. Without this bound, the log evidence
// of the table radon by the family pavi-e is 16 nats too large.
func TestCorrelatedEffectsDoNotRoundAway(t *testing.T) {
	r := newRegression(t, frameOf(t, heights(1, 6, 4), frame.Options{Formula: "y ~ x + (x | g)"}), Options{})
	p, err := r.Plates()
	require.NoError(t, err)
	g := p.groups[0]
	for _, z := range []float64{0, 3, 1e3, -1e6} {
		out := MustExecOnce(testkit.Backend(t), func(values *Node) *Node {
			element := func(i int) *Node { return Slice(values, AxisElem(i)) }
			rows, _ := p.factorNodes(g.varyingGroup, 1, []*Node{element(0), OnesLike(element(0)), element(1), OnesLike(element(1)), element(2)})
			return rows[1][1]
		}, []float64{1, leastRatio * r.coordinates[g.sd[1]].unit, z})
		left := tensors.MustCopyFlatData[float64](out)[0]
		const noise = 0.7
		require.InDelta(t, noise, ((1+noise*left)-1)/left, 1e-3, "z = %v", z)
	}
}
