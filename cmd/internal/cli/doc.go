// Package cli holds the flags that several commands have in common.
//
//	value.go     values that flags take: numbers, names, counts
//	help.go      groups of flags in the help, and suggestions for mistyped ones
//	complete.go  completion by the shell, and arguments
//	describe.go  commands and flags as JSON, for programs that call vti
//	output.go    the place of runs, and the form of their answers
//	resume.go    the rules of --resume
//	effort.go    how much work a run may do
//	flow.go      flows and their sizes
//	chains.go    chains of reversible jumps
//	models.go    which models results list
//	missing.go   the treatment of rows with missing cells
//	shard.go     work split among processes
package cli
