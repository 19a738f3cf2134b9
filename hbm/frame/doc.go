// Package frame turns a table and a formula into the design of a hierarchical regression: the
// response, population columns, and groupings with their varying columns, in the units of the
// table.
//
//	data, err := table.ReadFile("sleepstudy.csv")
//	f, err := frame.New(data, frame.Options{Formula: "Reaction ~ Days + (Days | Subject)"})
//
// Files, each of which uses files above it:
//
//	frame.go         Frame, Column and Grouping
//	spread.go        means and standard deviations of columns
//	steps.go         columns of monotonic effects
//	names.go         names of standard deviations and correlations
//	planes.go        responses with several linear predictors a row
//	design.go        terms and groupings to columns
//	smooths.go       smooth functions as groupings
//	trials.go        counts of successes as rows of trials
//	weights.go       weights of rows
//	read.go          New: table and formula to a frame
//	below.go         rows of another table below the rows of a frame
//	slices.go        a table by row groups,
//	slices_groups.go its labels and groups,
//	slices_sums.go   and rows that stand for the rows of groups
package frame
