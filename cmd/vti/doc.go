// Command vti finds which predictors of a data table matter, and by how much.
//
//	vti varsel data.csv --target y                trains, certifies, prints and keeps the answer
//	vti varsel --resume runs/varsel-…             continues a run that was stopped or killed
//	vti exact data.csv --target y                 the same by going through every model (Gaussian)
//	vti rjmcmc varsel data.csv --target y         the same by reversible-jump MCMC
//	vti dag data.csv                              which columns depend on which: acyclic graphs
//	vti exact dag data.csv                        the same from scores in closed form
//	vti rjmcmc dag data.csv --prior-orders        the same by reversible-jump MCMC (few nodes)
//	vti hbm data.csv --formula 'y ~ x + (x | g)'  regressions with effects by group; --select asks
//	                                              which terms matter and which vary by group
//	vti mixture data.csv --column x               how many components a mixture of normals has
//	vti order data.csv --value y --time t         the order of an autoregression or polynomial
//	vti changepoints data.csv --time t            how often a series or the rate of events changes
//	vti serve                                     the same in a browser on this machine
//	vti compare RUN_A RUN_B                       how far two runs agree
//
// Progress goes to standard error and the answer to standard output; with --json standard output is
// one JSON object. The exit status is 0 for a trusted or doubtful answer, 3 for one that is not to
// be believed, 2 for bad usage or bad input (then nothing has been written), 130 after Ctrl-C, 1
// for any other error.
package main
