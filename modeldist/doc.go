// Package modeldist holds distributions q_ψ(m) over models, trained by gradient.
//
// A model is described by a code: S categorical variables, called sites. All distributions have the
// methods LogProb and Sample, which build computation graphs. [Categorical] has one logit per
// model, for spaces that can be listed. [Autoregressive] is a masked network over the sites, for
// larger spaces. [List] is a network over the ascending lists of space.Lists, for few members among
// thousands of items.
//
// Notation (the VTI paper is Davies, Mackinlay, Oliveira and Sisson, "Amortized Variational
// Transdimensional Inference" (2025); see its section 3.2):
//
//	here      there   meaning                                        shape
//	codes     m       models, one row of sites each                  [B, S] int32
//	logits    ψ       log weights of all models, in index order      [M] float64
//	logQ      log q   log probability of each model, in nats         [B] float
//	uniforms          independent numbers in [0, 1) to sample from   [B, S] float64
//
// Sampling is a deterministic function of the uniforms: the caller chooses their source, and with
// it reproducibility. Distributions keep their parameters as variables below the scope of the
// context passed to them, so all calls must use the same context.
//
//	q, err := modeldist.NewCategorical(s.Cards(), modeldist.CategoricalConfig{LogPrior: logPrior})
//	if err != nil {
//		return err
//	}
//	draw := func(ctx *context.Context, uniforms *graph.Node) (codes, logQ *graph.Node) {
//		codes = q.Sample(ctx, uniforms)
//		return codes, q.LogProb(ctx, codes)
//	}
package modeldist
