// Package encode provides networks that encode data sets of any size as vectors of a fixed width,
// called contexts. The output does not depend on the order of rows, nor on the content of rows that
// a mask marks as absent. A network that approximates the posteriors of many data sets takes a
// context as input.
//
// # Encoders
//
//	Encoder  encodes each row, takes the mean over rows (or another function of sets), and
//	         encodes the mean
//	Table    encodes each column as a set of cells, then applies attention over columns; if
//	         columns are permuted their encodings are permuted in the same way
//
// # Notation
//
//	code      shape
//	rows      [T, N, R]     T data sets of up to N rows of R numbers
//	present   [T, N] Bool   which rows are present
//	cells     [T, N, P, F]  F numbers of each of up to P columns in each row
//
// # Conventions
//
// Graph functions panic with an error value on inputs of a wrong shape. A set without rows has an
// encoding too. Every encoding also depends on the number of rows, which a mean or attention alone
// would not show.
//
//	encoder, err := encode.New(encode.Config{Hidden: 64})
//	...
//	context := encoder.Encode(ctx, rows, present) // [T, 64]
package encode
