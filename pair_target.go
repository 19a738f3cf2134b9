package vti

import "context"

// PairTarget is a Target that finds members of models which matter only together. Neither q(m) nor
// chains over models, which change one member at a time, would come upon them: the models between
// can be less probable by a hundred nats.
type PairTarget interface {
	Target
	// Pairs returns models with two more members each than others, which promise most beyond what
	// either member adds alone. Those others are the model of the code, or near it. What they are
	// worth is computed by the engine.
	Pairs(ctx context.Context, code []int32) (with, without [][]int32, err error)
}

// jointPair are two members that matter only together, with a model that has both.
type jointPair struct {
	code    []int32
	members [2]int32 // ascending
}

// foundPairs are the pairs that an evaluator knows.
type foundPairs struct {
	around map[string][]jointPair // models that were looked around, by their keys
	joint  []jointPair            // which chains over models move together
}
