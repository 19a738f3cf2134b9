// Package selection is the application of variable selection to the command line.
//
//	application.go  the value that the registry has
//	flags.go        flags of the table, the likelihood and the priors
//	training.go     flags of training
//	problem.go      a run and its problem
//	varsel.go       vti varsel
//	exact.go        vti exact
//	chains.go       vti rjmcmc varsel
//	amortize.go     vti amortize varsel
//	simulate.go     vti simulate varsel
//	calibrate.go    vti calibrate varsel
package selection
