package changepoint

import (
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/pick"
	"gonum.org/v1/gonum/floats"
)

// givenDraws is the number of draws of levels given the most probable number of changes. Means over
// 1,000 draws have errors of a thirtieth of a posterior standard deviation.
const givenDraws = 1000

func (post *Posterior) summariseGiven(k int, random *rand.Rand) Given {
	g := Given{Changes: k, Places: apply.UpTo(k, func(j int) Place { return post.describe(post.Place(k, j+1)) })}
	shares := apply.To(post.shares, func(ofNode []float64) float64 { return ofNode[k] }) // probabilities of the nodes given k
	for j, i := range post.nodes[floats.MaxIdx(shares)].recursion.best(k) {
		g.Places[j].Joint = post.boundaryTime(i)
	}
	means, sds, slopes := make([][]float64, k+1), make([][]float64, k+1), make([][]float64, k+1)
	from, to := post.problem.window()
	for range givenDraws {
		q := pick.Index(shares, random.Float64())
		for j, l := range post.sampleGiven(q, k, random).levels {
			means[j] = append(means[j], post.problem.centre+post.problem.scale*l.mean)
			sds[j] = append(sds[j], post.problem.scale*l.sd)
			slopes[j] = append(slopes[j], post.problem.scale*l.slope/(to-from))
		}
	}
	kind := post.problem.Options.Kind
	for j := range means {
		s := Segment{Mean: summarize(means[j])}
		if kind == Variance || kind == Both {
			s.SD = new(summarize(sds[j]))
		}
		if kind == Slope {
			s.Slope = new(summarize(slopes[j]))
		}
		g.Segments = append(g.Segments, s)
	}
	return g
}

// moment returns the time of the t-th of n evenly spaced times, and the last boundary up to this
// time.
func (post *Posterior) moment(t, n int) (time float64, boundary int) {
	p := post.problem
	if post.moments != nil {
		from, to := p.window()
		time = from + (to-from)*(float64(t)+0.5)/float64(n)
		boundary, _ = slices.BinarySearch(post.moments.times, time)
		return time, boundary - 1
	}
	row := t * (len(p.times) - 1) / max(n-1, 1)
	return p.times[row], row // boundary i is after the first i rows
}

// levels summarises the level along time over the draws.
func (post *Posterior) levels(draws []draw) []LevelPoint {
	p, n := post.problem, levelPoints
	if post.moments == nil {
		n = min(n, len(p.times))
	}
	values := make([][]float64, n)
	times := make([]float64, n)
	for d := range draws {
		bounds := post.bounds(draws[d].places)
		for t, j := 0, 0; t < n; t++ {
			time, boundary := post.moment(t, n)
			for bounds[j+1] <= boundary {
				j++
			}
			times[t] = time
			values[t] = append(values[t], post.levelAt(draws[d].levels[j], bounds[j], bounds[j+1], time))
		}
	}
	points := make([]LevelPoint, n)
	for t := range points {
		s := summarize(values[t])
		points[t] = LevelPoint{Time: Number(times[t]), Mean: s.Mean, Q025: s.Q025, Q975: s.Q975}
		if post.moments == nil && p.Options.Kind != Variance {
			_, row := post.moment(t, n)
			points[t].Observed = new(Number(p.centre + p.scale*p.y[row]))
		}
	}
	return points
}

// levelAt returns the level of a segment at a time, as Result.Levels defines it, in the units of
// the table.
func (post *Posterior) levelAt(l level, from, to int, time float64) float64 {
	p := post.problem
	if p.Options.Kind == Variance {
		return p.scale * l.sd
	}
	return p.centre + p.scale*(l.mean+l.slope*post.along(from, to, time))
}

// along returns the distance of a time from the middle of a segment, in units of the length of the
// series.
func (post *Posterior) along(from, to int, time float64) float64 {
	if post.problem.Options.Kind != Slope {
		return 0
	}
	first, last := post.problem.window()
	middle := 0.0
	for _, t := range post.problem.times[from:to] {
		middle += t / float64(to-from)
	}
	return (time - middle) / (last - first)
}
