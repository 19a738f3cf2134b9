package evaluate

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/train"
)

// These constants are the scopes, or name spaces, of the variables that an evaluation reads.
const (
	FlowScope  = "flow"
	ModelScope = "models"
)

// Graphs holds functions of variables on a device. Each is compiled when its name is first used.
type Graphs struct {
	Device    *gpu.Device
	Variables *context.Context

	compiled map[string]*context.Exec
}

// Run executes the graph with the given name.
func (g *Graphs) Run(name string, graphFn any, args ...any) ([]*tensors.Tensor, error) {
	exec, ok := g.compiled[name]
	if !ok {
		var err error
		if exec, err = context.NewExecAny(g.Device.Backend(), g.Variables, graphFn); err != nil {
			return nil, err
		}
		if g.compiled == nil {
			g.compiled = map[string]*context.Exec{}
		}
		g.compiled[name] = exec
	}
	return train.Call(func() ([]*tensors.Tensor, error) { return exec.Exec(args...) })
}

// LogConditional returns log q(θ | m) = Σ log N(z_j; 0, 1) − logDet [B]. The sum is over the
// coordinates j that the model m uses, where mask is true.
func LogConditional(mask, z, logDet *Node) *Node {
	logNormal := AddScalar(MulScalar(Square(z), -0.5), -0.5*math.Log(2*math.Pi))
	return Sub(ReduceSum(Where(mask, logNormal, ZerosLike(z)), -1), logDet)
}

// Float64 converts x to float64, the type of densities that are compared or summed over models.
func Float64(x *Node) *Node { return ConvertDType(x, dtypes.Float64) }

// Clone returns a copy of the value of a variable.
func Clone(variable *context.Variable) (*tensors.Tensor, error) {
	value, err := variable.Value()
	if err != nil {
		return nil, err
	}
	return value.LocalClone()
}
