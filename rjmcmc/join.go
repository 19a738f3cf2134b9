package rjmcmc

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"math"
)

// Join combines several runs of one target into one result. The runs must have different seeds.
// Chains are numbered run by run. If the runs differ in length, each chain keeps only its last
// draws, up to the length of the shortest run. Tuning is copied from the first run.
func Join(runs ...*Result) (*Result, error) {
	switch {
	case len(runs) == 0:
		return nil, errors.New("rjmcmc.Join: no runs")
	case len(runs) == 1:
		return runs[0], nil
	}
	first := runs[0]
	joined := &Result{Sites: first.Sites, Dim: first.Dim, BurnIn: first.BurnIn, Thin: first.Thin, Info: first.Info, Tuning: first.Tuning, ladder: []float64{1}, runs: runs}
	kept := math.MaxInt
	for i, r := range runs {
		if r.Sites != first.Sites || r.Dim != first.Dim || r.Thin != first.Thin {
			return nil, fmt.Errorf("rjmcmc.Join: run %d has %d sites, %d coordinates and thinning %d, the first %d, %d and %d", i, r.Sites, r.Dim, r.Thin, first.Sites, first.Dim, first.Thin)
		}
		kept = min(kept, r.Draws()/r.Chains)
		joined.Chains += r.Chains
		if i > 0 {
			joined.Info.add(&r.Info)
		}
	}
	for k := range kept {
		unmoved := 0
		for _, r := range runs {
			at := r.Draws()/r.Chains - kept + k
			draws := r.between(at, at+1)
			joined.codes, joined.theta, joined.mask = append(joined.codes, draws.codes...), append(joined.theta, draws.theta...), append(joined.mask, draws.mask...)
			joined.LogDensity = append(joined.LogDensity, draws.LogDensity...)
			unmoved += draws.unmoved()
		}
		joined.atStart = append(joined.atStart, unmoved)
	}
	joined.Info.AtStart = joined.unmoved()
	return joined, nil
}

// joinedEvidence returns the mean of the log evidences of the joined runs. Its standard error comes
// from the errors of the runs or from their differences, whichever is larger.
func (r *Result) joinedEvidence() (value, se float64) {
	n := float64(len(r.runs))
	var sum, squaredErrors, squares float64
	for _, one := range r.runs {
		evidence, error := one.LogEvidence()
		sum, squaredErrors, squares = sum+evidence, squaredErrors+error*error, squares+evidence*evidence // NaN if any is NaN
	}
	value = sum / n
	between := math.Max(squares-n*value*value, 0) / (n - 1)
	return value, math.Sqrt(math.Max(squaredErrors/n, between) / n)
}

// transcribe lists the fields of a Result in a file: all but joined runs and Tuning.
func (r *Result) transcribe(t *transcript) {
	t.fields(&r.Chains, &r.Sites, &r.Dim, &r.BurnIn, &r.Thin, &r.LogDensity, &r.Info)
	t.fields(&r.ladder, &r.tilt, &r.theta, &r.atStart, &r.discarded, &r.codes, &r.mask)
}

// GobEncode implements [gob.GobEncoder]. It fails for joined results, and does not encode Tuning.
func (r *Result) GobEncode() ([]byte, error) {
	if r.runs != nil {
		return nil, errors.New("rjmcmc: joined runs cannot be encoded")
	}
	var encoded bytes.Buffer
	t := transcript{encoder: gob.NewEncoder(&encoded)}
	r.transcribe(&t)
	return encoded.Bytes(), t.err
}

// GobDecode implements [gob.GobDecoder].
func (r *Result) GobDecode(encoded []byte) error {
	*r = Result{}
	t := transcript{decoder: gob.NewDecoder(bytes.NewReader(encoded))}
	r.transcribe(&t)
	return t.err
}
