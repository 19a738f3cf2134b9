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

	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/table"
)

// Problem is a table for a command with the settings of a record R. The command finds a question Q
// in them, and gives an answer A.
type Problem[R, Q, A any] struct {
	// About describes the table in a few words, and CSV is the table.
	About  string
	CSV    []byte
	Record R
	// Flags ask for the settings; nil where flags cannot.
	Flags []string
	// Exact compares the answer with an exact one; nil for never.
	Exact Exact[Q, A]

	judge func(r *Replicate, asked Q, answer A, run string) error // with the truth, if it is known
}

// Exact compares an answer with an exact one, or says why there is none.
type Exact[Q, A any] func(ctx context.Context, asked Q, answer A) ([]Comparison, error)

// command is the command line that answers the table, or empty.
func (p *Problem[R, Q, A]) command(name string, seed uint64) string {
	if p.Flags == nil {
		return ""
	}
	return fmt.Sprintf("vti %s %s %s --seed %d", name, tableName(seed), strings.Join(p.Flags, " "), seed)
}

// checked adds the comparisons of an answer to a reply.
func (p *Problem[R, Q, A]) checked(ctx context.Context, said *reply, asked Q, answer A, run string) *reply {
	if p.judge != nil {
		said.judge = func(r *Replicate) error { return p.judge(r, asked, answer, run) }
	}
	if p.Exact != nil {
		said.compare = func() ([]Comparison, error) { return p.Exact(ctx, asked, answer) }
	}
	return said
}

// reply is the answer of a command for a table.
type reply struct {
	kind    string // see [Replicate]
	verdict fmt.Stringer
	reasons []string
	check   *modelcheck.Report
	// judge compares the answer with the truth in a replicate; nil if the truth is not known.
	judge func(r *Replicate) error
	// compare compares the answer with an exact one, or says why there is none; nil for never.
	compare func() ([]Comparison, error)
}

// refusal is the error of a command that does not accept a table.
type refusal struct{ error }

// answer runs a command on a table in a directory below dir, and notes the reply. flags repeat it.
func answer(ctx context.Context, about string, content []byte, seed uint64, dir, flags string, command func(t *table.Table, work string) (*reply, error)) (*Replicate, error) {
	started := time.Now()
	r := &Replicate{About: about, table: content}
	defer func() { r.Seconds = time.Since(started).Seconds() }()
	data, err := table.Parse(tableName(seed), content)
	if err != nil {
		return nil, err // the generator's mistake
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

// fewestRanked is the least number of draws for a rank, if not all draws count.
const fewestRanked = 100

// rank notes the place of a true value among the draws for which used, unless nil, holds; of is the
// value of a draw. Among equal draws it takes a random place.
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

// CSV is a table of columns as text.
func CSV(columns ...*table.Column) []byte {
	var text bytes.Buffer
	writer := csv.NewWriter(&text)
	cells := make([]string, len(columns))
	for c, column := range columns {
		cells[c] = column.Name
	}
	_ = writer.Write(cells) // a buffer takes everything
	for row := range max(len(columns[0].Values), len(columns[0].Codes)) {
		for c, column := range columns {
			cells[c] = column.Text(row)
		}
		_ = writer.Write(cells)
	}
	writer.Flush()
	return text.Bytes()
}

// Numbered returns columns of numbers with the names v1, v2 and so on of a letter.
func Numbered(letter string, values ...[]float64) (columns []*table.Column) {
	for j, column := range values {
		columns = append(columns, table.Numbers(fmt.Sprintf("%s%d", letter, j+1), column))
	}
	return columns
}

// Labelled is a column of codes as texts after a letter; no text is written for −1.
func Labelled(name, letter string, codes []int) *table.Column {
	texts := make([]string, len(codes))
	for i, code := range codes {
		if code >= 0 {
			texts[i] = fmt.Sprintf("%s%d", letter, code)
		}
	}
	return table.Texts(name, texts)
}
