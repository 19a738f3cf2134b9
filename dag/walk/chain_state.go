package walk

import (
	gocontext "context"
	"fmt"
	"io"
	"math/rand/v2"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/shard"
)

// walkState is the state of a chain between two rounds. A chain that continues from this state ends
// with exactly the result of an uninterrupted chain.
type walkState struct {
	Parents []dgraph.Set
	Order   []int // the order of the nodes, which the prior over orders needs
	Random  []byte
	Wide    bool
	Cells   []float64 // values of the missing cells
}

// chainRun is a run of several chains, between two rounds.
type chainRun struct {
	problem    *score.Problem
	cfg        ChainConfig
	candidates *candidates
	walks      []*walk
	sources    []*rand.PCG // random sources of the walks
	imputers   []*imputer  // chains over missing cells, each with a walk; nil if no cells are missing
	round      int         // number of the next round, from 0
	visits     [][]float64 // Graphs.visits of the pilot or of the last round; nil before
	before     string      // text about the round before, for the status
}

// initialise chooses candidates, the likely parents of each node. It then starts the chains, or
// restores them if another process or an earlier run has started them.
func (r *chainRun) initialise(ctx gocontext.Context, status func(string)) (err error) {
	start := r.start
	if r.problem.Data.Missing != nil {
		start = r.startImputed
	}
	r.candidates, err = newCandidates(ctx, r.cfg.Shard, r.problem, r.cfg.Candidates, func(done, total int) {
		status(fmt.Sprintf("scores of sets of parents: node %d/%d", done, total))
	})
	if err != nil {
		return err
	}
	pieces, err := shard.Map(ctx, r.cfg.Shard, shard.Stage[int, []walkState]{
		Name: "start", Key: func(io.Writer, int) {},
		Do: func(ctx gocontext.Context, _ int) (states []walkState, err error) {
			if err := start(ctx, status); err != nil {
				return nil, err
			}
			for c := range r.walks {
				state, err := r.state(c)
				if err != nil {
					return nil, err
				}
				states = append(states, state)
			}
			return states, nil
		},
	}, []int{0})
	if err != nil {
		return err
	}
	tables, err := r.candidates.newTables(ctx, 1)
	if err != nil {
		return err
	}
	r.walks, r.sources = make([]*walk, r.cfg.Chains), make([]*rand.PCG, r.cfg.Chains)
	if r.problem.Data.Missing != nil {
		r.imputers = make([]*imputer, r.cfg.Chains)
	}
	for c, state := range pieces[0] {
		if err := r.restore(c, state, tables); err != nil {
			return err
		}
	}
	return nil
}

func (r *chainRun) state(c int) (s walkState, err error) {
	w := r.walks[c]
	s = walkState{Parents: w.parents, Order: w.order, Wide: w.wide}
	if r.imputers != nil {
		s.Cells = r.imputers[c].cells()
	}
	s.Random, err = r.sources[c].MarshalBinary()
	return s, err
}

func (r *chainRun) restore(c int, state walkState, tables *orderTables) error {
	source := new(rand.PCG)
	if err := source.UnmarshalBinary(state.Random); err != nil {
		return err
	}
	w := newWalk(tables, rand.New(new(rand.PCG)))
	for j, set := range state.Parents {
		w.setFamily(j, set)
	}
	copy(w.order, state.Order)
	for t, j := range w.order {
		w.position[j] = t
	}
	w.random, w.wide = rand.New(source), state.Wide
	w.rescore()
	r.walks[c], r.sources[c] = w, source
	if r.imputers != nil {
		m := newImputer(r.problem, rand.New(new(rand.PCG)))
		m.setCells(state.Cells)
		m.walk, m.random = w, w.random
		r.imputers[c] = m
	}
	return nil
}
