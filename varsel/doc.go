// Package varsel answers which predictors of a data table matter, and by how much.
//
// A model is a subset of the selectable predictors. Every coefficient in the model has a normal
// prior (the slab), every coefficient outside it is zero, and the models have a prior of their own.
//
// # Notation
//
//	n         rows of data
//	D         columns of the design matrix: the coordinates of θ that are coefficients
//	G         selectable predictors; predictor s is site s of a model's code, 1 = in
//	X [n, D]  design matrix, Y [n] response, both on the working scale
//	θ [D]     coefficients on the working scale; β on the scale of the table
//	σ         noise scale of a continuous likelihood, on the working scale
//
// # Conventions
//
// A predictor is a column, a factor (one indicator column per level but the first) or a named
// group of columns; the columns of one predictor enter and leave together. Coordinates are ordered:
// intercept, columns of the always-in predictors, columns of the selectable predictors, each in
// table order.
//
// The working scale ([NewDesign]): with standardisation on (the default) every column is centred
// and divided by its standard deviation, indicator columns too, and a continuous response likewise;
// [Scaling] is the exact way back.
//
//	t, err := table.ReadFile("diabetes.csv")
//	// handle err
//	options := varsel.DesignOptions{Target: "y", Likelihood: likelihood.GaussianKind}
//	d, err := varsel.NewDesign(t, options)
//	// handle err
//	r, err := varsel.Exact(ctx, varsel.ExactProblem{
//		X: d.X, Y: d.Y, Always: d.Always, Groups: d.Groups(),
//		PriorSD: sds, Sigma: 0.7, Scaling: &d.Scaling, LogConstant: d.LogJacobian(),
//	})
//	// handle err
//	fmt.Println(r.Inclusion, r.LogEvidence)
package varsel
