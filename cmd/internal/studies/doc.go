// Package studies has vti study: one command on many tables, here or on a cluster.
//
//	study.go        plans: read, listed, estimated, counted
//	run.go          their tasks
//	submit.go       array jobs
//	collect.go      tables of all answers
//	discoveries.go  responses at a false discovery rate
//	report.go       the page of a study
//	simulate.go     vti simulate eqtl
package studies
