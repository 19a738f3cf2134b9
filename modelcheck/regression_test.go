package modelcheck_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/modelcheck"
)

// Tables drawn from the model and its prior are called good at least 95 times in 100, for every
// likelihood and from 5 to 500 rows. Package modelcheck guarantees 96 percent for the checks with
// p-values. At that rate, a run of 5 × 60 tables fails this test with probability 0.2 percent.
func TestGoodTablesAreGood(t *testing.T) {
	testkit.Slow(t)
	random := rand.New(rand.NewPCG(1, 2))
	rows := []int{5, 8, 15, 40, 120, 500}
	repeats := 5
	if testing.Short() {
		rows, repeats = rows[:5], 4
	}
	total, bad, poor := 0, 0, 0
	for _, l := range noises {
		wrong := 0
		for _, n := range rows {
			for range repeats {
				table, theta := priorTable(l, n, 1+random.IntN(4), random)
				report := check(t, table.input(random, table.chain(theta, random)))
				total++
				if report.Verdict == modelcheck.Poor {
					poor++
				}
				if report.Verdict != modelcheck.Good {
					wrong++
					t.Logf("%s, %d rows: %v", l.name, n, report.Findings)
				}
			}
		}
		t.Logf("%s: %d of %d tables of the model are not called good", l.name, wrong, len(rows)*repeats)
		bad += wrong
	}
	t.Logf("%d of %d tables are called poor", poor, total)
	limit := 0.05*float64(total) + 3*math.Sqrt(0.04*0.96*float64(total))
	require.LessOrEqual(t, float64(bad), limit)
}

// Each kind of table that a model does not describe is found in nearly all of 20 random tables of
// 100 rows, by the finding that describes this defect.
func TestBadTablesAreFound(t *testing.T) {
	testkit.Slow(t)
	const n = 100
	normals := func(random *rand.Rand) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = random.NormFloat64()
		}
		return x
	}
	gaussian, logistic, poisson := noises[0], noises[3], noises[4]
	for _, kind := range []struct {
		name, term string
		noise      noise
		least      int // least number of tables with the finding, of 20
		make       func(x, z []float64, random *rand.Rand) (y []float64)
	}{
		{"overdispersed counts", "overdispersion", poisson, 19, func(x, z []float64, random *rand.Rand) []float64 {
			return each(n, func(i int) float64 {
				return poisson.draw(1+0.3*x[i]+random.NormFloat64(), 1, random)
			})
		}},
		{"many zeros", "zero counts", poisson, 19, func(x, z []float64, random *rand.Rand) []float64 {
			return each(n, func(i int) float64 {
				if random.Float64() < 0.3 {
					return 0
				}
				return poisson.draw(1.5, 1, random)
			})
		}},
		{"a square", "curvature", gaussian, 20, func(x, z []float64, random *rand.Rand) []float64 {
			return each(n, func(i int) float64 { return 5*x[i]*x[i] + random.NormFloat64() })
		}},
		{"one value of a million", "outlier", gaussian, 20, func(x, z []float64, random *rand.Rand) []float64 {
			y := each(n, func(i int) float64 { return x[i] + random.NormFloat64() })
			y[random.IntN(n)] = 1e6
			return y
		}},
		{"Cauchy noise", "heavy tails", gaussian, 19, func(x, z []float64, random *rand.Rand) []float64 {
			return each(n, func(i int) float64 { return x[i] + random.NormFloat64()/random.NormFloat64() })
		}},
		{"a random walk", "serial dependence", gaussian, 20, func(x, z []float64, random *rand.Rand) []float64 {
			level := 0.0
			return each(n, func(i int) float64 { level += random.NormFloat64(); return x[i] + level })
		}},
		{"multiplicative noise", "unequal spread", gaussian, 18, func(x, z []float64, random *rand.Rand) []float64 {
			for i := range x {
				x[i] = 10 * random.Float64()
			}
			return each(n, func(i int) float64 { return (1 + x[i]) * (1 + 0.3*random.NormFloat64()) })
		}},
		{"0 and 1 under normal noise", "two values", gaussian, 20, func(x, z []float64, random *rand.Rand) []float64 {
			return each(n, func(i int) float64 { return logistic.draw(x[i], 1, random) })
		}},
		{"−999 in the response", "suspicious value", gaussian, 20, func(x, z []float64, random *rand.Rand) []float64 {
			y := each(n, func(i int) float64 { return 20 + x[i] + random.NormFloat64() })
			y[3], y[50] = -999, -999
			return y
		}},
		{"−999 in a predictor", "suspicious value", gaussian, 20, func(x, z []float64, random *rand.Rand) []float64 {
			y := each(n, func(i int) float64 { return x[i] + random.NormFloat64() })
			x[7], x[9], x[11] = -999, -999, -999
			return y
		}},
		{"a nearly constant predictor", "nearly constant", gaussian, 20, func(x, z []float64, random *rand.Rand) []float64 {
			clear(z)
			z[40] = 1
			return each(n, func(i int) float64 { return x[i] + random.NormFloat64() })
		}},
		{"a copy of a predictor with noise", "nearly collinear", gaussian, 20, func(x, z []float64, random *rand.Rand) []float64 {
			for i := range z {
				z[i] = 100 + 3*x[i] + 0.01*random.NormFloat64()
			}
			return each(n, func(i int) float64 { return x[i] + random.NormFloat64() })
		}},
		{"a response that a predictor decides", "separation", logistic, 20, func(x, z []float64, random *rand.Rand) []float64 {
			return each(n, func(i int) float64 {
				if x[i] > 0.2 {
					return 1
				}
				return 0
			})
		}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(3, uint64(len(kind.name))))
			found, poor, tables := 0, 0, 20
			if testing.Short() {
				tables = 6
			}
			for range tables {
				x, z := normals(random), normals(random)
				y := kind.make(x, z, random)
				table := &regressionTable{noise: kind.noise, y: y, x: [][]float64{each(n, func(int) float64 { return 1 }), x, z}}
				report := check(t, table.input(random, table.fitted(random)))
				if report.Verdict == modelcheck.Poor {
					poor++
				}
				if report.Verdict != modelcheck.Good && mentions(report, kind.term) {
					found++
				} else {
					t.Logf("%v", report)
				}
			}
			t.Logf("found %d of %d, %d called poor", found, tables, poor)
			require.GreaterOrEqual(t, found, kind.least*tables/20)
		})
	}
}

// The check finds copied rows in tables in which every row is written 50 times, and in tables in
// which 40 of 60 rows are written twice, for every kind of response. It finds none in replicated
// designs, in which equal rows have separate responses.
func TestCopiedRows(t *testing.T) {
	testkit.Slow(t)
	random := rand.New(rand.NewPCG(5, 6))
	for _, l := range []noise{noises[0], noises[3], noises[4]} {
		for _, scheme := range []string{"all", "part", "design"} {
			t.Run(l.name+" "+scheme, func(t *testing.T) {
				table, theta := priorTable(l, 60, 2, random)
				for i := range 60 { // columns with values that are not equal by chance
					table.x[1][i], table.x[2][i] = random.NormFloat64(), random.NormFloat64()
					table.y[i] = l.draw(table.eta(theta, i), math.Exp(theta[3]), random)
				}
				times, from := 50, 0
				if scheme != "all" {
					times, from = 2, 20
				}
				if scheme == "design" {
					from = 0
				}
				for range times - 1 {
					for i := from; i < 60; i++ {
						for j := range table.x {
							table.x[j] = append(table.x[j], table.x[j][i])
						}
						y := table.y[i]
						if scheme == "design" {
							y = l.draw(table.eta(theta, i), math.Exp(theta[3]), random)
						}
						table.y = append(table.y, y)
					}
				}
				report := check(t, table.input(random, table.fitted(random)))
				require.Equal(t, scheme != "design", mentions(report, "duplicated rows"), "%v", report.Findings)
			})
		}
	}
}

// A response with few distinct values does not mean that rows were copied. Here the response is the
// logarithm of a measurement with one decimal, and many rows have equal values of all predictors.
// The check must find copies only if a third of the rows is written twice.
func TestCoarseResponses(t *testing.T) {
	testkit.Slow(t)
	random := rand.New(rand.NewPCG(15, 16))
	const n, places = 600, 60
	for _, doubled := range []bool{false, true} {
		found := 0
		for range 5 {
			level := each(places, func(int) float64 { return random.NormFloat64() })
			table := &regressionTable{noise: noises[0], x: make([][]float64, 3)}
			for i := range n {
				place, floor := level[i%places], float64(random.IntN(2))
				y := math.Log(math.Round(10*math.Exp(1+0.7*place-0.6*floor+0.75*random.NormFloat64()))/10 + 0.1)
				for range map[bool]int{false: 1, true: 1 + i%3/2}[doubled] {
					table.y = append(table.y, y)
					for j, v := range []float64{1, floor, place} {
						table.x[j] = append(table.x[j], v)
					}
				}
			}
			if mentions(check(t, table.input(random, table.fitted(random))), "duplicated rows") {
				found++
			}
		}
		require.Equal(t, map[bool]int{false: 0, true: 5}[doubled], found)
	}
}

func check(t *testing.T, in modelcheck.RegressionInput) modelcheck.Report {
	t.Helper()
	report, err := modelcheck.Regression(t.Context(), in)
	require.NoError(t, err)
	return report
}

func each(n int, value func(i int) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = value(i)
	}
	return out
}

func mentions(r modelcheck.Report, term string) bool {
	for _, f := range r.Findings {
		if strings.HasPrefix(f.What, term) {
			return true
		}
	}
	return false
}
