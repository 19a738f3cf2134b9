// Package regress runs a fixed list of vti commands with one binary, and compares their answers
// with the recorded answers of another binary: verdicts, probabilities, evidences and moments.
// Differences between numbers are measured in standard errors.
//
//	runs.txt    the commands
//	runs.go     the list
//	record.go   running them, and the record of an answer
//	numbers.go  the numbers of a JSON answer, with their errors
//	compare.go  the differences between two records
package regress
