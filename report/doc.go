// Package report makes the document of a finished run. The document begins with the answer in three
// sentences and ends with the evidence for its verdict. A terminal shows the document as text. As a
// page it is one HTML file, which needs no other file and can be sent to a colleague. The pictures
// of the page are SVG and PNG files too.
//
//	err := report.SelectionPage.Finish(ctx, "runs/one") // report.html and figures/
//	err = report.SelectionPage.Print(os.Stdout, "runs/one")
//
// It reads run directories only; rows of the table are shown from the copies that the run has kept
// there.
//
//	report.go                  run directories in, documents and files out
//	run.go                     the files of all runs: record, settings, trace, draws
//	words.go                   lists and quantities in plain language
//	conclusion.go              verdict, model check and next steps
//	selection.go               a selection of variables: its answer
//	selection_computation.go   how it was computed
//	selection_tables.go        its tables
//	selection_sets.go          credible sets
//	selection_pictures.go      its pictures
//	pairs.go                   predictors that go together or replace each other
//	graphs.go                  a discovery of graphs: its answer
//	graph_tables.go            its tables
//	graph_picture.go           its picture
//	hierarchy.go               a hierarchical regression: its answer and tables
//	hierarchy_pictures.go      its pictures
//	hierarchy_curves.go        its smooth functions
//	changes.go                 changes of a series or of the rate of events
//	orders.go                  orders of autoregressions, degrees of polynomials, knots of splines
//	mixtures.go                numbers of components of a mixture
//	counts.go                  pictures that these share
//	comparison.go              several runs side by side
//	checks.go                  the table beside the expectations of the model
//	predictions.go             rows predicted from all others
//	density.go                 densities from draws
//	provenance.go              the command of the run, and pictures of its training and weights
package report
