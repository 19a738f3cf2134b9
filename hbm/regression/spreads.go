package regression

import "slices"

// sdName and correlationName name the spread of effects that vary by a group.
func sdName(column, group string) string { return "sd(" + column + " | " + group + ")" }

// spreadName is the name of the standard deviation of the effects of a column.
func (g *Grouping) spreadName(c Column) string {
	if g.Smooth {
		return "sd(" + g.Name + ")"
	}
	return sdName(c.Name, g.Name)
}

func correlationName(a, b, group string) string { return "cor(" + a + ", " + b + " | " + group + ")" }

// sdNames name what tableSDs writes: the standard deviations and correlations of each grouping,
// σ or cut points, and shares of steps.
func (r *Regression) sdNames() (names []string) {
	for _, g := range r.groups {
		for _, c := range g.Spreads() {
			names = append(names, g.spreadName(c))
		}
		for a := range g.Columns {
			for b := range a {
				if g.partial[a][b] >= 0 {
					names = append(names, r.coordinates[g.partial[a][b]].name)
				}
			}
		}
	}
	if r.noise >= 0 {
		names = append(names, r.Frame.Response.Scale())
	}
	return slices.Concat(names, r.Frame.cutNames(), r.shareNames())
}

// sdCount is the number of names that sdNames returns.
func (r *Regression) sdCount() (count int) {
	for _, g := range r.groups {
		count += len(g.Spreads())
		for a := range g.Columns {
			for b := range a {
				if g.partial[a][b] >= 0 {
					count++
				}
			}
		}
	}
	if r.noise >= 0 {
		count++
	}
	return count + len(r.Frame.cutNames()) + len(r.shareNames())
}

// tableSDs writes standard deviations and correlations in the units of the table, given Λ of each
// grouping, with σ or cut points, and shares of steps; absent ones are zero.
func (r *Regression) tableSDs(factors [][][]float64, given response, shares, dst []float64) {
	at := 0
	put := func(x float64) {
		dst[at] = x
		at++
	}
	for i, g := range r.groups {
		factor := factors[i]
		for c := range g.Spreads() {
			put(norm(factor[c]) * r.ySD / g.zSD[c])
		}
		for a := range factor {
			for b := range a {
				if g.partial[a][b] < 0 {
					continue
				}
				product, scale := 0.0, norm(factor[a])*norm(factor[b])
				for c := range b + 1 {
					product += factor[a][c] * factor[b][c]
				}
				if scale > 0 {
					product /= scale
				}
				put(product)
			}
		}
	}
	if r.noise >= 0 {
		put(given.sigma * r.ySD)
	}
	for _, cut := range given.cuts {
		put(cut)
	}
	for _, share := range shares {
		put(share)
	}
}
