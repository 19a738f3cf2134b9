// Package frame turns a table and a formula into the design of a hierarchical regression: the
// response, population columns, and groupings with their varying columns, in the units of the
// table.
//
//	data, err := table.ReadFile("sleepstudy.csv")
//	f, err := frame.New(data, frame.Options{Formula: "Reaction ~ Days + (Days | Subject)"})
package frame
