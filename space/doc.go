// Package space defines the models and the coordinates of the parameters that each model uses.
//
// A model is described by a code: S categorical variables, called sites. Site s has Cards()[s]
// outcomes, numbered from 0. The parameters of all models are coordinates of one vector of length
// D, and a model uses some of them. A single site with K outcomes describes a plain list of K
// models ([Table]), and sites with two outcomes describe subsets ([Subsets]). Other packages
// describe richer families of models by implementing [Space].
//
// Notation, beside the notation of Davies, Mackinlay, Oliveira and Sisson, "Amortized Variational
// Transdimensional Inference" (2025):
//
//	here    there     meaning                                     shape
//	codes   m, s(m)   models, one row of sites each               [B, S] int32
//	mask    A(m)      coordinates in use                          [B, D] Bool
//	index             number of a model, 0 ≤ index < ∏ cards      [B] int32
//	feats   ξ, δ(m)   the model as input of a network             [B, C] float
//
// Models are numbered in mixed radix with site 0 most significant, so that counting through the
// numbers changes the last site fastest. Functions that build computation graphs work on a batch of
// codes. Each has a counterpart in plain Go that works on one code, with the same numbering.
//
//	s, err := space.NewSubsets(3, []int{0}, [][]int{{1}, {2}}) // an intercept and two predictors
//	if err != nil {
//		return err
//	}
//	for index, code := range space.All(s.Cards()) {
//		mask := s.MaskRow(code, nil)
//		fmt.Println(index, code, mask) // 0 [0 0] [true false false] … 3 [1 1] [true true true]
//	}
package space
