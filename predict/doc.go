// Package predict predicts rows of a table from a posterior over models and parameters, and
// estimates how well the posterior would have predicted the rows of its own data.
//
// Every application with a linear predictor provides the same input, [Rows]: rows of a table under
// equally weighted draws of the posterior, each draw with its own model. It is the input of
//
//   - [Summarise]: the expected value and a new response of each row, averaged over models;
//   - [EffectsOf]: marginal means, their differences, and the response along a predictor, of a run
//     ([Source]);
//   - [LeaveOneOut]: how well the other rows predict each row, by Pareto-smoothed importance
//     sampling (PSIS-LOO; Vehtari, Gelman and Gabry 2017), without a refit;
//   - [Calibrate]: whether these predictions have the right spread: the probability
//     integral transforms of the rows are then uniform (Dawid 1984);
//   - [Compare]: which of several models predicts better.
package predict
