package hbm

import (
	gocontext "context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	vti "github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// openCPU opens the device that users train on.
func openCPU(t testing.TB) *gpu.Device {
	t.Helper()
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	t.Cleanup(device.Close)
	return device
}

func fit(t testing.TB, m *Model, data Values, cfg Config) *Posterior {
	t.Helper()
	p, err := Fit(gocontext.Background(), openCPU(t), m, data, cfg)
	require.NoError(t, err)
	return p
}

// A fit comes near the exact evidence and posterior. The family Branch contains the exact
// posterior, and so do PAVI-F, by its affine block, and Joint. The means of three groups are nearly
// independent a posteriori, so that MeanField comes near too.
func TestFitEffects(t *testing.T) {
	testkit.Slow(t)
	e := newEffects(3, 50, 2)
	data := e.draw(t, 1)
	exact := e.exact(data)
	for _, family := range []Family{PAVIF, Branch, MeanField, Joint} {
		t.Run(family.String(), func(t *testing.T) {
			p := fit(t, e.model, data, Config{Family: family, Steps: 500})
			elbo, se, err := p.ELBO(t.Context(), 1000, "elbo")
			require.NoError(t, err)
			require.Less(t, se, 0.02)
			require.InDelta(t, exact.logEvidence, elbo, 0.1, "nats, of three groups")
			require.Less(t, elbo, exact.logEvidence+5*se, "it is a bound")
			draws, err := p.Sample(t.Context(), 4000, "posterior")
			require.NoError(t, err)
			for g := range 3 {
				for d := range 2 {
					column := make([]float64, draws.N)
					for i := range column {
						column[i] = draws.Of(e.groupMean, i)[g*2+d]
					}
					mean, sd := stat.MeanStdDev(column, nil)
					require.InDelta(t, exact.group[g*2+d], mean, 0.1*exact.groupSD[d])
					require.InDelta(t, 1, sd/exact.groupSD[d], 0.1)
				}
			}
		})
	}
}

// ragged returns a model with all kinds of plates: schools of different sizes, pupils nested in
// schools, and years, which are crossed with both.
func ragged() (m *Model, observed *Variable, plates map[string]*Plate) {
	m = NewModel()
	school := m.Plate("school", 4)
	pupil := m.Plate("pupil", 9).In(school, []int32{0, 0, 0, 1, 2, 2, 3, 3, 3})
	year := m.Plate("year", 3)
	sd := m.Latent("sd", HalfNormal(Number(1)))
	level := m.Latent("level", Normal(Number(0), Number(2)), On(school))
	ability := m.Latent("ability", Normal(level, sd), On(pupil), Event(2))
	trend := m.Latent("trend", Normal(Number(0), sd), On(year))
	observed = m.Observed("mark", StudentT(Number(5), Of(func(v []*Node) *Node {
		return Add(v[0], InsertAxes(v[1], -1))
	}, ability, trend), Number(0.5)), On(year, pupil), Event(2))
	return m, observed, map[string]*Plate{"school": school, "pupil": pupil, "year": year}
}

// The reduced ELBO is an estimate from a random selection of members of each plate. Its mean over
// selections is the ELBO of all members (PAVI eq. 7), within five standard errors. Without the
// weights of members in eq. 5 and 6 the mean differs by more.
func TestReducedELBOIsUnbiased(t *testing.T) {
	m, observed, plates := ragged()
	simulator, err := NewSimulator(open(t), m)
	require.NoError(t, err)
	drawn, err := simulator.Draw(t.Context(), nil, 2, "marks")
	require.NoError(t, err)
	p := fit(t, m, Values{observed: drawn[observed]}, Config{Steps: 30})
	full, fullSE, err := p.ELBO(t.Context(), 2000, "full")
	require.NoError(t, err)

	s, err := newSelector(m, map[*Plate]int{plates["school"]: 2, plates["pupil"]: 2, plates["year"]: 2})
	require.NoError(t, err)
	const selections, draws = 400, 16
	exec, err := context.NewExecAny(p.graphs.Device.Backend(), p.graphs.Variables, func(ctx *context.Context, inputs []*Node) []*Node {
		r := p.feed.replica(s, inputs)
		elbo := func(r *replica) *Node { // reduced (PAVI eq. 5 and 6)
			logJoint, logQ := p.densities(ctx, r, draws)
			return ReduceAllMean(Sub(logJoint, logQ))
		}
		weighted := elbo(r)
		bare := p.feed.replica(s, inputs)
		clear(bare.weights)
		return []*Node{weighted, elbo(bare)}
	})
	require.NoError(t, err)
	random := stream.Rand(1, "selections")
	weighted, bare := make([]float64, selections), make([]float64, selections)
	for i := range weighted {
		outputs, err := exec.Exec(p.feed.inputs(s.draw(random))...)
		require.NoError(t, err)
		weighted[i], bare[i] = tensors.ToScalar[float64](outputs[0]), tensors.ToScalar[float64](outputs[1])
	}
	mean, sd := stat.MeanStdDev(weighted, nil)
	tolerance := 5 * math.Hypot(sd/math.Sqrt(selections), fullSE)
	require.InDelta(t, full, mean, tolerance)
	require.Greater(t, math.Abs(stat.Mean(bare, nil)-full), tolerance)
}

// A step with some members of a plate changes only their encodings, and their moments in Adam.
func TestStepsTouchSelectedEncodings(t *testing.T) {
	e := newEffects(20, 5, 2)
	data := e.draw(t, 1)
	batch := map[*Plate]int{e.model.plates[0]: 6}
	s, err := newSelector(e.model, batch)
	require.NoError(t, err)
	touched := func(step int) []int32 {
		return s.draw(stream.Rand(0, fmt.Sprintf("plates/%d", step))).members[e.model.plates[0]]
	}
	table := func(p *Posterior) []float32 {
		variable := p.graphs.Variables.In(e.groupMean.scope()).GetVariable(encodingsName)
		require.NotNil(t, variable)
		value, err := variable.Value()
		require.NoError(t, err)
		return tensors.MustCopyFlatData[float32](value)
	}
	after := func(steps int) []float32 {
		ctx, cancel := gocontext.WithCancel(gocontext.Background())
		p, err := Fit(ctx, openCPU(t), e.model, data, Config{Batch: batch, Steps: 10, LogEvery: 1, Progress: func(info vti.Info) {
			if info.Step == steps {
				cancel()
			}
		}})
		require.ErrorIs(t, err, gocontext.Canceled)
		return table(p)
	}
	first, second := after(1), after(2)
	width := len(first) / 20
	moved, onlyFirst := 0, 0
	for g := range 20 {
		selected := slices.Contains(touched(1), int32(g))
		require.Equal(t, selected, !slices.Equal(first[g*width:(g+1)*width], second[g*width:(g+1)*width]), "group %d", g)
		if selected {
			moved++
		} else if slices.Contains(touched(0), int32(g)) {
			onlyFirst++ // its moments would move it in the second step
		}
	}
	require.Equal(t, 6, moved)
	require.Positive(t, onlyFirst)
}

// Training on some members of each plate ends within 0.2 nats per group of the log evidence.
func TestFitByParts(t *testing.T) {
	testkit.Slow(t)
	e := newEffects(40, 10, 2)
	data := e.draw(t, 1)
	exact := e.exact(data)
	p := fit(t, e.model, data, Config{Batch: map[*Plate]int{e.model.plates[0]: 10, e.model.plates[1]: 5}, Steps: 1000})
	elbo, _, err := p.ELBO(t.Context(), 500, "elbo")
	require.NoError(t, err)
	require.Less(t, (exact.logEvidence-elbo)/40, 0.2)
}

// The same seed gives the same bits for any number of threads.
func TestFitIsDeterministic(t *testing.T) {
	e := newEffects(4, 5, 2)
	data := e.draw(t, 1)
	run := func(procs int, seed uint64) []float64 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		p := fit(t, e.model, data, Config{Batch: map[*Plate]int{e.model.plates[0]: 2}, Steps: 20, Seed: seed})
		draws, err := p.Sample(t.Context(), 3, "posterior")
		require.NoError(t, err)
		return append(slices.Clone(draws.Values[e.groupMean]), draws.LogJoint...)
	}
	first := run(1, 7)
	require.Equal(t, first, run(2, 7))
	require.NotEqual(t, first, run(1, 8))
}

func TestFitMistakes(t *testing.T) {
	e := newEffects(3, 5, 2)
	data := e.draw(t, 1)
	device := openCPU(t)
	for says, cfg := range map[string]Config{
		"got Steps -1, want a number that is not negative": {Steps: -1},
		"got the family hbm.Family(77)":                    {Family: 77},
		"got DType Int32":                                  {DType: dtypes.Int32},
		"got Batch[\"group\"] -2":                          {Batch: map[*Plate]int{e.model.plates[0]: -2}},
		"cosmic: got Bins":                                 {Flow: cosmic.Config{Kind: cosmic.Spline, Bins: 1}},
	} {
		_, err := Fit(gocontext.Background(), device, e.model, data, cfg)
		require.ErrorContains(t, err, says)
	}
	_, err := Fit(gocontext.Background(), device, e.model, data, Config{Family: Joint, Batch: map[*Plate]int{e.model.plates[0]: 2}})
	require.ErrorContains(t, err, "got a Batch")
	large := newEffects(MaxJoint, 1, 1)
	_, err = Fit(gocontext.Background(), device, large.model, large.draw(t, 1), Config{Family: Joint})
	require.ErrorContains(t, err, "at most 2048 latent numbers, this has 2049")
	_, err = Fit(gocontext.Background(), device, e.model, Values{}, Config{})
	require.ErrorContains(t, err, "has no values")
	onlyData := NewModel()
	x := onlyData.Observed("x", Normal(Number(0), Number(1)))
	_, err = Fit(gocontext.Background(), device, onlyData, Values{x: {1}}, Config{})
	require.ErrorContains(t, err, "no latent variable")

	cancelled, cancel := gocontext.WithCancel(gocontext.Background())
	p, err := Fit(cancelled, device, e.model, data, Config{LogEvery: 1, Progress: func(info vti.Info) {
		if info.Step == 2 {
			cancel()
		}
	}})
	require.ErrorIs(t, err, gocontext.Canceled)
	require.Equal(t, 2, p.Steps())
	_, err = p.Sample(t.Context(), 0, "none")
	require.Error(t, err)

	// A term that fails is an error, not a panic. A density that is never finite stops training.
	m := NewModel()
	mean := m.Latent("mean", Normal(Number(0), Number(1)), Event(2))
	m.Observed("x", Normal(At(mean, 5), Number(1)))
	_, err = Fit(gocontext.Background(), device, m, Values{m.variables[1]: {1}}, Config{})
	require.ErrorContains(t, err, "hbm.At: index 5")
	m = NewModel()
	mean = m.Latent("mean", Normal(Number(0), Number(1)))
	m.Observed("x", Normal(mean, Of(func(v []*Node) *Node { return Log(Neg(Square(v[0]))) }, mean)))
	_, err = Fit(gocontext.Background(), device, m, Values{m.variables[1]: {1}}, Config{})
	require.ErrorContains(t, err, "not finite")
}

func TestFamilyNames(t *testing.T) {
	for i := range FamilyNames() {
		family, err := ParseFamily(Family(i).String())
		require.NoError(t, err)
		require.Equal(t, Family(i), family)
	}
	_, err := ParseFamily("pavi")
	require.ErrorContains(t, err, `unknown family "pavi"`)
}

// The noise of the one sample of each group is larger than the distance of the groups, so that
// latent variables are correlated. The ELBOs of families with this dependence are near the log
// evidence; the ELBO of the mean field is lower.
func TestFitOfDependence(t *testing.T) {
	e := newEffects(4, 1, 1)
	e.sd = [3]float64{1, 0.2, 0.3}
	e.model = NewModel()
	group, sample := e.model.Plate("group", 4), e.model.Plate("sample", 1)
	e.mean = e.model.Latent("mean", Normal(Number(0), Number(e.sd[0])), Event(1))
	e.groupMean = e.model.Latent("group mean", Normal(e.mean, Number(e.sd[1])), On(group), Event(1))
	e.x = e.model.Observed("x", Normal(e.groupMean, Number(e.sd[2])), On(group, sample), Event(1))
	data := e.draw(t, 1)
	exact := e.exact(data)
	for family, accurate := range map[Family]bool{PAVIF: true, Branch: true, Joint: true, MeanField: false} {
		p := fit(t, e.model, data, Config{Family: family, Steps: 500})
		elbo, se, err := p.ELBO(t.Context(), 2000, "elbo")
		require.NoError(t, err)
		require.Equal(t, accurate, exact.logEvidence-elbo < 0.05+5*se, "%v: %g nats below", family, exact.logEvidence-elbo)
	}
}

// An overflow in the first steps does not end a training; an overflow in every step does.
func TestFirstStepsMayOverflow(t *testing.T) {
	fitted := func(limit float64) (reports []vti.Info, err error) {
		m := NewModel()
		mean := m.Latent("mean", Normal(Number(0), Number(1)))
		// the density is NaN if the mean exceeds a limit, and the data, at −1, draw the mean down
		sd := Of(func(v []*Node) *Node {
			return Where(GreaterThan(v[0], Scalar(v[0].Graph(), v[0].DType(), limit)), MulScalar(OnesLike(v[0]), math.NaN()), OnesLike(v[0]))
		}, mean)
		x := m.Observed("x", Normal(mean, sd), On(m.Plate("row", 400)))
		_, err = Fit(gocontext.Background(), openCPU(t), m, Values{x: slices.Repeat([]float64{-1}, 400)}, Config{
			Family: MeanField, Steps: 300, LearningRate: 0.1, Draws: 64, Progress: func(info vti.Info) { reports = append(reports, info) },
		})
		return reports, err
	}
	reports, err := fitted(0.7)
	require.NoError(t, err)
	require.Greater(t, reports[0].NonFinite, 0, "more than one of a hundred draws")
	_, err = fitted(-1)
	require.ErrorContains(t, err, "of 64 draws between steps 0 and 1 had a log density that is not finite (limit 0.5)")
}
