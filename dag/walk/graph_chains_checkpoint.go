package walk

import (
	gocontext "context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/parallel"
)

var chainsFormat = checkpoint.Format{Name: "checkpoint of chains over graphs", Magic: "vti.grph", Version: 1}

// chainsState is the state of chains over graphs at the start of a round. A run that continues from
// it ends with the bits of an uninterrupted run.
type chainsState struct {
	Version    int             `json:"version"`
	Settings   json.RawMessage `json:"settings"`
	Round      int             `json:"round"` // from 0
	Before     string          `json:"before"`
	Candidates [][]int         `json:"candidates"`
	Walks      []walkState     `json:"walks"`
	Cells      [][]float64     `json:"cells,omitempty"` // missing cells, by chain
}

// walkState is the state of a chain.
type walkState struct {
	Parents []dgraph.Set `json:"parents"`
	Order   []int        `json:"order"` // part of the state with the prior over orders
	Random  []byte       `json:"random"`
	Wide    bool         `json:"wide"`
}

// chainRun is a run of chains between two rounds.
type chainRun struct {
	problem    *score.Problem
	cfg        ChainConfig
	candidates *candidates
	walks      []*walk
	sources    []*rand.PCG // of the walks
	imputers   []*imputer  // own the walks, if the table has missing cells
	round      int         // next round, from 0
	before     string      // report of the round before
}

// settings returns the settings that must match the checkpoint. A run may have more rounds.
func (r *chainRun) settings() (json.RawMessage, error) {
	p := r.problem
	return json.Marshal(map[string]any{
		"data": p.Data.Fingerprint, "nodes": p.Data.Names, "model": p.Model, "constraints": p.Constraints,
		"chains": r.cfg.Chains, "candidates": r.cfg.Candidates, "seed": r.cfg.Seed,
	})
}

func (r *chainRun) write() error {
	if r.cfg.Checkpoint == "" {
		return nil
	}
	settings, err := r.settings()
	if err != nil {
		return err
	}
	state := chainsState{Version: chainsFormat.Version, Settings: settings, Round: r.round, Before: r.before, Candidates: r.candidates.parents}
	for c := range r.walks {
		chain, err := r.state(c)
		if err != nil {
			return err
		}
		state.Walks = append(state.Walks, chain)
	}
	for _, m := range r.imputers {
		state.Cells = append(state.Cells, m.cells())
	}
	return chainsFormat.Write(r.cfg.Checkpoint, state, func(io.Writer) error { return nil })
}

// read continues from the checkpoint; found is false if there is none.
func (r *chainRun) read(ctx gocontext.Context) (found bool, err error) {
	if !r.cfg.Resume || r.cfg.Checkpoint == "" {
		return false, nil
	}
	var state chainsState
	if _, err := chainsFormat.Read(r.cfg.Checkpoint, &state); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	settings, err := r.settings()
	if err != nil {
		return false, err
	}
	if err := checkpoint.CheckSettings(r.cfg.Checkpoint, state.Settings, settings); err != nil {
		return false, err
	}
	r.round, r.before = state.Round, state.Before
	if r.candidates, err = candidatesOf(ctx, r.problem, state.Candidates); err != nil {
		return false, err
	}
	tables, err := r.candidates.newTables(ctx, 1)
	if err != nil {
		return false, err
	}
	r.walks, r.sources = make([]*walk, len(state.Walks)), make([]*rand.PCG, len(state.Walks))
	for c, chain := range state.Walks {
		if err := r.restore(c, chain, tables); err != nil {
			return false, err
		}
	}
	return true, r.restoreCells(state.Cells)
}

func (r *chainRun) restoreCells(cells [][]float64) error {
	if r.problem.Data.Missing == nil {
		return nil
	}
	missing := r.problem.Data.MissingCells()
	for c, w := range r.walks {
		if len(cells) != len(r.walks) || len(cells[c]) != missing {
			return fmt.Errorf("%s: damaged: want %d cells of each of %d chains", r.cfg.Checkpoint, missing, len(r.walks))
		}
		m := newImputer(r.problem, rand.New(new(rand.PCG)))
		m.setCells(cells[c])
		m.walk, m.random = w, w.random
		r.imputers = append(r.imputers, m)
	}
	return nil
}

func (r *chainRun) state(c int) (walkState, error) {
	w := r.walks[c]
	random, err := r.sources[c].MarshalBinary()
	return walkState{w.parents, w.order, random, w.wide}, err
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
	return nil
}

// candidatesOf scores the sets of given candidates.
func candidatesOf(ctx gocontext.Context, p *score.Problem, parents [][]int) (*candidates, error) {
	nodes := len(parents)
	c := &candidates{problem: p, forms: p.Forms(), failed: new(atomic.Pointer[error]), parents: slices.Clone(parents), scores: make([][]float64, nodes), priors: make([][]float64, nodes)}
	err := parallel.For(ctx, nodes, func(j int) error {
		c.scoreSets(ctx, j)
		return c.err()
	})
	return c, err
}
