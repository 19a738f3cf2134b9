package calibrate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/table"
)

// classic is a table drawn from the prior of a command that answers without training: vti mixture,
// vti changepoints or vti order.
type classic struct {
	about   string
	columns []*table.Column
	// number is the true number of components, of changes or of knots, or the true degree of the
	// polynomial.
	number int
	// functions holds true values, each with the function that takes the same quantity from a
	// posterior draw.
	functions []functional
}

// functional is the true value of a quantity, with the function that takes the quantity from a
// posterior draw.
type functional struct {
	kind  string
	truth float64
	value func(sample *draws.Draws, draw int) float64
}

// stated holds the statements of an answer that are compared with the truth.
type stated struct {
	reply
	// first is the number, for example of changes, to which probabilities[0] belongs.
	first         int
	probabilities []float64
}

// newStated returns the statements of an answer whose probabilities belong to counts, such as
// numbers of changes.
func newStated[C any, P ~float64](head run.Head, verdict vti.Verdict, reasons []string, counts []C, probability func(C) P) *stated {
	return &stated{
		reply:         reply{kind: head.Command, verdict: verdict, reasons: reasons, check: head.ModelCheck},
		probabilities: apply.To(counts, func(count C) float64 { return float64(probability(count)) }),
	}
}

// answerClassic runs a command on the table, and compares its answer with the truth. If problemOf
// returns an error, the command does not accept the table, and the replicate counts as refused.
func answerClassic[P, O any](ctx context.Context, c *classic, dir string, seed uint64, random *rand.Rand, problemOf func(t *table.Table, options O) (P, error), options O, command func(problem P, dir string) (*stated, error)) (*Replicate, error) {
	return answer(ctx, c.about, CSV(c.columns...), seed, dir, "", func(t *table.Table, work string) (*reply, error) {
		problem, err := problemOf(t, options)
		if err != nil {
			return nil, refusal{err}
		}
		result, err := command(problem, work)
		if err != nil {
			return nil, err
		}
		if result.verdict != vti.Failed {
			result.judge = func(r *Replicate) error { return c.judge(r, result, work, random) }
		}
		return &result.reply, nil
	})
}

// judge notes in r the ranks of true values, and which statements of the answer are true. It
// includes answers with the verdict doubtful. The reasons for doubt, such as a probable largest
// number of components, depend on the true values, so that ranks of trusted answers alone would not
// be uniform.
func (c *classic) judge(r *Replicate, result *stated, work string, random *rand.Rand) error {
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
		return err
	}
	for _, f := range c.functions {
		r.rank(f.kind, f.truth, sample, func(draw int) float64 { return f.value(sample, draw) }, nil, random)
	}
	return nil
}

// coordinate returns the index of a coordinate of draws by its name, −1 if there is none.
func coordinate(sample *draws.Draws, name string) int { return slices.Index(sample.Coordinates, name) }

// studyName returns the name that identifies a study: its command, its number of rows, and every
// option that differs from its default.
func studyName(command string, rows int, options any) string {
	words := []string{fmt.Sprintf("%s: %d rows", command, rows)}
	set := reflect.ValueOf(options)
	for f := range set.NumField() {
		value := reflect.Indirect(set.Field(f))
		if !value.IsValid() || value.IsZero() { // the option has its default
			continue
		}
		name, _, _ := strings.Cut(set.Type().Field(f).Tag.Get("json"), ",")
		words = append(words, fmt.Sprintf("%s %v", strings.ReplaceAll(name, "_", " "), value.Interface()))
	}
	return strings.Join(words, ", ")
}

// poissonNumber draws a number from a Poisson distribution truncated to 0, …, most.
func poissonNumber(mean float64, most int, random *rand.Rand) int {
	logs := apply.UpTo(most+1, func(k int) float64 { return distuv.Poisson{Lambda: mean}.LogProb(float64(k)) })
	return pick.Log(logs, random.Float64())
}

func gamma(shape, rate float64, random *rand.Rand) float64 { return stream.Gamma(shape, random) / rate }
