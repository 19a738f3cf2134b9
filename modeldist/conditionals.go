package modeldist

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Conditionals is a distribution over sets of items (such as predictors), computed in plain Go
// (Schäfer and Chopin 2013). It is fitted to draws of sets. An item that is frequent in these draws
// has a logistic regression on the items before it. Every other item, called a coin, is in the set
// independently of all items.
type Conditionals struct {
	items    []int32 // items with a regression, in order
	place    map[int32]int
	terms    []conditional
	logOdds  []float64 // log odds of the coins, by item
	base     float64   // log probability that no coin is in the set
	skip     []float64 // for each item, −Σ log(1 − p) over the coins before it, with inclusion probabilities p; last, the sum over all coins
	members  []bool    // scratch of Draw
	presence []bool    // scratch of LogProb
}

// conditional is the logistic regression of one item on other items (regressors). The log odds are
// bias plus the slopes of the regressors that are members of the set.
type conditional struct {
	bias       float64
	regressors []int // indices of earlier items with a regression
	slopes     []float64
}

// Settings of the fit. Half and twice the values give the same answers
// (docs/benchmarks/constants.md).
const (
	// mostRegressed is the largest number of items with a regression. Only an item that at least
	// the share leastShown of the draws contain gets a regression.
	mostRegressed = 200
	leastShown    = 0.003
	// mostRegressors is the largest number of regressors of an item: the items with the largest
	// absolute correlation, which must be at least leastCorrelation.
	mostRegressors   = 24
	leastCorrelation = 0.02
	// ridge is the precision of the normal prior of slopes; a draw has weight 1.
	ridge = 2
	// leastOdds and mostOdds bound all log odds, so that every set has positive probability.
	leastOdds, mostOdds = -12, 7
	// leastCoins, divided by the number of items, is the least probability of an item without a
	// regression, so that every item is drawn at times.
	leastCoins = 0.02
)

// FitConditionals fits the distribution to draws of ascending sets of items. guess holds a guessed
// inclusion probability for each item, which matters for items in few draws. Items without a
// regression have at least the probabilities in the argument least, which may be nil.
func FitConditionals(draws [][]int32, guess, least []float64) *Conditionals {
	if len(draws) == 0 {
		panic("modeldist.FitConditionals: got no draws")
	}
	counts := make([]float64, len(guess))
	for _, set := range draws {
		for _, item := range set {
			counts[item]++
		}
	}
	n := float64(len(draws))
	c := &Conditionals{place: map[int32]int{}, logOdds: make([]float64, len(guess))}
	for item, count := range counts {
		if count >= leastShown*n {
			c.items = append(c.items, int32(item))
		}
	}
	slices.SortStableFunc(c.items, func(a, b int32) int { return cmp.Compare(counts[b], counts[a]) })
	c.items = c.items[:min(len(c.items), mostRegressed)]
	for place, item := range c.items {
		c.place[item] = place
	}
	c.fit(draws, counts)
	c.setCoins(counts, guess, least, n)
	c.members, c.presence = make([]bool, len(c.items)), make([]bool, len(c.items))
	return c
}

// setCoins sets the probabilities of items without a regression. A probability is the share of
// draws that contain the item, after adding half a draw with the guessed probability, or the number
// in least if that is larger.
func (c *Conditionals) setCoins(counts, guess, least []float64, n float64) {
	c.skip = make([]float64, len(counts)+1)
	for item, count := range counts {
		c.skip[item+1] = c.skip[item]
		if _, regressed := c.place[int32(item)]; regressed {
			continue
		}
		p := (count + 0.5*math.Min(guess[item], 0.5)) / (n + 0.5)
		if least != nil {
			p = math.Max(p, math.Min(least[item], 0.5))
		}
		p += leastCoins / float64(len(counts))
		c.logOdds[item] = math.Log(p) - math.Log1p(-p)
		c.base += math.Log1p(-p)
		c.skip[item+1] -= math.Log1p(-p)
	}
}

func (c *Conditionals) fit(draws [][]int32, counts []float64) {
	k, n := len(c.items), float64(len(draws))
	rows := tally{index: map[string]int{}} // different draws as lists of positions in the field items
	together := make([]float64, k*k)
	var row []int
	for _, set := range draws {
		row = row[:0]
		for _, item := range set {
			if place, ok := c.place[item]; ok {
				row = append(row, place)
			}
		}
		rows.add(row, 1)
		for _, a := range row {
			for _, b := range row {
				together[a*k+b]++
			}
		}
	}
	position := make([]int, k)
	share := func(place int) float64 { return (counts[c.items[place]] + 0.5) / (n + 1) }
	for a := range k {
		term := conditional{}
		correlation := map[int]float64{}
		for b := range a {
			r := (together[a*k+b]/n - share(a)*share(b)) / math.Sqrt(share(a)*(1-share(a))*share(b)*(1-share(b)))
			if correlation[b] = math.Abs(r); correlation[b] >= leastCorrelation {
				term.regressors = append(term.regressors, b)
			}
		}
		slices.SortStableFunc(term.regressors, func(x, y int) int { return cmp.Compare(correlation[y], correlation[x]) })
		term.regressors = term.regressors[:min(len(term.regressors), mostRegressors)]
		term.regress(&rows, position, a, share(a))
		c.terms = append(c.terms, term)
	}
}

// tally holds distinct rows with their counts, in the order of their first occurrences.
type tally struct {
	rows  [][]int
	times []float64
	index map[string]int
	key   []byte
}

// add adds times to the count of a row. The tally keeps a copy of the row.
func (t *tally) add(row []int, times float64) {
	t.key = t.key[:0]
	for _, v := range row {
		t.key = binary.AppendUvarint(t.key, uint64(v))
	}
	at, known := t.index[string(t.key)]
	if !known {
		at = len(t.rows)
		t.index[string(t.key)] = at
		t.rows, t.times = append(t.rows, slices.Clone(row)), append(t.times, 0)
	}
	t.times[at] += times
}

// regress fits the logistic regression of the presence of the item at index a by Newton's method.
// If rounding spoils the fit, the log odds are the constant log odds of share, the share of draws
// with the item. position is scratch memory, with a zero for every index.
func (t *conditional) regress(rows *tally, position []int, a int, share float64) {
	k := len(t.regressors) + 1
	for j, regressor := range t.regressors {
		position[regressor] = j + 1
	}
	const isIn = 0 // the first entry of a row says whether the item is present
	combined := tally{index: map[string]int{}}
	var combinedRow []int
	for i, row := range rows.rows {
		combinedRow = append(combinedRow[:0], isIn)
		for _, place := range row {
			if j := position[place]; j > 0 {
				combinedRow = append(combinedRow, j)
			}
			if place == a {
				combinedRow[isIn] = 1
			}
		}
		combined.add(combinedRow, rows.times[i])
	}
	for _, regressor := range t.regressors {
		position[regressor] = 0
	}
	theta := make([]float64, k)
	theta[0] = math.Log(share) - math.Log1p(-share)
	first := theta[0]
	for range 12 {
		hessian, gradient := mat.NewSymDense(k, nil), mat.NewVecDense(k, nil)
		for j := range k {
			prior, centre := float64(ridge), 0.0
			if j == 0 {
				prior, centre = 0.1, first
			}
			hessian.SetSym(j, j, prior)
			gradient.SetVec(j, -prior*(theta[j]-centre))
		}
		for i, row := range combined.rows {
			present := row[isIn+1:]
			eta := theta[0]
			for _, j := range present {
				eta += theta[j]
			}
			p := 1 / (1 + math.Exp(-eta))
			times := combined.times[i]
			slope, curvature := -p*times, p*(1-p)*times
			if row[isIn] == 1 {
				slope += times
			}
			for x := -1; x < len(present); x++ {
				j := 0
				if x >= 0 {
					j = present[x]
				}
				gradient.SetVec(j, gradient.AtVec(j)+slope)
				hessian.SetSym(0, j, hessian.At(0, j)+curvature)
				for y := 0; y <= x; y++ {
					hessian.SetSym(j, present[y], hessian.At(j, present[y])+curvature)
				}
			}
		}
		var factor mat.Cholesky
		var step mat.VecDense
		if !factor.Factorize(hessian) || factor.SolveVecTo(&step, gradient) != nil {
			theta = append([]float64{first}, make([]float64, k-1)...)
			break
		}
		largest := 0.0
		for j := range theta {
			theta[j] += max(-3, min(3, step.AtVec(j)))
			largest = math.Max(largest, math.Abs(step.AtVec(j)))
		}
		if largest < 1e-4 {
			break
		}
	}
	t.bias, t.slopes = theta[0], theta[1:]
}

// logOddsOf returns the log odds of an item given the presence of earlier items.
func (t *conditional) logOddsOf(present []bool) float64 {
	eta := t.bias
	for j, regressor := range t.regressors {
		if present[regressor] {
			eta += t.slopes[j]
		}
	}
	return math.Max(leastOdds, math.Min(mostOdds, eta))
}

// Draw returns a random set, ascending. It must not be called from several goroutines at once.
func (c *Conditionals) Draw(random *rand.Rand) (set []int32) {
	for place := range c.items {
		eta := c.terms[place].logOddsOf(c.members)
		if c.members[place] = random.Float64() < 1/(1+math.Exp(-eta)); c.members[place] {
			set = append(set, c.items[place])
		}
	}
	all := c.skip[len(c.skip)-1]
	for position := random.ExpFloat64(); position < all; { // draws the next member without a regression
		next, _ := slices.BinarySearch(c.skip, position)
		set = append(set, int32(next-1))
		position = c.skip[next] + random.ExpFloat64()
	}
	slices.Sort(set)
	return set
}

// LogProb returns the log probability of a set. Only one goroutine may call it at a time.
func (c *Conditionals) LogProb(set []int32) float64 {
	clear(c.presence)
	logProb := c.base
	for _, item := range set {
		if place, ok := c.place[item]; ok {
			c.presence[place] = true
		} else {
			logProb += c.logOdds[item]
		}
	}
	for place, in := range c.presence {
		eta := c.terms[place].logOddsOf(c.presence)
		if in {
			eta = -eta
		}
		logProb -= math.Max(eta, 0) + math.Log1p(math.Exp(-math.Abs(eta)))
	}
	return logProb
}
