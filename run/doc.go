// Package run holds the parts that the runs of all applications have in common: training and
// certification by package vti, with files in the directory of the run.
//
//	clock.go     times of its parts
//	training.go  its checkpoint, for resuming, and its trace
//	trace.go     trace.csv: reports of training
//	chains.go    the checkpoint of Markov chains
//	record.go    run.json: the settings
//	head.go      common fields of answers, and the record of runs without training
//	tables.go    the answer and its tables in the run directory
//	answer.go    training and certification, with the necessary work
//	effort.go    the amount of work, and the result of each round
//
// A run of an application trains like this:
//
//	clock := run.NewClock()
//	training, err := run.StartTraining(dir, fit.Resume)
//	if err != nil {
//		return nil, err
//	}
//	question := run.Question{Fit: training.Configure(fit, logJacobian)}
//	answer, err := training.Ask(ctx, device, target, clock, question)
//	if err != nil {
//		return nil, err
//	}
package run
