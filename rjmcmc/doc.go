// Package rjmcmc samples a transdimensional posterior exactly in the limit, by reversible jump
// Markov chain Monte Carlo (Green 1995; Davies, Mackinlay, Oliveira and Sisson 2025, appendix E.4).
//
// It samples the same Target as package vti, whose variational approximations it can check. The
// target density over pairs of a model m and the values θ of its active coordinates is
//
//	π(m, θ) ∝ p(m) η(θ | m),  η(θ | m) = p(y, θ | m).
//
// Many chains run in parallel, as the rows of one batch through one compiled graph. Proposals and
// decisions are made on the host, with a random stream for each chain, so a run depends only on its
// seed and settings. One iteration is a fixed sequence of moves:
//
//	move   proposal                                              accepted with min(1, ·) of
//	Jump   another outcome of one site, both uniform             π'/π · g(θ_K | R) / g(θ_J' | R)
//	Swap   exchange of differing outcomes of two like sites      as for Jump
//	Walk   one active coordinate plus a normal step              π'/π
//	Joint  all active coordinates plus a correlated normal step  π'/π
//
// A change of model, by Jump or Swap, keeps the coordinates R active, switches the coordinates K
// off (deaths) and the coordinates J on (births). A prime marks the proposed state. The values of J
// are always drawn anew from a normal density g(· | R), and the old values of K enter the
// acceptance ratio by their density g. A sampler that reused the old value of an inactive
// coordinate without this ratio would be wrong. The kept coordinates are shifted by a linear map
// with Jacobian 1 ([Quadratic]). Without it, chains do not move between models of collinear
// predictors.
//
// During burn-in all proposals adapt to the whole population of chains: g, the linear maps, the
// step sizes and the correlations of steps, see [Tuning]. After burn-in they are fixed, so that the
// draws come from one reversible kernel and the chains are independent. The first quarter of
// burn-in does not change models.
//
// Draws of chains that have not yet reached the posterior from their starting points are left out
// of the result and counted (settle.go). With Config.Temperatures, each chain has copies that
// sample flatter densities and exchange states (tempering.go), from which the evidence is estimated
// (evidence.go). With Config.Checkpoint, an interrupted run can be resumed (checkpoint.go).
//
// On a space of short lists among many items ([space.Lists]) Jump and Swap are the moves of the
// space: an item is added to the list, removed or exchanged. New items are proposed with weights
// that burn-in learns from the odds of earlier proposals, and the acceptance ratio accounts for
// these weights. Items that follow in the list move to other coordinates. If a target has a
// quadratic approximation of each model ([QuadraticTarget]), the approximation gives the proposals
// of births and the map of kept coordinates. For other targets on lists, the coordinates of a new
// item are drawn from the distribution of earlier draws at its place in the list, although these
// draws may belong to other items.
//
// Above MaxQuadraticDim coordinates, kept coordinates are not shifted, and a chain can take very
// long to exchange a set of predictors for correlated predictors: check RHat and ESS first.
//
// Notation, here and in Davies et al. (2025):
//
//	here        there  meaning                                     shape
//	codes       m      outcomes of the sites                       [S] per draw
//	mask        A(m)   active coordinates                          [D] per draw
//	theta       θ_m    parameters, 0 where inactive                [D] per draw
//	logDensity         log p(m) + log η(θ | m), natural logarithm  scalar per draw
//
// Use:
//
//	result, err := rjmcmc.Run(ctx, backend, target, rjmcmc.Config{Seed: 1})
//	if err != nil {
//		return err
//	}
//	for j := range result.Dim {
//		in := result.Inclusion(j)
//		fmt.Println(j, in.Mean, "±", in.MCSE, in.RHat, in.ESS)
//	}
//	best := result.Models(10)
//
// # Files
//
//	config.go       Config and its defaults
//	run.go          Run
//	models.go       chains over models whose evidences are known or estimated
//	collapsed.go    chains over models and discrete latent variables
//	annealed.go     sequential Monte Carlo over the same states, from the prior to the posterior
//	sampler.go      one run in progress
//	blocks.go       blocks of chains, each moved by one goroutine
//	population.go   the states of all chains and temperatures, as rows
//	start.go        where chains start
//	moves.go        the moves of an iteration
//	transfer.go     changes of model: births, deaths and the kept coordinates
//	remembered.go   the Cholesky factors of all models of a small space, computed once
//	transport.go    targets that know the quadratic approximation of each model
//	quadratic.go    the quadratic approximation that burn-in learns for other targets
//	lists.go        moves on spaces of short lists
//	tuning.go       proposals, which adapt during burn-in
//	tempering.go    copies of each chain at other temperatures, and their exchanges
//	flattest.go     the copy at the highest temperature, and its density
//	settle.go       draws of chains that had not yet reached the posterior
//	density.go      Target, and its densities block by block
//	result.go       Result: draws and acceptance rates
//	diagnostics.go  R-hat and effective draws
//	evidence.go     evidence from the ladder of temperatures
//	join.go         several runs as one, and runs in files
//	checkpoint.go   the state of a run in a file
//	size.go         refuses sizes that do not fit in memory
package rjmcmc
