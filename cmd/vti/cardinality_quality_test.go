//go:build quality

package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/transdim/vti/varsel"
)

var (
	cardinalityOut        = flag.String("cardinality.out", "", "folder for runs, rows and figures; a row that is there is not measured again")
	cardinalityPredictors = flag.String("cardinality.predictors", "9,12,16,20,24", "numbers of predictors")
	cardinalityLevels     = flag.String("cardinality.levels", "medium,high", "levels of misspecification")
	cardinalityReplicates = flag.Int("cardinality.replicates", 1, "data sets of each kind")
	cardinalityFlow       = flag.String("cardinality.flow", "affine", "flow of every fit")
	cardinalityIterations = flag.Int("cardinality.iterations", 32000, "iterations of the reference chains")
)

// largestTable is the number of predictors up to which q(m) can be a table, or a surrogate over
// one, that starts from a pilot run of every model.
const largestTable = 16

// TestCardinality is the sweep of the paper's figure 4: the robust design with a growing number of
// predictors, each sampler of models against long reversible-jump runs. It prints a table and draws
// cross-entropies.
//
//	go test -v -tags quality -run TestCardinality -timeout 10h ./cmd/vti \
//	    -args -cardinality.out DIR
func TestCardinality(t *testing.T) {
	out := *cardinalityOut
	if out == "" {
		out = t.TempDir()
	}
	out, err := filepath.Abs(out)
	require.NoError(t, err)
	sweep := sweep{rows: map[string]sweepRow{}, path: filepath.Join(out, "cardinality.csv")}
	require.NoError(t, os.MkdirAll(out, 0o755))
	sweep.read(t)
	for _, level := range strings.Split(*cardinalityLevels, ",") {
		for _, p := range strings.Split(*cardinalityPredictors, ",") {
			for seed := 1; seed <= *cardinalityReplicates; seed++ {
				sweep.measure(t, out, level, p, seed)
			}
		}
	}
	slices.SortStableFunc(sweep.order, func(a, b string) int { // rows of one data set together
		x, y := sweep.rows[a], sweep.rows[b]
		p, _ := strconv.Atoi(x.Predictors)
		q, _ := strconv.Atoi(y.Predictors)
		return cmp.Or(-strings.Compare(x.Level, y.Level), cmp.Compare(p, q), strings.Compare(x.Seed, y.Seed))
	})
	sweep.print()
	for _, level := range strings.Split(*cardinalityLevels, ",") {
		sweep.draw(t, level, filepath.Join(out, "cardinality-"+level))
	}
}

// sweepRow is one fit against the chains of its data set.
type sweepRow struct {
	Level, Predictors, Seed, Sampler string
	Verdict, ChainVerdict            string
	RHat, CrossEntropy, SE           float64
	MeanError, LargestError          float64
	KHat, ESS, Seconds, ChainSeconds float64
}

func (r sweepRow) key() string {
	return strings.Join([]string{r.Level, r.Predictors, r.Seed, r.Sampler}, " ")
}

func (r sweepRow) numbers() []*float64 {
	return []*float64{&r.RHat, &r.CrossEntropy, &r.SE, &r.MeanError, &r.LargestError, &r.KHat, &r.ESS, &r.Seconds, &r.ChainSeconds}
}

// sweep are the rows so far, in the order they were measured, and the file that keeps them.
type sweep struct {
	rows  map[string]sweepRow
	order []string
	path  string
}

func (s *sweep) add(row sweepRow) {
	s.rows[row.key()] = row
	s.order = append(s.order, row.key())
}

func (s *sweep) read(t *testing.T) {
	file, err := os.Open(s.path)
	if os.IsNotExist(err) {
		return
	}
	require.NoError(t, err)
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	for _, fields := range records {
		row := sweepRow{Level: fields[0], Predictors: fields[1], Seed: fields[2], Sampler: fields[3], Verdict: fields[4], ChainVerdict: fields[5]}
		numbers := make([]float64, len(fields)-6)
		for i := range numbers {
			numbers[i], err = strconv.ParseFloat(fields[6+i], 64)
			require.NoError(t, err)
		}
		row.RHat, row.CrossEntropy, row.SE, row.MeanError, row.LargestError = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
		row.KHat, row.ESS, row.Seconds, row.ChainSeconds = numbers[5], numbers[6], numbers[7], numbers[8]
		s.add(row)
	}
}

func (s *sweep) append(t *testing.T, row sweepRow) {
	file, err := os.OpenFile(s.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(t, err)
	defer file.Close()
	fields := []string{row.Level, row.Predictors, row.Seed, row.Sampler, row.Verdict, row.ChainVerdict}
	for _, number := range row.numbers() {
		fields = append(fields, strconv.FormatFloat(*number, 'g', 6, 64))
	}
	w := csv.NewWriter(file)
	require.NoError(t, w.Write(fields))
	w.Flush()
	require.NoError(t, w.Error())
	s.add(row)
}

// measure simulates a data set, samples it by chains, and fits it with every sampler that can hold
// its models. What is there is kept.
func (s *sweep) measure(t *testing.T, out, level, p string, seed int) {
	name := fmt.Sprintf("%s-%s-%d", level, p, seed)
	count, err := strconv.Atoi(p)
	require.NoError(t, err)
	samplers := []string{"autoregressive"}
	if count <= largestTable {
		samplers = []string{"categorical", "surrogate", "autoregressive"}
	}
	data, chains := filepath.Join(out, name+".csv"), filepath.Join(out, name+"-chains")
	problem := []string{data, "--target", "y", "--likelihood", "robust", "--no-standardize", "--no-intercept", "--always", "x0"}
	if _, err := os.Stat(data); err != nil {
		mustRun(t, "simulate", "varsel", "--design", "paper", "--misspecification", level, "--predictors", p, "--seed", strconv.Itoa(seed), "--out", data)
	}
	if _, err := os.Stat(filepath.Join(chains, varsel.ResultFile)); err != nil {
		require.NoError(t, os.RemoveAll(chains))
		mustRun(t, append([]string{"rjmcmc", "varsel", "--chains", "32", "--temperatures", "16", "--iterations", strconv.Itoa(*cardinalityIterations), "--seed", "2", "--burn-in", strconv.Itoa(*cardinalityIterations / 6),
			"--thin", strconv.Itoa(max(1, *cardinalityIterations/800)), "--quiet", "--out", chains}, problem...)...)
	}
	for _, sampler := range samplers {
		row := sweepRow{Level: level, Predictors: p, Seed: strconv.Itoa(seed), Sampler: sampler}
		if _, done := s.rows[row.key()]; done {
			continue
		}
		dir := filepath.Join(out, name+"-"+sampler)
		require.NoError(t, os.RemoveAll(dir))
		args := append([]string{"varsel", "--sampler", sampler, "--flow", *cardinalityFlow, "--json", "--quiet", "--out", dir}, problem...)
		if sampler != samplers[len(samplers)-1] { // the same chains would certify every sampler
			args = append(args, "--certify-draws", "16384")
		}
		ran := mustRun(t, args...)
		fitted := decode(t, ran.stdout)
		row.Verdict, row.KHat, row.ESS, row.Seconds = fitted.Certificate.Verdict, value(fitted.Certificate.KHat), value(fitted.Certificate.ESS), fitted.Seconds.Total

		var compared struct {
			A            struct{ Verdict string }
			CrossEntropy struct{ Mean, SE float64 } `json:"cross_entropy"`
			Inclusion    []struct{ Difference float64 }
		}
		require.NoError(t, json.Unmarshal([]byte(mustRun(t, "compare", chains, dir, "--json").stdout), &compared))
		row.ChainVerdict, row.CrossEntropy, row.SE = compared.A.Verdict, compared.CrossEntropy.Mean, compared.CrossEntropy.SE
		for _, predictor := range compared.Inclusion {
			row.MeanError += math.Abs(predictor.Difference) / float64(len(compared.Inclusion))
			row.LargestError = max(row.LargestError, math.Abs(predictor.Difference))
		}
		stored, err := os.ReadFile(filepath.Join(chains, varsel.ResultFile))
		require.NoError(t, err)
		sampled := decode(t, string(stored))
		row.RHat, row.ChainSeconds = value(sampled.Diagnostics.RHat), sampled.Seconds.Total
		s.append(t, row)
	}
}

func value(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}

func (s *sweep) print() {
	fmt.Println("| misspecification | p | data set | sampler | cross-entropy | mean inclusion error | largest | verdict | k̂ | ESS | seconds | chains: R-hat, seconds |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, key := range s.order {
		r := s.rows[key]
		fmt.Printf("| %s | %s | %s | %s | %.3f ± %.3f | %.4f | %.4f | %s | %.2f | %.0f | %.0f | %.3f, %.0f |\n", r.Level, r.Predictors, r.Seed, r.Sampler,
			r.CrossEntropy, r.SE, r.MeanError, r.LargestError, r.Verdict, r.KHat, r.ESS, r.Seconds, r.RHat, r.ChainSeconds)
	}
}

// draw plots the cross-entropies of a level, averaged over data sets, against the number of
// predictors.
func (s *sweep) draw(t *testing.T, level, path string) {
	lines := map[string]map[float64][]float64{}
	for _, row := range s.rows {
		if row.Level != level {
			continue
		}
		p, err := strconv.ParseFloat(row.Predictors, 64)
		require.NoError(t, err)
		if lines[row.Sampler] == nil {
			lines[row.Sampler] = map[float64][]float64{}
		}
		lines[row.Sampler][p] = append(lines[row.Sampler][p], row.CrossEntropy)
	}
	figure := plot.New()
	figure.Title.Text = "Cross-entropy of reversible-jump draws, " + level + " misspecification"
	figure.X.Label.Text, figure.Y.Label.Text = "predictors", "nats"
	var arguments []any
	for _, sampler := range []string{"categorical", "surrogate", "autoregressive"} {
		var points plotter.XYs
		for p := range 64 {
			if values := lines[sampler][float64(p)]; len(values) > 0 {
				var sum float64
				for _, v := range values {
					sum += v
				}
				points = append(points, plotter.XY{X: float64(p), Y: sum / float64(len(values))})
			}
		}
		if len(points) > 0 {
			arguments = append(arguments, sampler, points)
		}
	}
	figure.Legend.Top, figure.Legend.Left = true, true
	require.NoError(t, plotutil.AddLinePoints(figure, arguments...))
	for _, format := range []string{".svg", ".png"} {
		require.NoError(t, figure.Save(14*vg.Centimeter, 10*vg.Centimeter, path+format))
	}
}
