package main

import (
	"context"
	"io"
	"strconv"

	"github.com/transdim/vti"
	"github.com/transdim/vti/changepoint"
	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/compare"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/mixture"
	"github.com/transdim/vti/order"
	"github.com/transdim/vti/report"
	runs "github.com/transdim/vti/run"
)

// numbersComparison is that of two runs whose models are numbers: of components, of changes, or an
// order. The codes of models are these numbers.
type numbersComparison struct {
	compare.Comparison
}

// Write stores the comparison in a directory.
func (c *numbersComparison) Write(dir string) error { return c.Comparison.Write(dir, c) }

// numbered is a finished run whose models are numbers.
type numbered struct {
	dir     string
	header  runs.Header
	seed    uint64
	options any
	verdict vti.Verdict
	models  []compare.Model
}

func (n *numbered) add(number int, probability, se mixture.Number) {
	n.models = append(n.models, compare.Model{Code: strconv.Itoa(number), Probability: probability, SE: se})
}

// openAsked reads the record and the result of a run directory, of which fill makes the rest.
func openAsked[A, R any](fill func(record *A, result *R) *numbered) func(dir string) (*numbered, error) {
	return func(dir string) (*numbered, error) {
		record, err := runs.ReadRecord[A](dir)
		if err != nil {
			return nil, err
		}
		result := new(R)
		if err := rundir.ReadResult(dir, result); err != nil {
			return nil, err
		}
		n := fill(record, result)
		n.dir = dir
		return n, nil
	}
}

var openMixture = openAsked(func(record *mixture.Record, result *mixture.Result) *numbered {
	n := &numbered{header: record.Header, seed: record.Seed, options: record.Options, verdict: result.Certificate.Verdict}
	for _, k := range result.Counts {
		n.add(k.Components, k.Probability, k.SE)
	}
	return n
})

var openChanges = openAsked(func(record *changepoint.Record, result *changepoint.Result) *numbered {
	n := &numbered{header: record.Header, seed: record.Seed, options: record.Options, verdict: result.Certificate.Verdict}
	for _, k := range result.Counts {
		n.add(k.Changes, k.Probability, 0)
	}
	return n
})

var openOrder = openAsked(func(record *order.Record, result *order.Result) *numbered {
	n := &numbered{header: record.Header, seed: record.Seed, options: record.Options, verdict: result.Certificate.Verdict}
	for _, k := range result.Orders {
		n.add(k.Order, k.Probability, 0)
	}
	return n
})

// compareNumbered compares two such runs about something.
func compareNumbered(about string, open func(dir string) (*numbered, error)) func(ctx context.Context, dirA, dirB string) (*application.Comparison, error) {
	return application.Comparing(open, func(_ context.Context, x, y *numbered) (*application.Comparison, error) {
		if err := runs.SameTable(x.dir, &x.header, y.dir, &y.header); err != nil {
			return nil, err
		}
		c := &numbersComparison{compare.Comparison{Schema: "vti/compare-numbers/1", Command: "compare", Version: vti.Version}}
		c.A = compare.Run{RunDir: x.dir, Command: x.header.Command, Seed: x.seed, Verdict: &x.verdict}
		c.B = compare.Run{RunDir: y.dir, Command: y.header.Command, Seed: y.seed, Verdict: &y.verdict}
		var err error
		if c.Notes, err = compare.Differences(x.options, y.options); err != nil {
			return nil, err
		}
		c.CompareModels(x.models, y.models)
		c.Disagreements = compare.Disagreements(c.Models)
		return &application.Comparison{Result: c, Print: func(w io.Writer) { report.PrintNumbers(w, &c.Comparison, about) }}, nil
	})
}
