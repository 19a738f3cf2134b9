package main

import (
	"strconv"

	"github.com/transdim/vti"
	"github.com/transdim/vti/changepoint"
	"github.com/transdim/vti/cmd/internal/shell"
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
	header  runs.Header
	seed    uint64
	options any
	verdict vti.Verdict
	models  []compare.Model
}

func (n *numbered) add(number int, probability, se mixture.Number) {
	n.models = append(n.models, compare.Model{Code: strconv.Itoa(number), Probability: probability, SE: se})
}

// openNumbered opens such a run.
func openNumbered(dir string, about question) (*numbered, error) {
	n := &numbered{}
	switch about {
	case aboutMixtures:
		record, result, err := openAsked[mixture.Record, mixture.Result](dir)
		if err != nil {
			return nil, err
		}
		n.header, n.seed, n.options, n.verdict = record.Header, record.Seed, record.Options, result.Certificate.Verdict
		for _, k := range result.Counts {
			n.add(k.Components, k.Probability, k.SE)
		}
	case aboutChanges:
		record, result, err := openAsked[changepoint.Record, changepoint.Result](dir)
		if err != nil {
			return nil, err
		}
		n.header, n.seed, n.options, n.verdict = record.Header, record.Seed, record.Options, result.Certificate.Verdict
		for _, k := range result.Counts {
			n.add(k.Changes, k.Probability, 0)
		}
	default:
		record, result, err := openAsked[order.Record, order.Result](dir)
		if err != nil {
			return nil, err
		}
		n.header, n.seed, n.options, n.verdict = record.Header, record.Seed, record.Options, result.Certificate.Verdict
		for _, k := range result.Orders {
			n.add(k.Order, k.Probability, 0)
		}
	}
	return n, nil
}

// openAsked reads the record and the result of a run directory.
func openAsked[A, R any](dir string) (*A, *R, error) {
	record, err := runs.ReadRecord[A](dir)
	if err != nil {
		return nil, nil, err
	}
	result := new(R)
	return record, result, rundir.ReadResult(dir, result)
}

func compareNumbered(a *shell.App, dirA, dirB string, about question) (comparison, func(), error) {
	x, y, err := openBoth(func(dir string) (*numbered, error) { return openNumbered(dir, about) }, dirA, dirB)
	if err != nil {
		return nil, nil, err
	}
	if err := runs.SameTable(dirA, &x.header, dirB, &y.header); err != nil {
		return nil, nil, err
	}
	c := &numbersComparison{compare.Comparison{Schema: "vti/compare-numbers/1", Command: "compare", Version: vti.Version}}
	c.A = compare.Run{RunDir: dirA, Command: x.header.Command, Seed: x.seed, Verdict: &x.verdict}
	c.B = compare.Run{RunDir: dirB, Command: y.header.Command, Seed: y.seed, Verdict: &y.verdict}
	if c.Notes, err = compare.Differences(x.options, y.options); err != nil {
		return nil, nil, err
	}
	c.CompareModels(x.models, y.models)
	c.Disagreements = compare.Disagreements(c.Models)
	return c, func() { report.PrintNumbers(a.Text, &c.Comparison, string(about)) }, nil
}
