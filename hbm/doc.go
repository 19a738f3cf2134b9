// Package hbm infers hierarchical models with plates: a variational family is derived from the graph of the model, its size hardly grows with the plates, and
// it is trained on small replicas of the model (PAVI: plate-amortized variational inference).
//
// # Describing a model
//
// A Model reads like the graph with plates that one would draw. This one has groups, and samples in each group (ADAVI eq. 6):
//
//	m := hbm.NewModel()
//	group, sample := m.Plate("group", 3), m.Plate("sample", 50)
//	mean := m.Latent("mean", hbm.Normal(hbm.Number(0), hbm.Number(1)), hbm.Event(2))
//	groupMean := m.Latent("group mean", hbm.Normal(mean, hbm.Number(0.2)), hbm.On(group), hbm.Event(2))
//	x := m.Observed("x", hbm.Normal(groupMean, hbm.Number(0.05)), hbm.On(group, sample), hbm.Event(2))
//
// Groups of different sizes: a plate of all samples that is nested in the groups by an index, Plate.In. A plate may be nested in
// several others, which are then crossed, such as ratings in students and in teachers.
//
// # Notation
//
//	here            papers            meaning                                                    shape
//	Plate           P                 repetition                                                 size Card(P)
//	Variable        θ_i, X            template of random variables                               [plates..., event...]
//	Members         N_i               number of variables of a template                          product of plate sizes
//	Link            l_i               real numbers to values                                     [..., Dim] -> [..., event...]
//	draws                             Monte Carlo draws, an axis after the plates in graphs      [plates..., draws, event...]
package hbm
