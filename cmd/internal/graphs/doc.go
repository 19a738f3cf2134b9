// Package graphs is the application of graphs to the command line.
//
//	application.go  the value that the registry has
//	flags.go        flags of the table, the model and the methods
//	problem.go      a run and its problem
//	dag.go          vti dag
//	exact.go        vti exact dag
//	chains.go       vti rjmcmc dag
//	query.go        vti dag query
//	simulate.go     vti simulate dag
//	calibrate.go    vti calibrate dag
package graphs
