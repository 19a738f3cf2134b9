package rjmcmc

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/transdim/vti/internal/checkpoint"
)

// checkpointFormat is the format of files that hold chains. The payload consists of the fields that
// [sampler.transcribe] lists, in its order.
var checkpointFormat = checkpoint.Format{Name: "checkpoint of chains", Magic: "vti.chns", Version: 5}

type checkpointHeader struct {
	Version  int             `json:"version"`
	Settings json.RawMessage `json:"settings"`
	// Iteration is the iteration in progress, from 1. Made is the number of moves made in it.
	Iteration int  `json:"iteration"`
	Made      int  `json:"made"`
	BurnIn    bool `json:"burn_in"`
	Enough    bool `json:"enough"`
	// Further is the number of iterations added by Config.Further.
	Further int `json:"further,omitempty"`
}

// settings encodes all settings that influence the states of chains, except the target.
func (s *sampler) settings() json.RawMessage {
	c := s.cfg
	encode := func(value any) []byte {
		encoded, _ := json.Marshal(value) // texts, and slices of finite numbers: Validate has checked them
		return encoded
	}
	digest := func(value any) string { return fmt.Sprintf("%x", sha256.Sum256(encode(value)))[:16] }
	return encode(map[string]any{
		"chains": c.Chains, "burn_in": c.BurnIn, "iterations": c.Iterations, "thin": c.Thin, "temperatures": c.Temperatures,
		"jumps": c.Jumps, "swaps": c.Swaps, "walks": c.Walks, "joints": c.Joints,
		"seed": c.Seed, "starts": digest(c.Starts),
		"backend": s.density.backend, "sites": len(s.cards), "cards": digest(s.cards), "coordinates": s.dim,
	})
}

func (s *sampler) save() error {
	if s.cfg.Checkpoint == "" {
		return nil
	}
	started := time.Now()
	header := checkpointHeader{
		Version: checkpointFormat.Version, Settings: s.settings(),
		Iteration: s.iteration, Made: s.made, BurnIn: s.result == nil, Enough: s.enough, Further: s.further,
	}
	err := checkpointFormat.Write(s.cfg.Checkpoint, header, func(w io.Writer) error {
		t := transcript{encoder: gob.NewEncoder(w)}
		s.transcribe(&t)
		return t.err
	})
	if err != nil {
		return fmt.Errorf("rjmcmc: %w", err)
	}
	s.saver.Wrote(time.Since(started))
	return nil
}

func (s *sampler) restore() error {
	path := s.cfg.Checkpoint
	var header checkpointHeader
	payload, err := checkpointFormat.Read(path, &header)
	if err != nil {
		return fmt.Errorf("rjmcmc: %w", err)
	}
	if err := checkpoint.CheckSettings(path, header.Settings, s.settings()); err != nil {
		return fmt.Errorf("rjmcmc: %w", err)
	}
	if header.Iteration < 1 || header.Made < 0 || header.Further < 0 {
		return fmt.Errorf("rjmcmc: %s: damaged checkpoint: iteration %d, move %d", path, header.Iteration, header.Made)
	}
	s.iteration, s.made, s.enough, s.further = header.Iteration, header.Made, header.Enough, header.Further
	if !header.BurnIn {
		s.freeze()
	}
	left := bytes.NewReader(payload)
	t := transcript{decoder: gob.NewDecoder(left)}
	s.transcribe(&t)
	if t.err != nil || left.Len() > 0 {
		return fmt.Errorf("rjmcmc: %s: damaged checkpoint: %d bytes left over, %v", path, left.Len(), t.err)
	}
	if s.weights != nil {
		if err := s.proposeBy(s.weights); err != nil {
			return err
		}
	}
	return s.recognise()
}

// recognise returns an error if the target gives the states of a checkpoint other log densities
// than the checkpoint holds. The checkpoint then comes from a run with a different target or
// different data.
func (s *sampler) recognise() error {
	for row := range s.rows {
		s.state.copyRow(s.proposal, row)
	}
	if err := s.oneByOne(func(_ *workspace, b *block) error { return s.evaluate(s.proposal, b) }); err != nil {
		return err
	}
	const tolerance = 1e-6 // rounding errors of sums may depend on the position of a row in the batch
	for row, stored := range s.state.logDensity {
		actual := s.proposal.logDensity[row]
		if !(math.Abs(actual-stored) <= tolerance*(1+math.Abs(stored))) {
			return fmt.Errorf("rjmcmc: %s was written by a run on another target: it stores log density %g for a state that has %g", s.cfg.Checkpoint, stored, actual)
		}
	}
	return nil
}

// transcript writes fields to a file, or reads them in the same order.
type transcript struct {
	encoder *gob.Encoder // when writing
	decoder *gob.Decoder // when reading
	err     error        // the first error
}

// fields transcribes the values that the pointers point to.
func (t *transcript) fields(fields ...any) {
	for _, field := range fields {
		switch {
		case t.err != nil:
		case t.decoder != nil:
			t.err = t.decoder.Decode(field)
		default:
			t.err = t.encoder.Encode(field)
		}
	}
}

// transcribe lists the state of the run. A sampler that reads a state must have the settings of the
// sampler that wrote it.
func (s *sampler) transcribe(t *transcript) {
	for _, source := range s.sources {
		t.fields(source)
	}
	t.fields(&s.atStart)
	s.state.transcribe(t)
	s.ladder.transcribe(t)
	for i := range s.rungs {
		s.rungs[i].transcribe(t)
	}
	weighted := s.weights != nil
	if t.fields(&weighted); weighted {
		t.fields(&s.weights)
	}
	t.fields(&s.info.Proposed, &s.info.Accepted, &s.info.NonFinite)
	if s.result != nil {
		t.fields(s.result)
	}
}

func (p *population) transcribe(t *transcript) {
	t.fields(&p.codes, &p.theta, &p.mask, &p.base, &p.tilt, &p.logDensity)
	if p.precision != nil {
		t.fields(&p.precision, &p.linear)
	}
}

func (l *ladder) transcribe(t *transcript) {
	t.fields(l.source, &l.beta, &l.flattest.centre, &l.flattest.scale, &l.flattest.logNorm, &l.tried, &l.refused, &l.roundTrips)
	for i := range l.replica {
		t.fields(&l.replica[i].left, &l.replica[i].returning)
	}
}

func (r *rung) transcribe(t *transcript) {
	tuning := &r.tuning
	fitted := tuning.Quadratic != nil
	if t.fields(&tuning.BirthMean, &tuning.BirthSD, &tuning.WalkScale, &tuning.JointScale, &fitted); fitted {
		if tuning.Quadratic == nil {
			tuning.Quadratic = &Quadratic{}
		}
		t.fields(tuning.Quadratic)
	}
	a := r.adapter
	if a == nil {
		return
	}
	t.fields(&a.next)
	for _, rates := range []*rates{&a.walks, &a.joints} {
		t.fields(&rates.sum, &rates.tries, &rates.updates)
	}
	t.fields(&a.count, &a.sum, &a.square)
	if a.fit != nil {
		for i := range a.fit.rows {
			row := &a.fit.rows[i]
			t.fields(&row.count, &row.normal, &row.crossed, &row.squared)
		}
	}
	if a.items != nil {
		t.fields(&a.items.inclusion, &a.items.sum, &a.items.count)
	}
}
