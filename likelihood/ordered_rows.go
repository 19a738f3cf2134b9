package likelihood

// trialsOf turns rows with ordered categories into Bernoulli trials, one or two for each row, for
// several sets of linear predictors eta [sets, n]. Its results lie in the memory of work. It
// returns the responses of the trials, the number of times that each trial is repeated (nil if
// times is nil), the linear predictors of the trials, with all trials of the first set before the
// trials of the second, and the sum of the constants.
func (c *Cuts) trialsOf(y, times, eta []float64, sets int, work []float64) (trials, repeats, trialEta []float64, constant float64) {
	count := 0
	for i, v := range y {
		k := int(v)
		constant += timesOf(times, i) * c.constant[k]
		if count++; k > 0 && k < len(c.Points) {
			count++
		}
	}
	trials, trialEta = work[:count], work[count:][:sets*count]
	if times != nil {
		repeats = work[(sets+1)*count:][:0]
		for i, v := range y {
			if repeats = append(repeats, times[i]); v > 0 && int(v) < len(c.Points) {
				repeats = append(repeats, times[i])
			}
		}
	}
	for set := range sets {
		place := 0
		for i, v := range y {
			k, predictor := int(v), eta[set*len(y)+i]
			if k > 0 {
				trials[place], trialEta[set*count+place] = 1, predictor-c.Points[k-1]
				place++
			}
			if k < len(c.Points) {
				trials[place], trialEta[set*count+place] = 0, predictor-c.Points[k]
				place++
			}
		}
	}
	return trials, repeats, trialEta, constant
}

// sumKernels sums over Bernoulli trials if F is logistic, and row by row otherwise.
func (c *Cuts) sumKernels(y, times, eta []float64, _ float64, sums []float64) {
	if !c.trials {
		sumEach(c, y, times, eta, 1, sums)
		return
	}
	withBuffer(2*(len(sums)+2)*len(y), func(work []float64) {
		trials, repeats, trialEta, constant := c.trialsOf(y, times, eta, len(sums), work)
		logistic{}.sumKernels(trials, repeats, trialEta, 1, sums)
		for k := range sums {
			sums[k] += constant
		}
	})
}

// newtons uses Bernoulli trials if F is logistic, and goes row by row otherwise.
func (c *Cuts) newtons(y, eta []float64, _ float64, slope, curvature []float64) {
	if !c.trials {
		expandEach(c.NewtonAt, y, eta, 1, slope, curvature)
		return
	}
	withBuffer(8*len(y), func(work []float64) {
		trials, _, trialEta, _ := c.trialsOf(y, nil, eta, 1, work)
		slopes, curved := work[4*len(y):][:len(trials)], work[6*len(y):][:len(trials)]
		logistic{}.newtons(trials, trialEta, 1, slopes, curved)
		place := 0
		for i, v := range y {
			slope[i], curvature[i] = slopes[place], curved[place]
			if place++; v > 0 && int(v) < len(c.Points) {
				slope[i], curvature[i] = slope[i]+slopes[place], curvature[i]+curved[place]
				place++
			}
		}
	})
}
