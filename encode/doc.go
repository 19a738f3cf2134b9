// Package encode turns data sets of any size into contexts of a fixed width: networks whose output
// does not depend on the order of rows, nor on the content of rows that a mask marks as absent.
// Posteriors that are amortized over data sets are conditioned on these contexts.
//
// # Encoders
//
//	Encoder  features of each row, their mean or another function of sets, features of that
//	Table    columns as sets of cells, then attention over columns: the encoding of a column moves
//	         with the column
//
// # Notation
//
//	code      shape
//	rows      [T, N, R]     T data sets of up to N rows of R numbers
//	present   [T, N] Bool   rows that are there
//	cells     [T, N, P, F]  F numbers of each of up to P columns in each row
//
// # Conventions
//
// Graph functions panic with an error value on inputs of a wrong shape. A set without rows has an
// encoding too. How many rows there are is part of every encoding: means and attention alone
// forget it.
//
//	encoder, err := encode.New(encode.Config{Hidden: 64})
//	...
//	context := encoder.Encode(ctx, rows, present) // [T, 64]
//
// # Files
//
//	encoder.go    configuration, and the encoders of sets
//	table.go      the encoder over both axes of a table
//	attention.go  attention over the members of sets
//	layers.go     layers on the last axis
package encode
