package rjmcmc

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/space"
)

// linearTarget is the regression y ~ N(X β, σ²) with β_j ~ N(0, τ²) for the active columns.
// Optional columns are independently active, each with prior probability inclusion. The posterior
// is known in closed form.
type linearTarget struct {
	space     *space.Subsets
	x         [][]float64 // [n][D]
	y         []float64
	sigma     float64
	tau       float64
	inclusion float64
}

func (l linearTarget) Space() space.Space { return l.space }

func (l linearTarget) LogPrior(codes *graph.Node) *graph.Node {
	on := graph.ReduceSum(graph.ConvertDType(codes, graph.Const(codes.Graph(), 0.0).DType()), 1)
	logit := math.Log(l.inclusion / (1 - l.inclusion))
	return graph.AddScalar(graph.MulScalar(on, logit), float64(len(l.space.Cards()))*math.Log(1-l.inclusion))
}

func (l linearTarget) LogJoint(_, mask, theta *graph.Node) *graph.Node {
	g, dtype := theta.Graph(), theta.DType()
	x := graph.ConvertDType(graph.Const(g, l.x), dtype)
	y := graph.ConvertDType(graph.Const(g, [][]float64{l.y}), dtype)
	residual := graph.Sub(y, graph.DotGeneral(theta, []int{1}, nil, x, []int{1}, nil)) // [C, n]
	half := math.Log(2*math.Pi) / 2
	likelihood := graph.AddScalar(graph.MulScalar(graph.ReduceSum(graph.Square(residual), 1), -0.5/(l.sigma*l.sigma)),
		-float64(len(l.y))*(half+math.Log(l.sigma)))
	each := graph.AddScalar(graph.MulScalar(graph.Square(theta), -0.5/(l.tau*l.tau)), -half-math.Log(l.tau))
	return graph.Add(likelihood, graph.ReduceSum(graph.Where(mask, each, graph.ZerosLike(each)), 1))
}

// exactModel is the posterior of one model: its probability, and the moments of all D coefficients.
type exactModel struct {
	codes        []int32
	probability  float64
	mean, second []float64 // E β_j and E β_j², 0 where inactive
}

// exact returns the posterior by enumeration of the models.
func (l linearTarget) exact() []exactModel {
	models, _ := l.enumerate()
	return models
}

// enumerate returns the exact posterior and log Σ_m p(m) Z_m, where Z_m is the evidence of model m.
func (l linearTarget) enumerate() (models []exactModel, logEvidence float64) {
	var logs []float64
	n := len(l.y)
	for _, code := range space.All(l.space.Cards()) {
		mask := l.space.MaskRow(code, nil)
		var active []int
		for j, on := range mask {
			if on {
				active = append(active, j)
			}
		}
		k := len(active)
		model := exactModel{codes: append([]int32(nil), code...), mean: make([]float64, len(mask)), second: make([]float64, len(mask))}
		var yy float64
		for _, v := range l.y {
			yy += v * v
		}
		logEvidence := -float64(n)/2*math.Log(2*math.Pi*l.sigma*l.sigma) - yy/(2*l.sigma*l.sigma)
		if k > 0 {
			precision, score := mat.NewSymDense(k, nil), mat.NewVecDense(k, nil)
			for a, i := range active {
				for row := range n {
					score.SetVec(a, score.AtVec(a)+l.x[row][i]*l.y[row]/(l.sigma*l.sigma))
				}
				for b, j := range active[:a+1] {
					var sum float64
					for row := range n {
						sum += l.x[row][i] * l.x[row][j] / (l.sigma * l.sigma)
					}
					if a == b {
						sum += 1 / (l.tau * l.tau)
					}
					precision.SetSym(a, b, sum)
				}
			}
			var chol mat.Cholesky
			chol.Factorize(precision)
			var centre mat.VecDense
			_ = chol.SolveVecTo(&centre, score)
			var covariance mat.SymDense
			_ = chol.InverseTo(&covariance)
			logEvidence += mat.Dot(&centre, score)/2 - chol.LogDet()/2 - float64(k)*math.Log(l.tau)
			for a, j := range active {
				model.mean[j] = centre.AtVec(a)
				model.second[j] = centre.AtVec(a)*centre.AtVec(a) + covariance.At(a, a)
			}
		}
		for _, outcome := range code {
			p := l.inclusion
			if outcome == 0 {
				p = 1 - p
			}
			logEvidence += math.Log(p)
		}
		models, logs = append(models, model), append(logs, logEvidence)
	}
	largest, total := math.Inf(-1), 0.0
	for _, v := range logs {
		largest = max(largest, v)
	}
	for i := range models {
		models[i].probability = math.Exp(logs[i] - largest)
		total += models[i].probability
	}
	for i := range models {
		models[i].probability /= total
	}
	return models, largest + math.Log(total)
}

// tableTarget has evidence 1 in every model, so that its posterior over models is the prior. The
// coordinates active in model m are independent normals with mean centre[m][j] and standard
// deviation spread[j].
type tableTarget struct {
	space  space.Space
	prior  []float64   // [M]
	centre [][]float64 // [M][D]
	spread []float64   // [D]
}

func (t tableTarget) Space() space.Space { return t.space }

func (t tableTarget) rows(codes *graph.Node, table any) *graph.Node {
	return graph.Gather(graph.Const(codes.Graph(), table), graph.InsertAxes(space.Index(t.space.Cards(), codes), -1))
}

func (t tableTarget) LogPrior(codes *graph.Node) *graph.Node {
	logs := make([]float64, len(t.prior))
	for i, p := range t.prior {
		logs[i] = math.Log(p)
	}
	return t.rows(codes, logs)
}

func (t tableTarget) LogJoint(codes, mask, theta *graph.Node) *graph.Node {
	g := theta.Graph()
	u := graph.Div(graph.Sub(theta, graph.ConvertDType(t.rows(codes, t.centre), theta.DType())),
		graph.ConvertDType(graph.Const(g, [][]float64{t.spread}), theta.DType()))
	constants := make([]float64, len(t.spread))
	for j, s := range t.spread {
		constants[j] = -math.Log(s) - math.Log(2*math.Pi)/2
	}
	each := graph.Add(graph.MulScalar(graph.Square(u), -0.5), graph.ConvertDType(graph.Const(g, [][]float64{constants}), theta.DType()))
	return graph.ReduceSum(graph.Where(mask, each, graph.ZerosLike(each)), 1)
}

// maskTable is a space of several sites whose masks are listed by model index.
type maskTable struct {
	cards []int
	masks [][]bool
}

func (m maskTable) Cards() []int { return m.cards }
func (m maskTable) Dim() int     { return len(m.masks[0]) }
func (m maskTable) Mask(codes *graph.Node) *graph.Node {
	rows := make([][]int32, len(m.masks))
	for i, mask := range m.masks {
		rows[i] = make([]int32, len(mask))
		for j, on := range mask {
			if on {
				rows[i][j] = 1
			}
		}
	}
	index := graph.InsertAxes(space.Index(m.cards, codes), -1)
	return graph.GreaterThan(graph.Gather(graph.Const(codes.Graph(), rows), index), graph.Scalar(codes.Graph(), codes.DType(), 0))
}
