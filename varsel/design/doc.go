// Package design makes the design matrix and the response of a data table ready for inference.
//
// A predictor is a column, a factor (one indicator column per level but the first), a named group
// of columns, or a term of a formula; the columns of one predictor enter and leave a model
// together. Coordinates are ordered: intercept, columns of the always-in predictors, columns of the
// selectable predictors, each in table order.
//
// The working scale is the scale of the columns of a [Design]. With standardisation on (the
// default), every column is centred and divided by its standard deviation, indicator columns too,
// and so is a continuous response. [Scaling] maps exactly back to the scale of the table.
// [Design.Fresh] expands the rows of a new table in the same way.
//
// [Simulate] makes tables whose truth is known.
package design
