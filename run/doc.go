// Package run holds the parts that the runs of all applications have in common: training and
// certification by package vti, with files in the directory of the run.
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
