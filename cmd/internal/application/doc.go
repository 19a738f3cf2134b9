// Package application describes an application of the engine to the command line. Each is one value
// of [Application], and all code that works on the runs of any of them looks it up in a [Registry];
// nothing else names one.
//
//	application.go    an application: its commands, and the questions to its finished runs
//	registry.go       all applications: the tree of their commands, and the application of a run
//	question.go       commands that make runs: from flags to a record to a task, new or resumed
//	recertify.go      runs that are certified again
package application
