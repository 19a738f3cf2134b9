// Package dag finds which directed acyclic graphs explain a data table, and with which mechanisms.
//
// A model is a directed acyclic graph A over the N columns (nodes) of the table: A_ij = 1 is an
// edge from i to j. Given A, node j is a function of its parents plus Gaussian noise, linear or a
// network with one hidden ReLU layer (paper section 5.2 and appendix F); nodes that are categories
// have a table of probabilities. Graphs themselves are in package dag/graph, imported as dgraph.
//
// # Notation
//
//	n, N          rows of the table, nodes
//	A             adjacency matrix, [graph.Graph]
//	P, U          order of the nodes and edges between positions, A = PᵀUP (F.6, F.7)
//	pa            a set of parents, bit i for node i
//	family        a node j with a set of parents
//	ℓ_j(pa)       log p(x_j | x_pa): the log evidence of a family, its score
//
// # Structure
//
// Given A, likelihood and prior are products over nodes, so q(θ | A) = Π_j q(θ_j | j, pa(j)) is no
// approximation, and exact sums over the scores of all families give the posterior over graphs
// ([Posterior]). Scores are closed forms for all mechanisms but networks ([RunExact]); for networks
// they come from sequential Monte Carlo ([RunParticles]). With closed forms, chains over graphs
// allow any number of nodes ([RunGraphChains]). Three methods serve for comparison: a flow over the
// parameters of a family ([RunFlow]), that flow trained together with a learned q(m) over orders
// and edges, as in the paper ([RunMade]), and reversible-jump chains that use nothing of this
// structure ([RunReversibleJump]).
//
// # Files
//
// The problem:
//
//	data.go, column_kinds.go    a table as nodes: numbers or categories, interventions
//	scaling.go                  scaling of numeric columns
//	missing_cells.go            missing cells of the table
//	soft_interventions.go       rows in which a mechanism was changed
//	discretize.go, clamp.go     discretized numbers, and nodes that were set in some rows
//	collinear_columns.go        columns that are linear functions of others
//	constant_columns.go         columns that are left out because nothing can depend on them
//	constraints.go              edges that are forbidden or required, tiers
//	mechanism.go                how a node depends on its parents
//	model_options.go            likelihood and priors; graph_prior.go those over graphs
//	problem.go, method.go       data with model and constraints, and how it can be solved
//	parameter_layout.go         coordinates of the parameters of a family
//
// Scores in closed form:
//
//	closed_form.go              what they all have in common
//	linear_evidence.go          linear mechanisms; one_sided_jacobi.go keeps them precise
//	linear_posterior.go         draws of their parameters
//	bge.go, bdeu.go             scores that are the same for all graphs of an equivalence class
//	mixed_form.go               numbers and categories in one table
//	mixed_mechanism.go          parameters of their nodes: draws, predictions
//	mixed_effects.go            total effects of mixed tables, by simulation
//	logistic_evidence.go        categories given numbers: likelihood, prior and mode
//	logistic_weights.go         their evidences by importance weights
//	logistic_rays.go            their evidences by integrals along lines through the mode
//
// Graphs from scores:
//
//	posterior.go                sums over all graphs, draws, standard errors
//	greedy_search.go            the best graph by BIC
//	graph_chains.go             rounds of chains over graphs
//	graph_chains_checkpoint.go  their state in a file
//	graph_walk.go               one chain, and its steps by orders of all nodes
//	graph_walk_window.go        steps that draw the order of neighbours in an order
//	graph_walk_block.go         steps that redraw a few nodes
//	graph_walk_edges.go         steps of single edges
//	parent_candidates.go        which parents chains propose; doubtful_pairs.go single edges
//	parent_sets.go              parents that matter only together
//	imputation.go               chains that also draw missing cells
//	order_tables.go             sums over sets of them
//
// Networks by particles:
//
//	network_family.go           the data of a family
//	network_likelihood.go       the likelihood given the first layer
//	network_tempering.go        particles from prior to posterior; network_moves.go moves them
//	particle_evidence.go        which families get particles
//	shared_scores.go            scores shared by several processes
//	particle_predictions.go     predicted scores of families without particles
//	particle_errors.go          standard errors, and whether particles have converged
//
// Flows:
//
//	family_target.go            the posterior of all families at once; family_space.go its models
//	family_quadratic.go         Gaussian approximations of linear families
//	network_anchors.go          normal approximations of networks
//	training_families.go        which families training sees
//	flow_evidence.go            evidences by importance weights
//	learned_graphs.go           q(m), over orders and graphs along them
//	learned_graphs_loss.go      its loss
//	learned_graphs_draws.go     its draws and their weights
//	graph_target.go             codes and parameters of all nodes together, for reversible jump
//
// Answers:
//
//	run_*.go                    one method each
//	certificate.go              the verdict
//	result.go, result_files.go  the answer in terms of the table, and its files
//	total_effects.go            total causal effects of nodes on nodes
//	effects.go                  slopes of mechanisms, residuals of nodes
//	model_check.go              whether the mechanisms fit the table
//	parameter_draws.go          draws of graphs with parameters
//	query.go, query_answer.go   conditional and interventional probabilities
//	query_levels.go             queries about categories; query_numbers.go about numbers;
//	query_mixed.go              about mixed tables, by simulation
//	network.go                  graphs of categories with their tables of probabilities
//	graph_exports.go            graphs in the formats of other programs
//	record.go, compare_runs.go  stored runs, and comparison of two
//	simulate.go, simulate_mixed.go  simulated data
//	numbers.go                  matrices of numbers, and counts
package dag
