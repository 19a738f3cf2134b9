// Package report makes a page of a finished run that can be sent to a colleague: one HTML file that
// needs nothing else, with the answer in three sentences first and how it was earned last, and the
// same pictures as SVG and PNG files.
//
//	err := report.Finish(ctx, "runs/one")                         // report.html and figures/
//	err = report.Write(ctx, "both.html", "runs/one", "runs/other") // side by side
//
// It reads run directories only; what it shows of the rows of the table, the run has kept there.
//
//	report.go               Write and Finish: run directories in, files out
//	run.go                  what all runs keep: record, settings, trace, draws
//	page.go                 sections, tables and pictures as HTML (page.html, page.css, page.js)
//	words.go                lists, quantities and intervals in plain language
//	answer.go               the sentences alone, for other readers
//	conclusion.go           verdict, model check and what to do next
//	selection.go            a selection of variables: what is said
//	selection_pictures.go   and drawn
//	pairs.go                predictors that go together or replace each other
//	graphs.go               a discovery of graphs: what is said
//	graph_picture.go        and drawn
//	hierarchy.go            a hierarchical regression: what is said
//	hierarchy_pictures.go   and drawn
//	hierarchy_curves.go     its smooth functions
//	changes.go              changes of a series or of the rate of events
//	orders.go               orders of autoregressions, degrees of polynomials, knots of splines
//	study.go                the page of a study
//	counts.go               what these draw alike: whole numbers, and functions with bands
//	mixtures.go             numbers of components of a mixture
//	comparison.go           several runs side by side
//	other.go                commands without pictures
//	checks.go               the table beside what the model expects of it
//	predictions.go          rows predicted from all others
//	density.go              densities from draws
//	provenance.go           how the verdict was earned, and what repeats the run
package report
