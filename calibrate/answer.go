package calibrate

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/table"
)

// Problem is a table for a command, with the settings in a record of type R. The command turns the
// table and the settings into an input of type Q, such as *varsel.Problem, and returns an answer of
// type A, such as *varsel.Result.
type Problem[R, Q, A any] struct {
	// About describes the table in a few words, and CSV is the table.
	About  string
	CSV    []byte
	Record R
	// Flags are the flags of the command for the settings; nil if some setting has no flag.
	Flags []string
	// Exact compares the answer with an exact one. It may be nil.
	Exact Exact[Q, A]

	judge func(r *Replicate, asked Q, answer A, run string) error // compares the answer with the true parameters; nil if these are not known
}

// Exact compares an answer with an exact answer. Its error says why there is no exact answer.
type Exact[Q, A any] func(ctx context.Context, asked Q, answer A) ([]Comparison, error)

// command returns the command line that answers the table, or "" if the settings have no flags.
func (p *Problem[R, Q, A]) command(name string, seed uint64) string {
	if p.Flags == nil {
		return ""
	}
	return fmt.Sprintf("vti %s %s %s --seed %d", name, tableName(seed), strings.Join(p.Flags, " "), seed)
}

// checked adds to a reply the functions judge and compare.
func (p *Problem[R, Q, A]) checked(ctx context.Context, said *reply, asked Q, answer A, run string) *reply {
	if p.judge != nil {
		said.judge = func(r *Replicate) error { return p.judge(r, asked, answer, run) }
	}
	if p.Exact != nil {
		said.compare = func() ([]Comparison, error) { return p.Exact(ctx, asked, answer) }
	}
	return said
}

// reply is the answer of a command to a table.
type reply struct {
	kind    string // see [Replicate]
	verdict fmt.Stringer
	reasons []string
	check   *modelcheck.Report
	// judge compares the answer with the true parameters and notes the outcome in a replicate. It
	// is nil if these are not known.
	judge func(r *Replicate) error
	// compare compares the answer with an exact answer, as [Exact] does. It may be nil.
	compare func() ([]Comparison, error)
}

// refusal is the error of a command that does not accept a table.
type refusal struct{ error }

// answer runs a command on a table in a directory below dir, and returns the replicate with its
// reply. The argument flags is the command line that repeats the run, or "".
func answer(ctx context.Context, about string, content []byte, seed uint64, dir, flags string, command func(t *table.Table, work string) (*reply, error)) (*Replicate, error) {
	started := time.Now()
	r := &Replicate{About: about, table: content}
	defer func() { r.Seconds = time.Since(started).Seconds() }()
	data, err := table.Parse(tableName(seed), content)
	if err != nil {
		return nil, err // the generator wrote a table that cannot be read
	}
	work := filepath.Join(dir, "run")
	if err := errors.Join(os.RemoveAll(work), os.MkdirAll(work, 0o755)); err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	said, err := command(data, work)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if not := (refusal{}); errors.As(err, &not) {
		r.Verdict, r.Error = refused, err.Error()
		return r, nil
	}
	r.Command = flags
	if err != nil {
		r.Verdict, r.Error = broken, err.Error()
		return r, nil
	}
	r.Kind, r.Verdict, r.Reasons = said.kind, said.verdict.String(), strings.Join(said.reasons, "; ")
	r.noteModelCheck(said.check)
	if said.judge != nil {
		if err := said.judge(r); err != nil {
			return nil, err
		}
	}
	if said.compare == nil {
		return r, nil
	}
	if r.Comparisons, err = said.compare(); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		r.Reasons = strings.TrimPrefix(r.Reasons+"; no exact answer: "+err.Error(), "; ")
	}
	return r, nil
}

// mostDrawn is far more than the number of draws until a command accepts a table.
const mostDrawn = 1000

// untilAccepted draws and answers tables until a command accepts one. The function draw returns nil
// for a table that cannot be used.
func untilAccepted(draw func() (*Replicate, error)) (*Replicate, error) {
	for range mostDrawn {
		if r, err := draw(); err != nil || r != nil && r.Verdict != refused {
			return r, err
		}
	}
	return nil, fmt.Errorf("none of %d responses drawn from the priors was accepted: narrow the priors", mostDrawn)
}

// fewestRanked is the least number of draws that gives a rank, if only some of the draws are used.
const fewestRanked = 100

// rank notes the rank of a true value among the posterior draws for which the function used returns
// true, or among all draws if used is nil. The function value returns the value of a draw. Among
// draws equal to the true value its rank is random.
func (r *Replicate) rank(kind string, truth float64, sample *draws.Draws, value func(draw int) float64, used func(draw int) bool, random *rand.Rand) {
	below, equal, count := 0.0, 0.0, 0.0
	for draw := range sample.Len() {
		if used != nil && !used(draw) {
			continue
		}
		count++
		switch v := value(draw); {
		case v < truth:
			below++
		case v == truth:
			equal++
		}
	}
	if place := (below + random.Float64()*(equal+1)) / (count + 1); used == nil || count >= fewestRanked {
		r.Ranks = append(r.Ranks, Rank{kind, place})
	}
}

// CSV returns a table with the columns as text.
func CSV(columns ...*table.Column) []byte {
	rows := [][]string{apply.To(columns, func(column *table.Column) string { return column.Name })}
	for row := range max(len(columns[0].Values), len(columns[0].Codes)) {
		rows = append(rows, apply.To(columns, func(column *table.Column) string { return column.Text(row) }))
	}
	var text bytes.Buffer
	_ = csv.NewWriter(&text).WriteAll(rows) // writing to a buffer does not fail
	return text.Bytes()
}

// Numbered returns columns of numbers whose names are the letter and a number: v1, v2, ….
func Numbered(letter string, values ...[]float64) []*table.Column {
	return apply.UpTo(len(values), func(j int) *table.Column { return table.Numbers(fmt.Sprintf("%s%d", letter, j+1), values[j]) })
}

// Labelled returns a column of texts, each the letter and a code, such as g0. The code −1 is
// written as an empty text.
func Labelled(name, letter string, codes []int) *table.Column {
	texts := make([]string, len(codes))
	for i, code := range codes {
		if code >= 0 {
			texts[i] = fmt.Sprintf("%s%d", letter, code)
		}
	}
	return table.Texts(name, texts)
}
