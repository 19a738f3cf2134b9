// Package calibrate measures whether the answers of vti are right, on problems with known truth.
//
// A replicate is a problem that is drawn with a seed and answered by the code that the command
// runs. Its model, parameters and data are drawn from the prior of that problem. So over many
// replicates the rank of a true parameter among its posterior draws is uniform (Talts et al. 2018),
// and of the events with a stated probability p a fraction p happens.
//
// A study repeats replicates from a [Source]. Package lab/hard has further sources, whose tables
// are difficult and whose answers are compared with exact ones ([Problem.Exact]). If the verdict on
// an answer is trusted and its numbers are wrong, the replicate is listed with the command that
// repeats it.
//
// # Files
//
//	study.go            many replicates; a study that was stopped goes on
//	answer.go           a table, and the answer of a command to it; ranks among its draws
//	replicate.go        one replicate, and when an answer is wrong
//	summary.go          the result of all replicates
//	uniformity.go       ranks, and simultaneous bands for their distribution
//	reliability.go      stated probabilities against frequencies
//	figure.go           the picture of ranks and of probabilities
//	varsel.go           answers of vti varsel
//	varsel_prior.go     problems drawn from its priors
//	varsel_categories.go
//	                    responses of categories without an order
//	dag.go              answers of vti dag, and problems from its priors
//	dag_graphs.go       all graphs of a few nodes
//	bge.go              columns under the BGe prior
//	mixed.go            mixed tables from the priors
//	hbm.go              answers of vti hbm, and problems from its priors
//	hbm_tables.go       their tables
//	hbm_categories.go   their tables of categories without an order
//	classics.go         commands that answer without training: the table, and the comparison
//	mixture.go          mixtures drawn from the priors of vti mixture
//	changes.go          series drawn from the priors of vti changepoints
//	orders.go           curves drawn from the priors of vti order
package calibrate
