package numbers

import (
	"github.com/spf13/pflag"

	"github.com/transdim/vti/changepoint"
	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/mixture"
	"github.com/transdim/vti/order"
	"github.com/transdim/vti/report"
)

// Mixtures returns the application of mixtures.
func Mixtures() *application.Application {
	return answering("components of a mixture", report.MixturePage, func(n *numbered, r *mixture.Result) {
		n.verdict = r.Certificate.Verdict
		for _, k := range r.Counts {
			n.add(k.Components, k.Probability, k.SE)
		}
	}, []application.Command{
		{Name: "mixture", New: mixtureCommand, Asks: "How many components are there?", First: []string{"column", "family", "max-components"}},
		{Name: "calibrate mixture", New: calibrateMixtureCommand},
	})
}

// Changes returns the application of change points.
func Changes() *application.Application {
	return answering("changes of a series", report.ChangesPage, func(n *numbered, r *changepoint.Result) {
		n.verdict = r.Certificate.Verdict
		for _, k := range r.Counts {
			n.add(k.Changes, k.Probability, 0)
		}
	}, []application.Command{
		{Name: "changepoints", New: changepointsCommand, Asks: "Where does it change?", First: []string{"value", "time", "model", "mean-changes"}},
		{Name: "calibrate changepoints", New: calibrateChangepointsCommand},
	})
}

// Orders returns the application of orders of autoregressions, polynomials and splines.
func Orders() *application.Application {
	return answering("the order of a model", report.OrderPage, func(n *numbered, r *order.Result) {
		n.verdict = r.Certificate.Verdict
		for _, k := range r.Orders {
			n.add(k.Order, k.Probability, 0)
		}
	}, []application.Command{
		{Name: "order", New: orderCommand, Asks: "Which order, degree or number of knots?", First: []string{"value", "time", "model"}},
		{Name: "calibrate order", New: calibrateOrderCommand},
	})
}

// answering returns an application whose models are numbers, such as the number of components. The
// function list copies the probabilities of these numbers from a result.
func answering[P interface {
	*R
	shell.Judged
}, R any](about string, page report.Page, list func(n *numbered, result P), commands []application.Command) *application.Application {
	return &application.Application{
		About: about, Page: page, Commands: commands, Open: application.OpenResult[P],
		Compare: application.Comparing(opening(list), compareRuns, func(_ *numbered, c *Comparison) *report.Compared { return report.Numbers(&c.Comparison, about) }),
	}
}

// asking holds the flags of a command that needs no training and whose runs have records of type R.
type asking[R any] struct {
	record R
	cli.Output
}

// Describe returns the record of a new run with the settings of the flags.
func (f *asking[R]) Describe(*pflag.FlagSet) (*R, error) {
	record := f.record
	return &record, nil
}
