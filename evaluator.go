package vti

import (
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/shard"
)

// evaluator evaluates a target and an approximation of it, and keeps what was found of models.
type evaluator struct {
	*evaluate.Evaluator
	shard *shard.Shard // the part of this process in a certificate; nil: all of it

	known  *keptEvidences // of models, which are found once; nil before the first
	chains *keptChains    // over models; nil before the first certificate that has them
	summed *ModelSum      // of a SummedTarget; nil before the first
	joint  foundJoint
}
