package vti

import "context"

// JointTarget is a Target that finds members of models that matter only together, or that stand in
// for others. Neither q(m) nor chains over models, which change one member at a time, would find
// them: the models in between can be less probable by a hundred nats.
type JointTarget interface {
	Target
	// Together returns models that extend the model of code, or one near it, by two or three
	// members, and that promise most beyond what fewer of these members add. The engine computes
	// their evidences.
	Together(ctx context.Context, code []int32) (with, without [][]int32, err error)
	// Instead returns the most promising models without some or all of the members of the model of
	// code: several members can stand in for several others although every model in between is
	// improbable.
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
