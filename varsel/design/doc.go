// Package design makes the design matrix and the response of a data table ready for inference.
//
// A predictor is a column, a factor (one indicator column per level but the first), a named group
// of columns, or a term of a formula. The columns of one predictor enter and leave a model
// together. The order of coordinates is: intercept, columns of predictors that are in every model
// (always-in), columns of selectable predictors, each in table order.
//
// The working scale is the scale of the columns of a [Design]. With standardisation on (the
// default), every column (indicators included) and a continuous response are centred and divided by
// their standard deviations. [Scaling] maps coefficients back to the scale of the table.
// [Design.Fresh] expands the rows of a new table in the same way.
//
// [Simulate] makes tables from known models and parameters.
package design
