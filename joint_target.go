package vti

import "context"

// JointTarget is a Target that finds members of models which matter only together, or stand in for
// others. Neither q(m) nor chains over models, which change one member at a time, would come upon
// them: the models between can be less probable by a hundred nats.
type JointTarget interface {
	Target
	// Together returns models with two or three more members each than others, which promise most
	// beyond what fewer of these members add. Those others are the model of the code, or near it.
	// What they are worth is computed by the engine.
	Together(ctx context.Context, code []int32) (with, without [][]int32, err error)
	// Instead returns models that do without some members of the model of the code, or without all
	// of them, and promise most: several members can stand in for several others, where every model
	// between is improbable.
	Instead(ctx context.Context, code []int32) (others [][]int32, err error)
}

// jointSet are members that matter only together, with a model that has all.
type jointSet struct {
	code    []int32
	members []int32 // ascending
}

// foundJoint are the joint sets that an evaluator knows.
type foundJoint struct {
	around  map[string][]jointSet // models that were looked around, by their keys
	instead map[string][][]int32  // those that do without members of them
	moved   []jointSet            // which chains over models move together
}
