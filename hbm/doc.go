// Package hbm infers hierarchical models with plates: a variational family is derived from the
// graph of the model, its size hardly grows with the plates, and it is trained on small replicas of
// the model (PAVI: plate-amortized variational inference).
//
// # Describing a model
//
// A Model reads like the graph with plates that one would draw. This one has groups, and samples in
// each group (ADAVI eq. 6):
//
//	m := hbm.NewModel()
//	group, sample := m.Plate("group", 3), m.Plate("sample", 50)
//	mean := m.Latent("mean", hbm.Normal(hbm.Number(0), hbm.Number(1)), hbm.Event(2))
//	groupMean := m.Latent("group mean",
//		hbm.Normal(mean, hbm.Number(0.2)), hbm.On(group), hbm.Event(2))
//	x := m.Observed("x",
//		hbm.Normal(groupMean, hbm.Number(0.05)), hbm.On(group, sample), hbm.Event(2))
//
// Groups of different sizes are written with one plate of all samples, which Plate.In nests in the
// groups by an index. A plate may be nested in several others, which are then crossed, such as
// ratings in students and in teachers.
//
// # Inference
//
// Fit trains a Family on data and returns a Posterior, which draws latent variables at all levels
// and estimates the evidence lower bound:
//
//	config := hbm.Config{Batch: map[*hbm.Plate]int{group: 20}}
//	posterior, err := hbm.Fit(ctx, device, m, hbm.Values{x: numbers}, config)
//	elbo, se, err := posterior.ELBO(ctx, 1000, "elbo")
//	draws, err := posterior.Sample(ctx, 1000, "posterior")
//
// A training step uses Batch members of each plate and weights each variable by the number of
// variables that it represents, so that the gradient is unbiased (PAVI eq. 5 to 7). Each latent
// variable is conditioned on its ancestors, and on every earlier variable whose plates its own
// plates determine: each of its members then belongs to one member of the earlier variable (PAVI
// eq. 3). The expensive part of a distribution, a flow, is shared by the members of a plate;
// members differ by an encoding of a few numbers (PAVI eq. 4).
//
// Over makes the model one of a space of models, a vti.Target:
//
//	target, err := m.Over(models, logPrior, hbm.Values{x: numbers})
//	solution, err := vti.Solve(ctx, device, target, vti.SolveConfig{})
//
// # Notation
//
//	here      papers  meaning                                     shape
//	Plate     P       repetition                                  size Card(P)
//	Variable  θ_i, X  template of random variables                [plates..., event...]
//	Members   N_i     number of variables of a template           product of plate sizes
//	Link      l_i     real numbers to values                      [..., Dim] -> [..., event...]
//	draws             Monte Carlo draws, an axis after the plates [plates..., draws, event...]
//
// # Files
//
// Describing a model:
//
//	model.go, plate.go, term.go
//	                          variables, repetition, parameters and numbers
//	over.go                   a model over a space of models as a vti.Target
//	over_family.go            a variational family for all models of a space, a vti.Flow
//	over_batch.go             training of such a family on some members of each plate
//	over_amortized.go         training on simulated data sets, each from its own model
//	over_weighed.go           evidences of models by importance weights, member by member, and the
//	                          largest likelihood of a model, which bounds its evidence
//	presence.go               densities and encodings of the numbers that a model has
//	density.go                distributions
//	link.go                   maps from real numbers to the values of distributions
//	simulate.go               draws from the model
//
// Families of approximations:
//
//	family.go                 the families, and their draws
//	conditional_flow.go, conditional_gaussian.go
//	                          a variable given the variables before it
//	encoder_sets.go, encoder_attention.go
//	                          encodings of members, computed from the data
//
// Training:
//
//	config.go, fit.go         settings, and Fit
//	minibatch.go, feed.go     the members in a step, and their free encodings
//	replica.go                part of a model in a graph, with densities of model and family
//	amortize.go               training over simulated data sets of one model
//	special.go                log Γ as a graph
//
// Answering:
//
//	posterior.go              Posterior: draws and the evidence lower bound
//	certify.go                the certificate: how far the family is from the posterior
//	weighing.go               importance weights, group by group
//	widening.go               draws from wider distributions, if a family is too narrow
package hbm
