// Package console folds and colours what readers get on a terminal, and shows the progress of long
// computations.
package console
