// Package calibrate measures whether the answers of vti are right, on problems with known truth.
//
// A replicate is a problem that is drawn with a seed and answered by the code that the command
// runs. Its model and parameters are drawn from the prior, and its data given these. Therefore over
// many replicates the rank of a true parameter among its posterior draws is uniform (Talts et al.
// 2018), and of the events with a stated probability p a fraction p happens.
//
// A study repeats replicates from a [Source]. Package lab/hard has further sources, whose tables
// are difficult and whose answers are compared with exact ones ([Problem.Exact]). If the verdict on
// an answer is trusted and its numbers are wrong, the replicate is listed with the command that
// repeats it.
package calibrate
