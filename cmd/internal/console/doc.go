// Package console writes answers for readers: folded lines, tables in columns, numbers with their
// errors, verdicts, and the progress of long computations.
package console
