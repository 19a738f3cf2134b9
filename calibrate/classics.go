package calibrate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/table"
)

// classic is a table drawn from the prior of a command that answers without training: mixtures,
// changes, orders.
type classic struct {
	about string
	// columns of the table, by name
	names   []string
	columns [][]float64
	// number is the true number of components, changes or knots, or the degree.
	number int
	// functions are numbers of the truth, with what each is of a draw; one that is not a number is
	// left out.
	functions []functional
}

// functional is a number of the truth.
type functional struct {
	kind  string
	truth float64
	of    func(sample *draws.Draws, draw int) float64
}

// stated is what an answer says.
type stated struct {
	head    run.Head
	verdict vti.Verdict
	reasons []string
	// first is the number that probabilities begin with.
	first         int
	probabilities []float64
}

// answerClassic runs a command on the table in a directory of its own, and compares what it states
// with the truth.
func answerClassic(ctx context.Context, c *classic, dir string, seed uint64, random *rand.Rand, answer func(t *table.Table, dir string) (*stated, error)) (*Replicate, error) {
	started := time.Now()
	r := &Replicate{About: c.about, table: c.csv()}
	defer func() { r.Seconds = time.Since(started).Seconds() }()
	data, err := table.Parse(tableName(seed), r.table)
	if err != nil {
		return nil, err // the generator's mistake
	}
	work := filepath.Join(dir, "run")
	if err := os.RemoveAll(work); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	result, err := answer(data, work)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		r.Verdict, r.Error = broken, err.Error()
		if result == nil {
			r.Verdict = refused
		}
		return r, nil
	}
	r.Verdict, r.Reasons = result.verdict.String(), strings.Join(result.reasons, "; ")
	r.noteModelCheck(result.head.ModelCheck)
	if result.verdict == vti.Failed {
		return r, nil
	}
	// Doubtful answers count too: what makes them so, such as a probable largest number, depends
	// on the truth, and ranks of a choice by the truth are not uniform.
	most, below := 0, 0.0
	for k, p := range result.probabilities {
		if p > result.probabilities[most] {
			most = k
		}
		if k+result.first < c.number {
			below += p
		}
	}
	r.Ranks = append(r.Ranks, Rank{"number", below + random.Float64()*result.probabilities[c.number-result.first]})
	r.Events = append(r.Events,
		Event{"most probable number", Number(result.probabilities[most]), most+result.first == c.number},
		Event{"smallest number", Number(result.probabilities[0]), result.first == c.number})
	sample, err := draws.Read(filepath.Join(work, draws.ParquetFile))
	if err != nil {
		return nil, err
	}
	for _, f := range c.functions {
		under, count := 0.0, 0.0
		for d := range sample.Len() {
			if v := f.of(sample, d); !math.IsNaN(v) {
				count++
				if v < f.truth {
					under++
				}
			}
		}
		r.Ranks = append(r.Ranks, Rank{f.kind, (under + random.Float64()) / (count + 1)})
	}
	return r, nil
}

// csv is the table, with all digits.
func (c *classic) csv() []byte {
	var text strings.Builder
	text.WriteString(strings.Join(c.names, ",") + "\n")
	for i := range c.columns[0] {
		for k, column := range c.columns {
			if k > 0 {
				text.WriteByte(',')
			}
			fmt.Fprintf(&text, "%.17g", column[i])
		}
		text.WriteByte('\n')
	}
	return []byte(text.String())
}

// coordinate is the index of a coordinate of draws, −1 for none.
func coordinate(sample *draws.Draws, name string) int {
	for j, other := range sample.Coordinates {
		if other == name {
			return j
		}
	}
	return -1
}

// studyName identifies a study by its command, its rows, and the options that are not at their
// defaults, by the names that JSON gives them.
func studyName(command string, rows int, options any) string {
	words := []string{fmt.Sprintf("%s: %d rows", command, rows)}
	set := reflect.ValueOf(options)
	for f := range set.NumField() {
		value := reflect.Indirect(set.Field(f))
		if !value.IsValid() || value.IsZero() { // left at its default
			continue
		}
		name, _, _ := strings.Cut(set.Type().Field(f).Tag.Get("json"), ",")
		words = append(words, fmt.Sprintf("%s %v", strings.ReplaceAll(name, "_", " "), value.Interface()))
	}
	return strings.Join(words, ", ")
}

// poissonNumber draws a number up to most from a Poisson distribution cut there.
func poissonNumber(mean float64, most int, random *rand.Rand) int {
	logs, total := make([]float64, most+1), 0.0
	for k := range logs {
		lg, _ := math.Lgamma(float64(k) + 1)
		logs[k] = math.Exp(float64(k)*math.Log(mean) - lg)
		total += logs[k]
	}
	u, k := random.Float64()*total, 0
	for u -= logs[0]; u > 0 && k < most; u -= logs[k] {
		k++
	}
	return k
}

// gamma draws from Gamma(shape, rate).
func gamma(shape, rate float64, random *rand.Rand) float64 { return stream.Gamma(shape, random) / rate }
