// Package papers reproduces figures and tables of the five papers on whose methods vti is based.
// Each figure or table is a study, whose cells are measured one by one. The package also writes
// pages that compare the numbers of the paper with its own.
//
//	papers.go         the studies
//	study.go          Study, whose cells several processes can measure together
//	settings.go       settings of the papers, from files that are part of the program
//	estimate.go       means with standard errors, slopes
//	page.go           pages of the results
//	cpu_*.go          processor time
//
// Davies et al. (2025), variational transdimensional inference:
//
//	robust.go         robust regressions: reference posteriors, fits, and comparisons of the two
//	fits.go           figures 2 and 4 to 10
//	design.go         table 2
//
// Mittal et al. (2023), exchangeable data sets:
//
//	exchangeable.go   table 1, figure 2, and data of other kinds
//
// PAVI (Rouillard et al. 2023), ADAVI (Rouillard and Wassermann 2022), and the branch paper
// (Agrawal and Domke 2021):
//
//	plates.go         families of approximations and their gaps to the evidence
//	plates_models.go  models of groups, and their evidence where it is known
//	plates_densities.go
//	                  their densities
//	ratings.go        ratings of films
//	brain.go          parcellation of a brain
package papers

import "slices"

// Papers holds the names of the papers.
var Papers = []string{"vti", "exchangeable", "pavi", "adavi", "branch"}

// All returns the studies of all papers, in the order of the pages.
func All() []*Study {
	both, misspecified := []string{"focused", "wide"}, []string{"medium", "high"}
	focused, wide := both[:1], both[1:]
	exchangeable := settingsOf[exchangeableSettings]("exchangeable")
	return slices.Concat([]*Study{
		modelsFigure("fig2", "Models and coefficients of the robust design, focused prior", misspecified, focused),
		cardinalityFigure(),
		modelsFigure("fig5", "No misspecification, focused prior", []string{"none"}, focused),
		modelsFigure("fig6", "No misspecification, wide prior", []string{"none"}, wide),
		modelsFigure("fig7", "Medium misspecification, focused prior", misspecified[:1], focused),
		modelsFigure("fig8", "Medium misspecification, wide prior", misspecified[:1], wide),
		modelsFigure("fig9", "High misspecification, focused prior", misspecified[1:], focused),
		modelsFigure("fig10", "High misspecification, wide prior", misspecified[1:], wide),
		designTable(),
		{Paper: "vti", Name: "fig3", Title: "Graphs of ten nodes", Missing: "vtilab dag measures it, and docs/benchmarks/graphs.md has its numbers"},
		{Paper: "vti", Name: "fig11", Title: "Bivariate posteriors of one model", Missing: "not built"},
		networkTable("table1", "Networks on the tasks (table 1)", tableNote, exchangeable.Tasks, []string{"model"}),
		modesFigure(),
		networkTable("misspecified", "Networks on data that the model does not make", misspecifiedNote, []string{"regression-5", "nonlinear-5"}, []string{"process", "network"}),
	}, paviStudies(), adaviStudies(), branchStudies())
}

// tableNote and misspecifiedNote are notes of the studies of networks.
const (
	tableNote = "Squared distance, or accuracy in percent, of fresh rows under draws, mean over data sets. *Plain* networks learn everything, as in the paper; a computed start is a normal approximation at a mode of " +
		"each data set. The paper does not say how many steps it trains, nor how its data sets are scaled: the prior's figure differs where the scale does, and with it the optimum, so that figures " +
		"compare only where these two do. Widths and steps of ours stand beside the figures: where they are smaller than the paper's 627 (deep sets) and 256 (transformer), two processor cores were all there was."
	misspecifiedNote = "The paper leaves misspecified data to later work. Functions are draws of a Gaussian process or of a network of rectified units; the objective reverse trains on such data, forward on data of the model."
)

// Of returns the studies of a paper.
func Of(paper string) (list []*Study) {
	for _, s := range All() {
		if s.Paper == paper {
			list = append(list, s)
		}
	}
	return list
}
