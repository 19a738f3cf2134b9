package vti

import (
	"cmp"
	"math"
	"slices"
)

// A flow that is trained until its weights look good can lose a mode that it proposed before: where
// no draw falls weights show nothing. Solve therefore keeps witnesses of what earlier certificates
// have found, and weights them under the proposal of each certificate. Where one such draw would
// dominate, although witnesses show that there is a part of the posterior, the certificate has not
// seen that part.

// witness is a point that an earlier certificate has found.
type witness struct {
	Code  []int32
	Theta []float64
	// LogP is log p(m) + log η(θ | m), LogMass the log of the unnormalised posterior mass that the
	// certificate gave to what the witness stands for.
	LogP, LogMass float64
}

// witnesses are those of all earlier certificates, in groups of which each is an estimate of its
// own: the mean of Σ exp LogMass over those of a region is no more than the mass of the region.
type witnesses [][]witness

const (
	// mostWitnesses and mostGroups bound what is kept: the heaviest of each group, of the last
	// groups. Chosen by hand.
	mostWitnesses = 32
	mostGroups    = 32
	// thinShare is the share of a certificate that a single draw would have where it has not seen
	// the region of that draw. Chosen by hand, half of what a probability may be off by.
	thinShare = 0.005
)

// heaviestOf keeps the heaviest of a group.
func heaviestOf(group []witness) []witness {
	group = slices.DeleteFunc(group, func(w witness) bool { return !finite(w.LogMass) || !finite(w.LogP) })
	slices.SortStableFunc(group, func(a, b witness) int { return cmp.Compare(b.LogMass, a.LogMass) })
	return slices.Clone(group[:min(len(group), mostWitnesses)])
}

// add adds the groups of a certificate, in place of the oldest where there are too many.
func (w *witnesses) add(groups ...[]witness) {
	for _, group := range groups {
		if len(group) > 0 {
			*w = append(*w, group)
		}
	}
	if extra := len(*w) - mostGroups; extra > 0 {
		*w = slices.Delete(*w, 0, extra)
	}
}

// flat are all witnesses, one group after the other.
func (w witnesses) flat() []witness { return slices.Concat(w...) }

// unseen is the largest share of the posterior that a group gives to regions which a certificate
// with a log evidence has not seen. logWeight are the log weights that draws at the witnesses, in
// the order of flat, would have in it, over the number of its draws.
func (w witnesses) unseen(logWeight []float64, logEvidence float64) (most float64) {
	at := 0
	for _, group := range w {
		share := 0.0
		for _, one := range group {
			if !(logWeight[at]-logEvidence <= math.Log(thinShare)) {
				share += math.Exp(one.LogMass - logEvidence)
			}
			at++
		}
		most = math.Max(most, share)
	}
	return most
}
