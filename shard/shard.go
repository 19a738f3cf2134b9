package shard

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/transdim/vti/internal/english"
)

// Shard describes the part of one process in a computation. A nil *Shard stands for the whole
// computation, without files.
type Shard struct {
	// Dir is the directory of the pieces. All processes that use it must have the same program,
	// settings and data.
	Dir string
	// Index is the number of this process, from 0, among Count processes. A process with Count 1
	// reads the stored pieces and computes all other pieces.
	Index, Count int
	// Status, if not nil, is called with a description of the pieces that Map waits for.
	Status func(text string)

	computed, read atomic.Int64
}

// Computed returns the number of pieces that this process has computed.
func (s *Shard) Computed() int { return int(s.computed.Load()) }

// Read returns the number of pieces that this process read from the directory.
func (s *Shard) Read() int { return int(s.read.Load()) }

// Stage describes a step of a computation that is divided into pieces, each with an input of type
// In and an output of type Out.
type Stage[In, Out any] struct {
	// Name is the name of the stage. Stages of a computation that have the same name must have the
	// same function Do.
	Name string
	// Key writes everything that determines the output of a piece to w. Package gob must be able to
	// encode the output.
	Key func(w io.Writer, in In)
	// Do computes a piece. It must not depend on other pieces, nor on the order of calls.
	Do func(ctx context.Context, in In) (Out, error)
	// Workers is the number of goroutines that call Do; 0 stands for 1.
	Workers int
}

// Limits of the pauses in which Map waits for pieces of other processes.
const (
	shortestPause = 10 * time.Millisecond
	longestPause  = time.Second
)

// Map returns the outputs of stage for all inputs, in order, or the first error. It stores finished
// pieces in the directory even if it returns an error.
func Map[In, Out any](ctx context.Context, s *Shard, stage Stage[In, Out], inputs []In) ([]Out, error) {
	outputs := make([]Out, len(inputs))
	if s == nil {
		return outputs, each(ctx, stage.Workers, len(inputs), func(i int) (err error) {
			outputs[i], err = stage.Do(ctx, inputs[i])
			return err
		})
	}
	m := &mapping[In, Out]{
		Shard: s, Stage: stage, inputs: inputs, outputs: outputs, known: make([]bool, len(inputs)), paths: make([]string, len(inputs)), claims: make([]claim, len(inputs)),
	}
	for i, in := range inputs {
		m.paths[i] = s.piecePath(stage.Name, func(w io.Writer) { stage.Key(w, in) })
	}
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		missing := m.missing()
		if len(missing) == 0 {
			return outputs, nil
		}
		before := s.Computed()
		if err := each(ctx, stage.Workers, len(missing), func(k int) error { return m.try(ctx, missing[k]) }); err != nil {
			return nil, err
		}
		if s.Computed() > before {
			pause = shortestPause
		}
		left := len(m.missing())
		if left == 0 {
			return outputs, nil
		}
		if s.Status != nil {
			s.Status(fmt.Sprintf("%s: waiting for %d of %s", stage.Name, left, english.Count(len(inputs), "piece")))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// mapping is the state of a call of Map.
type mapping[In, Out any] struct {
	*Shard
	Stage[In, Out]
	inputs  []In
	outputs []Out
	known   []bool
	paths   []string
	claims  []claim
}

// missing returns the indices of the pieces whose outputs are not known yet: first the share of
// this process, then all other pieces. Every process begins the other pieces at a different place.
func (m *mapping[In, Out]) missing() (list []int) {
	n := len(m.inputs)
	for i := m.Index; i < n; i += m.Count {
		if !m.known[i] {
			list = append(list, i)
		}
	}
	for k := range n {
		if i := (k + m.Index*n/m.Count) % n; i%m.Count != m.Index && !m.known[i] {
			list = append(list, i)
		}
	}
	return list
}

// try reads piece i, or computes it unless another process works on it.
func (m *mapping[In, Out]) try(ctx context.Context, i int) error {
	if m.readPiece(i) {
		return nil
	}
	release, mine, err := m.claims[i].take(m.paths[i])
	if err != nil || !mine {
		return err
	}
	defer release()
	if m.readPiece(i) { // another process has just finished it
		return nil
	}
	if m.outputs[i], err = m.Do(ctx, m.inputs[i]); err != nil {
		return err
	}
	m.known[i] = true
	m.computed.Add(1)
	return writePiece(m.paths[i], m.Name, m.outputs[i])
}

func (m *mapping[In, Out]) readPiece(i int) bool {
	var found Out
	if !readPiece(m.paths[i], &found) {
		return false
	}
	m.outputs[i], m.known[i] = found, true
	m.read.Add(1)
	return true
}

// each calls work(0) to work(n−1) from the given number of goroutines, and returns the first error.
func each(ctx context.Context, workers, n int, work func(i int) error) error {
	var next atomic.Int64
	var wait sync.WaitGroup
	var once sync.Once
	var failure error
	var failed atomic.Bool
	for range min(max(workers, 1), n) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && !failed.Load(); i = int(next.Add(1)) - 1 {
				err := ctx.Err()
				if err == nil {
					err = work(i)
				}
				if err != nil {
					once.Do(func() { failure = err })
					failed.Store(true)
				}
			}
		})
	}
	wait.Wait()
	return failure
}
