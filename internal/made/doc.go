// Package made builds residual masked autoregressive networks (MADE; Germain et al. 2015, in the
// residual form of appendix A.3 of the VTI paper, Davies et al. 2025) as graph functions over a
// context.Context.
//
// A network reads x [B, D] and a conditioning input cond [B, C], and returns one or more heads. The
// outputs that a head holds for input i depend on x_0 … x_{i-1} and on cond, never on x_i or later
// inputs. The outputs for input 0 therefore depend on cond alone.
//
// # Degrees
//
// Hidden unit k has a degree m_k in 0 … D-1 and sees the inputs before m_k:
//
//	input j -> unit k    where j < m_k
//	unit k  -> unit l    where m_k ≤ m_l
//	unit k  -> output i  where m_k ≤ i
//
// Degrees are sorted, so the masked weight matrices are block triangular and a backend that detects
// zeros can skip about half of their work. They are spread evenly over 0 … D-1, even if there are
// fewer hidden units than inputs. Units of degree 0 see only cond, and the first output depends on
// them.
//
// # Notation
//
//	code      VTI paper                     shape
//	x         x                             [B, D]
//	cond      z in A.3, ξ in section 2      [B, C]
//	Hidden    width of h                    H
//	Blocks    number of residual blocks
//
// # Conventions
//
// A mask is a graph constant, by which a weight is multiplied just before its product with x:
// MatMul(x, Mul(weight, mask)). The weights of heads start at zero. Variables are created on first
// use. Their values depend only on the seed and on the scope and name of the variable, never on the
// order of the calls. They take the dtype of the first graph that uses them, and are converted in a
// graph of another dtype.
//
//	net, err := made.New(made.Config{
//		Inputs: 8, Context: 7, Hidden: 32, Blocks: 2,
//		Heads: slices.Repeat([][]int{slices.Repeat([]int{1}, 8)}, 2), // shift and scale, say
//	})
//	...
//	outputs := net.Bind(ctx, g, x.DType(), cond).Outputs(x) // two nodes [B, 8]
package made
