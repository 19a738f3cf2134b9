package regression

import (
	"cmp"
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/space"
)

// mostPlateModels is the largest number of models of a selection by a family over all effects: the
// evidence of each model takes thousands of draws.
const mostPlateModels = 128

// platesSpace is the space of the models of a selection, in the coordinates of the model with
// plates (groupings and rows, see PlateModel). A code [S] names a model; B is a number of codes, D
// of coordinates and C of features. Effects that a model lacks are zero, so that plates are the
// same for all models.
type platesSpace struct {
	*effectSpace
	owner []int32 // for each coordinate, a coordinate of the regression: a model has both or neither
	// features are the coordinates of the regression that distinguish models and are in no plate
	features []int32
}

var _ space.RowMasker = (*platesSpace)(nil)
var _ space.Featurer = (*platesSpace)(nil)

func (p *PlateModel) space() *platesSpace {
	s := &platesSpace{p.regression.space, make([]int32, p.Model.Dim()), nil}
	assign := func(j int, places []int) {
		for _, place := range places {
			s.owner[place] = int32(j)
		}
	}
	add := func(j int, places []int) {
		assign(j, places)
		s.features = append(s.features, int32(j))
	}
	if p.population != nil {
		for j, place := range p.Model.Coordinates(p.population) {
			add(j, []int{place})
		}
	}
	for j := range p.regression.coordinates {
		if v := p.globals[j]; v != nil {
			add(j, p.Model.Coordinates(v))
		}
	}
	for _, g := range p.groups {
		for a, v := range g.effects {
			assign(g.sd[a], p.Model.Coordinates(v))
		}
	}
	return s
}

// Dim returns the number of coordinates.
func (s *platesSpace) Dim() int { return len(s.owner) }

// Mask returns the coordinates in use: codes [B, S] -> [B, D].
func (s *platesSpace) Mask(codes *Node) *Node {
	return space.TakeColumns(s.effectSpace.Mask(codes), s.owner)
}

// MaskRow computes Mask for one code, on the host.
func (s *platesSpace) MaskRow(code []int32, dst []bool) []bool {
	mask := s.effectSpace.MaskRow(code, nil)
	dst = dst[:0]
	for _, j := range s.owner {
		dst = append(dst, mask[j])
	}
	return dst
}

// FeatureDim returns the number of features of a model.
func (s *platesSpace) FeatureDim() int { return len(s.features) }

// Features returns 1 for coordinates in a model and 0 for others: codes [B, S] -> [B, C].
func (s *platesSpace) Features(codes *Node, dtype dtypes.DType) *Node {
	return StopGradient(ConvertDType(space.TakeColumns(s.effectSpace.Mask(codes), s.features), dtype))
}

// startNear returns the option to start inference near the n numbers of start from index first on.
func (p *PlateModel) startNear(start []float64, first, n int) []hbm.Option {
	sds := apply.To(p.regression.coordinates[first:first+n], func(c coordinate) float64 { return math.Min(cmp.Or(c.sd, 1), widestStart) })
	return []hbm.Option{hbm.Near(start[first:first+n], sds)}
}
