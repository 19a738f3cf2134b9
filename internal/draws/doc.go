// Package draws writes posterior draws to files that other tools read as they are, Parquet and CSV,
// and reads the Parquet files back.
//
// A draw is a model m, its parameters θ, and log densities. A model is a list of outcomes, one for
// each of its sites; a site says, for example, whether a predictor is in the model. The columns,
// the same in both formats:
//
//	column              of      meaning
//	log_p__             IID     log p(m) + log p(y, θ | m), natural logarithm
//	log_q__             IID     log q(m, θ), density of the proposal
//	lp__                Chains  as log_p__ for IID
//	chain__             Chains  number of the chain, from 1
//	model__             both    number of the model: its outcomes in mixed radix, first
//	                            site most significant; NaN beyond 2^53 models
//	gamma[NAME] …       both    outcome of each site; member[1] … where models are lists
//	beta[NAME] …        both    parameters, 0 where the model does not use the coordinate
//	model               both    the model in words; Parquet only
//
// Densities refer to the coordinates in the file, unless the header names another scale under
// density_scale.
//
// CSV files follow the conventions of CmdStan: lines that begin with # carry the settings, columns
// of the sampler end in two underscores, numbers are decimal, nan, inf or -inf. IID files declare
// the layout of CmdStan's laplace method (columns log_p__ and log_q__), files of chains the layout
// of its sample method (lp__ first). ArviZ (from_cmdstan) and CmdStanR (read_cmdstan_csv) read
// both. Both take one file for one chain: to have them compare chains, write one file per chain.
// Parquet files hold the same columns as doubles, integers for gamma and chain__, and the model as
// text. In names of CSV columns dots, commas and quotes, which its readers would misread, are
// replaced.
//
// The header, with the names of sites and coordinates, is one line of JSON in a comment of the CSV
// and in the key-value metadata of the Parquet file.
//
//	d := &draws.Draws{Header: draws.Header{Cards: []int{2, 2}, Coordinates: names}}
//	// fill in densities, codes and parameters
//	err := draws.WriteBoth(dir, d)
package draws
