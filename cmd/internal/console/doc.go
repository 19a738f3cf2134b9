// Package console writes text and the progress of computations to a terminal.
package console
