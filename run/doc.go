// Package run is the skeleton of a run: what the runs of all applications have in common, between
// the engine and the user's words.
//
//	clock.go     how long its parts take
//	training.go  its checkpoint, from which it goes on, and its trace
//	trace.go     trace.csv: what training reports
//	chains.go    the checkpoint of Markov chains
//	record.go    run.json: what was asked for
//	head.go      what the answers of runs begin with, and the record of those without training
//	tables.go    the answer and its tables in the run directory
//	answer.go    training and certification, with as much work as it takes
//	effort.go    how much work it does, and what each round of it found
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
