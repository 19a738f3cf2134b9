package hbm

import (
	"fmt"
	"slices"
	"sort"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/stream"
)

// Slices are data that do not fit in memory, read slice by slice: the values of variables that
// belong to consecutive members of a plate.
type Slices interface {
	// Plate is what is cut, nested in no other, and Bounds the first member of each slice and then
	// the size of the plate.
	Plate() *Plate
	Bounds() []int
	// Variables are what slices hold: observed variables and constants whose first plate is Plate,
	// or one whose members are nested in those of Plate, in their order.
	Variables() []*Variable
	// Read reads the values of one slice: those of the members of each variable that belong to it,
	// in order.
	Read(slice int) (Values, error)
	// Fingerprint identifies the data.
	Fingerprint() string
}

// SliceConfig says how training goes through slices. Some are in memory at a time, from which each
// step draws the Batch members of their plate; from time to time the next replaces the oldest. All
// slices come in turn, in random order, and each is in memory for the same share of the steps, so
// that gradients stay unbiased.
type SliceConfig struct {
	// Source is where slices are read from; nil for data in memory.
	Source Slices
	// Resident is how many slices are in memory; 0 stands for 4.
	Resident int
	// Steps is how many steps there are between slices; 0 stands for 50.
	Steps int
}

// window holds the slices in memory.
type window struct {
	SliceConfig
	bounds   []int
	starts   map[*Variable][]int // first member along the first plate of each slice
	resident map[int]Values
	current  []int // slices that steps draw from
	seed     uint64
}

func newWindow(m *Model, cfg Config) (*window, error) {
	source := cfg.Slices.Source
	w := &window{SliceConfig: cfg.Slices, bounds: source.Bounds(), starts: map[*Variable][]int{}, resident: map[int]Values{}, seed: cfg.Seed}
	setDefault(&w.Resident, 4)
	setDefault(&w.Steps, 50)
	p := source.Plate()
	switch {
	case p == nil || p.model != m || len(p.parents) > 0:
		return nil, fmt.Errorf("hbm: slices must cut a plate of the model that is nested in no other")
	case len(w.bounds) < 2 || w.bounds[0] != 0 || w.bounds[len(w.bounds)-1] != p.size || !slices.IsSorted(w.bounds):
		return nil, fmt.Errorf("hbm: slices of plate %q: got %d bounds, want bounds from 0 to %d", p.name, len(w.bounds), p.size)
	case w.Resident < 1 || w.Steps < 1:
		return nil, fmt.Errorf("hbm.SliceConfig: got %d slices and %d steps, want numbers that are not negative", w.Resident, w.Steps)
	case cfg.Amortize > 0:
		return nil, fmt.Errorf("hbm: Amortize simulates data, and Slices reads them: choose one")
	}
	w.Resident = min(w.Resident, len(w.bounds)-1)
	fewest := p.size
	for i := range w.bounds[1:] {
		fewest = min(fewest, w.bounds[i+1]-w.bounds[i])
	}
	if n := cfg.Batch[p]; n < 1 || n > w.Resident*fewest {
		return nil, fmt.Errorf("hbm: Batch of the sliced plate %q: got %d, want a number from 1 to the %d members that are in memory", p.name, n, w.Resident*fewest)
	}
	for _, v := range source.Variables() {
		if v == nil || v.model != m || v.role == Latent || len(v.plates) == 0 {
			return nil, fmt.Errorf("hbm: slices may only hold data on plates of the model")
		}
		first := v.plates[0]
		if first == p {
			w.starts[v] = w.bounds
			continue
		}
		if len(first.parents) != 1 || first.parents[0].of != p || !slices.IsSorted(first.parents[0].index) {
			return nil, fmt.Errorf("hbm: slices hold %q, whose first plate %q is neither %q nor nested in it in order", v.name, first.name, p.name)
		}
		index := first.parents[0].index
		for _, bound := range w.bounds {
			w.starts[v] = append(w.starts[v], sort.Search(len(index), func(i int) bool { return int(index[i]) >= bound }))
		}
	}
	return w, nil
}

// holds reports whether the values of a variable are in slices.
func (w *window) holds(v *Variable) bool { return w != nil && w.starts[v] != nil }

// at makes the slices of a step resident, and returns the spans of members that they hold.
func (w *window) at(step int) (spans [][2]int, err error) {
	count, first := len(w.bounds)-1, step/w.Steps
	w.current = w.current[:0]
	var order []int
	for place, round := first, -1; len(w.current) < w.Resident; place++ {
		if place/count != round {
			round = place / count
			order = stream.Rand(w.seed, fmt.Sprintf("slices/%d", round)).Perm(count)
		}
		if slice := order[place%count]; !slices.Contains(w.current, slice) {
			w.current = append(w.current, slice)
		}
	}
	for slice := range w.resident {
		if !slices.Contains(w.current, slice) {
			delete(w.resident, slice)
		}
	}
	for _, slice := range w.current {
		if _, ok := w.resident[slice]; !ok {
			if w.resident[slice], err = w.read(slice); err != nil {
				return nil, err
			}
		}
		spans = append(spans, [2]int{w.bounds[slice], w.bounds[slice+1]})
	}
	return spans, nil
}

// read reads and checks a slice.
func (w *window) read(slice int) (Values, error) {
	values, err := w.Source.Read(slice)
	if err != nil {
		return nil, err
	}
	for v, starts := range w.starts {
		want := (starts[slice+1] - starts[slice]) * v.Members() / v.plates[0].size
		if len(values[v]) != want*v.EventSize() {
			return nil, fmt.Errorf("hbm: slice %d: got %s of %q, want %d", slice, english.Count(len(values[v]), "value"), v.name, want*v.EventSize())
		}
		if v.role == Observed {
			for i := range want {
				if err := v.density.support.check(values[v][i*v.EventSize() : (i+1)*v.EventSize()]); err != nil {
					return nil, fmt.Errorf("hbm: slice %d, member %d of %q: %w", slice, i, v.name, err)
				}
			}
		}
	}
	return values, nil
}

// gather takes the values of members of a variable, of size numbers each. A member that is not in
// memory stands for none: it gets those of any that is.
func (w *window) gather(v *Variable, rows []int, size int) []float64 {
	starts, below := w.starts[v], v.Members()/v.plates[0].size
	part := make([]float64, 0, len(rows)*size)
	for _, row := range rows {
		slice := sort.SearchInts(starts, row/below+1) - 1
		values, ok := w.resident[slice]
		at := (row - starts[slice]*below) * size
		if !ok {
			values, at = w.resident[w.current[0]], 0
		}
		part = append(part, values[v][at:at+size]...)
	}
	return part
}

// only is a window on one slice.
func (w *window) only(slice int) (*window, error) {
	values, err := w.read(slice)
	own := *w
	own.resident, own.current = map[int]Values{slice: values}, []int{slice}
	return &own, err
}
