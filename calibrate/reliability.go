package calibrate

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/apply"
)

// Reliability compares stated probabilities of events with their frequencies.
type Reliability struct {
	Kind string `json:"kind"`
	// Count is the number of events.
	Count int `json:"count"`
	// Bins holds those tenths of [0, 1] in which there are stated probabilities.
	Bins []ReliabilityBin `json:"bins"`
	// ExpectedError is the expected calibration error: the mean over events of the distance between
	// the mean stated probability and the frequency in the bin of the event. Noise is the expected
	// value of this error if every stated probability is right.
	ExpectedError float64 `json:"expected_calibration_error"`
	Noise         float64 `json:"noise"`
	// Crossed reports whether the frequency in some bin lies outside of its band.
	Crossed bool `json:"crossed"`
}

// ReliabilityBin describes the events whose stated probability is in one bin.
type ReliabilityBin struct {
	Count int `json:"count"`
	// Stated is the mean stated probability, and Happened the fraction of events that happened. If
	// the probabilities are right, Happened lies between Lower and Upper in all bins at once with
	// probability 95 percent or more.
	Stated   float64 `json:"stated"`
	Happened float64 `json:"happened"`
	Lower    float64 `json:"lower"`
	Upper    float64 `json:"upper"`
}

// NewReliability compares the stated probabilities of events of one kind with their frequencies.
// The bands from Lower to Upper take all events as independent, although events of one replicate
// depend on each other.
func NewReliability(kind string, events []Event) *Reliability {
	const parts = 10
	r := &Reliability{Kind: kind, Count: len(events)}
	var lists [parts][]Event
	for _, e := range events {
		at := min(parts-1, int(float64(e.Probability)*parts))
		lists[at] = append(lists[at], e)
	}
	for _, list := range lists {
		if len(list) == 0 {
			continue
		}
		n := float64(len(list))
		probabilities := apply.To(list, func(e Event) float64 { return float64(e.Probability) })
		happened := len(apply.Keep(list, func(e Event) bool { return e.True }))
		bin := ReliabilityBin{Count: len(list), Stated: stat.Mean(probabilities, nil), Happened: float64(happened) / n}
		low, high, noise := poissonBinomial(probabilities, (1-BandLevel)/parts)
		bin.Lower, bin.Upper = low/n, high/n
		const rounding = 1e-12
		r.Crossed = r.Crossed || bin.Happened < bin.Lower-rounding || bin.Happened > bin.Upper+rounding
		r.ExpectedError += n / float64(len(events)) * math.Abs(bin.Stated-bin.Happened)
		r.Noise += noise / float64(len(events))
		r.Bins = append(r.Bins, bin)
	}
	return r
}

// poissonBinomial describes the number of events that happen, among independent events with the
// given probabilities. It returns the ends of an interval that contains this number with
// probability 1 − level or more, and the mean absolute distance of the number from its mean.
func poissonBinomial(probabilities []float64, level float64) (low, high, distance float64) {
	mass := []float64{1}
	mean := 0.0
	for _, p := range probabilities {
		mean += p
		next := make([]float64, len(mass)+1)
		for k, m := range mass {
			next[k] += m * (1 - p)
			next[k+1] += m * p
		}
		mass = next
	}
	sum := 0.0
	low, high = 0, float64(len(probabilities))
	for k, m := range mass {
		distance += m * math.Abs(float64(k)-mean)
		if sum+m <= level/2 {
			low = float64(k + 1)
		}
		sum += m
	}
	sum = 0
	for k := range slices.Backward(mass) {
		if sum += mass[k]; sum <= level/2 {
			high = float64(k - 1)
		}
	}
	return low, high, distance
}
