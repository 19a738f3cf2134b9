//go:build quality

package hbm

import (
	"flag"
	"math"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

var qualityMillions = flag.Float64("quality.millions", 10, "millions of latent numbers")

// peakMemory is the largest resident set of the process so far, in GiB.
func peakMemory(t testing.TB) float64 {
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return float64(usage.Maxrss) / (1 << 20)
}

// evidence adds up what the exact evidence of random effects depends on, group by group.
type evidence struct {
	e                     *effects
	groups                float64
	squares               float64   // within groups
	sum, squaresOfAverage []float64 // over groups, of averages [D]
}

// add takes the samples of a group, [N, D].
func (v *evidence) add(x []float64) {
	v.groups++
	for d := range v.e.dim {
		average := 0.0
		for i := range v.e.samples {
			average += x[i*v.e.dim+d] / float64(v.e.samples)
		}
		for i := range v.e.samples {
			v.squares += (x[i*v.e.dim+d] - average) * (x[i*v.e.dim+d] - average)
		}
		v.sum[d] += average
		v.squaresOfAverage[d] += average * average
	}
}

// exact is the log evidence, and the posterior mean and standard deviation of the mean of all
// groups; see effects.exact.
func (v *evidence) exact() (logEvidence float64, mean []float64, sd float64) {
	e, n := v.e, float64(v.e.samples)
	within := e.sd[2] * e.sd[2] / n
	between := e.sd[1]*e.sd[1] + within
	logNormal := func(squares, count, variance float64) float64 {
		return -squares/(2*variance) - count/2*math.Log(2*math.Pi*variance)
	}
	logEvidence = logNormal(v.squares, v.groups*n*float64(e.dim), e.sd[2]*e.sd[2]) + v.groups*float64(e.dim)/2*math.Log(2*math.Pi*within)
	precision := 1/(e.sd[0]*e.sd[0]) + v.groups/between
	for d := range e.dim {
		m := v.sum[d] / between / precision
		mean = append(mean, m)
		logEvidence += logNormal(m*m, 1, e.sd[0]*e.sd[0]) - logNormal(0, 1, 1/precision)
		logEvidence += logNormal(v.squaresOfAverage[d]-2*m*v.sum[d]+v.groups*m*m, v.groups, between)
	}
	return logEvidence, mean, math.Sqrt(1 / precision)
}

// TestTrainingBySlices writes data of Gaussian random effects with ten million latent numbers (a
// million groups of ten, five samples each) to a Parquet file, and trains on it by slices:
//
//	GOMAXPROCS=1 go test -tags quality -run TestTrainingBySlices -v -timeout 60m ./hbm \
//	    -quality.families amortized-branch -quality.steps 4000 -quality.batch 500
func TestTrainingBySlices(t *testing.T) {
	const dim, samples, perSlice = 10, 5, 10000
	groups := int(*qualityMillions * 1e6 / dim)
	e := newEffects(groups, samples, dim)
	path := filepath.Join(t.TempDir(), "data.parquet")
	w := newParquetWriter(t, path, numberedColumns(dim)...)
	random := rand.New(rand.NewPCG(1, 2))
	known := &evidence{e: e, sum: make([]float64, dim), squaresOfAverage: make([]float64, dim)}
	center := make([]float64, dim)
	for d := range center {
		center[d] = e.sd[0] * random.NormFloat64()
	}
	for start := 0; start < groups; start += perSlice {
		var values []float64
		for range min(perSlice, groups-start) {
			var mean [dim]float64
			for d := range mean {
				mean[d] = center[d] + e.sd[1]*random.NormFloat64()
			}
			first := len(values)
			for range samples {
				for d := range mean {
					values = append(values, mean[d]+e.sd[2]*random.NormFloat64())
				}
			}
			known.add(values[first:])
		}
		w.add(values)
	}
	require.NoError(t, w.Close())
	logEvidence, mean, sd := known.exact()
	t.Logf("written; peak memory %.2f GiB", peakMemory(t))
	t.Log("| family | latent numbers | weights | steps | CPU seconds | peak memory, GiB | gap per group | largest error of a population mean, sd |")
	for _, family := range []Family{AmortizedBranch, PAVIE, PAVIF} {
		if !chosen(*qualityFamily, family.String()) {
			continue
		}
		source, err := OpenParquetSlices(path, e.model.plates[0], map[*Variable][]string{e.x: numberedColumns(dim)})
		require.NoError(t, err)
		cfg := Config{Family: family, Steps: *qualitySteps, LearningRate: *qualityRate, Batch: map[*Plate]int{e.model.plates[0]: max(*qualityBatch, 100)}, Slices: SliceConfig{Source: source}}
		cfg.Progress = func(info Info) {
			t.Logf("step %d, gap per group %.4f", info.Step, (logEvidence-info.ELBO)/float64(groups))
		}
		cfg.LogEvery = max(1, cfg.Steps/20)
		start := cpuSeconds(t)
		p := fit(t, e.model, Values{}, cfg)
		seconds := cpuSeconds(t) - start
		var elbo, largest float64
		const draws = 4
		slices := groups / perSlice
		at := make([]float64, dim)
		for i := range slices {
			part, err := p.SampleSlice(t.Context(), i, draws, "quality")
			require.NoError(t, err)
			for k := range draws {
				elbo += (part.LogJoint[k] - part.LogQ[k]) / float64(slices*draws)
				for d, value := range part.Of(e.mean, k) {
					at[d] += value / float64(slices*draws)
				}
			}
		}
		for d := range mean {
			largest = math.Max(largest, math.Abs(at[d]-mean[d])/sd)
		}
		t.Logf("| %v | %d | %d | %d | %.0f | %.2f | %.4f | %.2f |", family, groups*dim+dim, p.Weights(), p.Steps(), seconds, peakMemory(t), (logEvidence-elbo)/float64(groups), largest)
		require.NoError(t, source.Close())
	}
}
