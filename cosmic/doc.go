// Package cosmic builds CoSMIC flows: normalizing flows whose dimension depends on the model. One
// set of weights transports standard normal draws z [B, D] to parameters θ [B, D] of many models.
// Each model uses some of the D coordinates; all other coordinates pass through unchanged.
//
// The VTI paper is Davies, Mackinlay, Oliveira and Sisson, "Amortized Variational Transdimensional
// Inference" (2025). Numbers of equations and propositions refer to it.
//
// # Map
//
// For a model m that uses d_m coordinates (mask A(m)), a flow of L layers is
//
//	T(z | m) = Q_m ∘ E ∘ P_m⁻¹ ∘ T_L ∘ R_m ∘ … ∘ R_m ∘ T_1 ∘ P_m
//
// P_m puts the active coordinates first, in order (proposition 2.2). T_l is autoregressive: a
// monotone map τ_ρ moves slot s, the coordinate at place s, and its parameters ρ come from the
// slots before s and from the features of m (eq. 7). Inactive slots are selected unchanged, instead
// of the convex combination of eq. 8. R_m reverses the first d_m slots; if L is even a last R_m
// restores their order. E shifts and scales each active coordinate by two parameters that do not
// depend on m. The Diagonal kind has one layer without permutation, whose ρ depends on m alone.
//
// Q_m, the anchor, is present if the Config has a Precision H and a Linear term b. It is a fixed
// affine map, which sends N(0, I) to N(μ_A, H_AA⁻¹), H_AA μ_A = b_A, on the active coordinates A.
// Suppose that the log density of the model with all coordinates is about -½ θᵀHθ + bᵀθ, and that
// any other model has the same density with its inactive coordinates at zero. The anchor then
// approximates the posterior of every model, however the predictors correlate. An untrained flow
// equals this approximation, and training learns only the difference.
//
// Inactive coordinates are last and map to themselves. They are therefore unchanged to the bit, no
// other coordinate depends on them, and log q(θ | m) = Σ_active log N(z_i; 0, 1) - logDet.
//
// # Notation
//
//	code      VTI paper               shape
//	z         z ~ ν                   [B, D]
//	theta     (θ_m, u_∖m)             [B, D]
//	mask      A(m)                    [B, D] Bool
//	feats     ξ                       [B, C]
//	rho       ρ                       [B, D·k] per head
//	logDet    log |det ∇T|            [B], active coordinates only
//
// # Conventions
//
// ToParams maps z to θ in one pass, and training uses it; ToBase is sequential. Both return the
// logDet of the map from z to θ. The dtype follows z or theta. Weights are created in the dtype of
// the first use and converted elsewhere, so a flow trained in Float32 can be evaluated in Float64.
// Initial weights depend on Config.Seed and on variable names only.
//
//	flow, err := cosmic.New(cosmic.Config{Dim: 8, Features: 7})
//	...
//	func(ctx *context.Context, mask, feats, z *graph.Node) *graph.Node {
//		theta, logDet := flow.ToParams(ctx.In("flow"), mask, feats, z)
//		logQ := graph.Sub(logNormal(z, mask), logDet) // log q(θ | m)
//		return graph.Sub(logQ, logJoint(theta, mask)) // log h, eq. 9
//	}
package cosmic
