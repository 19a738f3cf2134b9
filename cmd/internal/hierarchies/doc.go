// Package hierarchies is the application of hierarchical regressions to the command line.
//
//	application.go  the value that the registry has
//	flags.go        flags of the model, the family and the training
//	problem.go      a run and its problem
//	hbm.go          vti hbm
//	infer.go        vti hbm infer
//	calibrate.go    vti calibrate hbm
package hierarchies
