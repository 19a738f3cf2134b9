// Package order answers of which order a process is: how many earlier rows an autoregression needs,
// or which degree a polynomial.
//
// A model is an order p; its parameters are an intercept, p coefficients and the noise. With
// Zellner's prior of coefficients, whose information is that of one row (g = n; Kass and Wasserman
// 1995), and the usual improper priors of intercept and noise, which all orders share, evidences
// have a closed form (Liang et al. 2008, equation 6). The answer is the sum over all orders.
//
//	t, err := table.ReadFile("series.csv")
//	// handle err
//	problem, err := order.NewProblem(t, order.Options{Value: "y", Kind: order.Autoregression})
//	// handle err
//	result, err := order.Run(ctx, problem, order.RunConfig{})
//	// handle err
//	fmt.Println(result.Orders)
//
// # Files
//
//	problem.go   a table becomes a Problem: rows of a regression, largest order first
//	evidence.go  evidences and draws of one order
//	run.go       the run: sum, draws, model check, files
//	result.go    the answer in the words of the table
package order
