package papers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/internal/stream"
)

// ratingSettings holds the settings of table 2 of Agrawal and Domke (2021), with the ELBOs and the
// log densities of held-out ratings of table 7, both in nats per rating and 0 where there is none.
// The keys of the two are family and covariance, and their entries belong to Users.
type ratingSettings struct {
	Users    []int                `json:"users"`
	Batch    []int                `json:"batch"` // users in a step; 0 for all
	Features int                  `json:"features"`
	HeldOut  float64              `json:"held_out"` // share of the ratings of each user
	ELBO     map[string][]float64 `json:"elbo"`
	Test     map[string][]float64 `json:"test"`
	// OurRatings holds the smallest, the median and the largest number of ratings of a user.
	OurRatings [3]int `json:"our_ratings"`
	OurSteps   int    `json:"our_steps"`
	QuickSteps int    `json:"quick_steps"`
}

// ratings is a simulated table of films that users like or not (eq. 17 of the paper): the
// preferences z of a user are normal, z ~ N(μ, LL'), with μ and L common to all users, and a film
// with features x is liked with probability 1 / (1 + exp −x'z).
type ratings struct {
	model       *hbm.Model
	user        *hbm.Plate
	preference  *hbm.Variable
	data        hbm.Values
	train       int
	held        [][]rating // of each user
	heldRatings int
}

type rating struct {
	features []float64
	liked    float64
}

func newRatings(s ratingSettings, users int, seed uint64) *ratings {
	const decay = 0.5 // the standard deviation of feature j is j to the power of −decay, as of principal components
	random := stream.Rand(seed, fmt.Sprintf("ratings/%d", users))
	normals := func(sd func(j int) float64) []float64 {
		x := make([]float64, s.Features)
		for j := range x {
			x[j] = sd(j) * random.NormFloat64()
		}
		return x
	}
	common := normals(func(int) float64 { return 0.5 })
	r := &ratings{model: hbm.NewModel(), held: make([][]rating, users)}
	var owner []int32
	var x, y []float64
	for u := range users {
		z := normals(func(int) float64 { return 0.7 })
		count := float64(s.OurRatings[1]) * math.Exp(0.6*random.NormFloat64())
		n := min(max(int(count), s.OurRatings[0]), s.OurRatings[2])
		tested := int(s.HeldOut * float64(n))
		for i := range n {
			film, logit := normals(func(j int) float64 { return math.Pow(float64(j+1), -decay) }), 0.0
			for j := range film {
				logit += film[j] * (common[j] + z[j])
			}
			liked := 0.0
			if random.Float64() < 1/(1+math.Exp(-logit)) {
				liked = 1
			}
			if i < tested {
				r.held[u] = append(r.held[u], rating{film, liked})
				r.heldRatings++
				continue
			}
			owner, x, y = append(owner, int32(u)), append(x, film...), append(y, liked)
		}
	}
	m, dim := r.model, s.Features
	r.user, r.train = m.Plate("user", users), len(y)
	row := m.Plate("rating", r.train).In(r.user, owner)
	mean := m.Latent("mean", hbm.Normal(hbm.Number(0), hbm.Number(1)), hbm.Event(dim))
	factor := m.Latent("factor", hbm.Normal(hbm.Number(0), hbm.Number(1)), hbm.Event(dim*(dim+1)/2))
	r.preference = m.Latent("preference", normalByFactor(mean, factor), hbm.On(r.user), hbm.Event(dim))
	features := m.Constant("x", hbm.On(row), hbm.Event(dim))
	logit := hbm.Of(func(v []*Node) *Node { return ReduceSum(Mul(v[0], v[1]), -1) }, features, r.preference)
	r.data = hbm.Values{features: x, m.Observed("y", hbm.Bernoulli(logit), hbm.On(row)): y}
	return r
}

// normalByFactor returns the normal distribution N(mean, LL') of a vector [D]. The factor [D (D +
// 1) / 2] holds the logarithms of the diagonal of L, and then the entries below it, row by row.
func normalByFactor(mean, factor hbm.Term) hbm.Density {
	return hbm.Custom(hbm.CustomDensity{
		Name: "normal", Support: hbm.Reals,
		LogProb: func(x *Node, terms []*Node) *Node {
			entry := func(x *Node, i int) *Node { return SliceAxis(x, x.Rank()-1, AxisElem(i)) }
			dim, rest, below := x.Shape().Dim(-1), Sub(x, terms[0]), terms[1]
			noise, logDet, at := make([]*Node, dim), ZerosLike(entry(below, 0)), dim
			var squares *Node
			for i := range dim { // solve L noise = x − mean
				row := entry(rest, i)
				for j := range i {
					row = Sub(row, Mul(entry(below, at), noise[j]))
					at++
				}
				logSD := entry(below, i)
				noise[i], logDet = Div(row, Exp(logSD)), Add(logDet, logSD)
				if squares == nil {
					squares = Square(noise[i])
				} else {
					squares = Add(squares, Square(noise[i]))
				}
			}
			sum := AddScalar(Neg(Add(MulScalar(squares, 0.5), logDet)), -0.5*float64(dim)*math.Log(2*math.Pi))
			return Squeeze(sum, -1)
		},
	}, mean, factor)
}

// heldOutUsers is the largest number of users whose held-out ratings are predicted, and
// heldOutDraws the number of draws of their preferences.
const (
	heldOutUsers = 2000
	heldOutDraws = 200
)

// predictive returns the mean over held-out ratings of the log of the mean probability over draws.
// With many users, the ratings are of users drawn at random.
func (r *ratings) predictive(ctx context.Context, p *hbm.Posterior, random *rand.Rand) (float64, error) {
	users := rank.UpTo(r.user.Size())
	if len(users) > heldOutUsers {
		random.Shuffle(len(users), func(i, j int) { users[i], users[j] = users[j], users[i] })
		users = users[:heldOutUsers]
	}
	chosen := make([]int32, len(users))
	for i, u := range users {
		chosen[i] = int32(u)
	}
	draws, err := p.SampleMembers(ctx, heldOutDraws, "held out", map[*hbm.Plate][]int32{r.user: chosen})
	if err != nil {
		return nan, err
	}
	sum, count, dim := 0.0, 0.0, r.preference.EventSize()
	logs := make([]float64, draws.N)
	for i, u := range users {
		for _, held := range r.held[u] {
			for d := range logs {
				logit := 0.0
				for j, z := range draws.Of(r.preference, d)[i*dim : (i+1)*dim] {
					logit += z * held.features[j]
				}
				logs[d] = -math.Log1p(math.Exp((1 - 2*held.liked) * logit))
			}
			sum, count = sum+logsum.Of(logs)-math.Log(float64(draws.N)), count+1
		}
	}
	return sum / count, nil
}

var (
	ratingKeys   = []string{"users", "batch", "family", "covariance", "steps"}
	ratingValues = []string{"ratings", "held_out", "elbo", "elbo_se", "predictive", "weights"}
)

// ratingCell returns the cell (measurement) that trains a family on the ratings of a number of
// users.
func (l *Lab) ratingCell(users, batch, steps int, family hbm.Family, covariance hbm.Covariance) Cell {
	b := settingsOf[branchSettings]("branch")
	steps = cmp.Or(l.Steps, steps)
	key := []string{strconv.Itoa(users), strconv.Itoa(batch), family.String(), covariances[covariance], strconv.Itoa(steps)}
	return Cell{Key: key, Measure: func(ctx context.Context) ([]string, error) {
		r := newRatings(b.Ratings, users, 1)
		cfg := hbm.Config{Family: family, Covariance: covariance, Encoder: hbm.EncoderConfig{Units: b.OurUnits}, Products: true, Steps: steps, Seed: 1}
		if batch > 0 {
			cfg.Batch = map[*hbm.Plate]int{r.user: batch}
		}
		p, err := hbm.Fit(ctx, l.Device, r.model, r.data, cfg)
		if err != nil {
			return nil, err
		}
		elbo, se, err := p.ELBO(ctx, 200, "elbo")
		if err != nil {
			return nil, err
		}
		predictive, err := r.predictive(ctx, p, stream.Rand(1, "held-out users"))
		return []string{strconv.Itoa(r.train), strconv.Itoa(r.heldRatings), text(elbo, 2), text(se, 2), text(predictive, 5), strconv.Itoa(p.Weights())}, err
	}}
}

// ratingTable returns table 2 of the paper, on simulated ratings.
func ratingTable() *Study {
	s := settingsOf[branchSettings]("branch").Ratings
	// each calls f for each cell of the table.
	each := func(f func(at int, family hbm.Family, covariance hbm.Covariance)) {
		for at := range s.Users {
			for covariance := range hbm.Covariance(len(covariances)) {
				for _, family := range []hbm.Family{hbm.Joint, hbm.Branch, hbm.AmortizedBranch} {
					if family != hbm.Joint || at == 0 {
						f(at, family, covariance)
					}
				}
			}
		}
	}
	perRating := func(values []float64, at int) string {
		if values == nil || values[at] == 0 {
			return ""
		}
		return text(values[at], 4)
	}
	return &Study{
		Paper: "branch", Name: "table2", Title: "Ratings of films", Store: "ratings", Keys: ratingKeys, Values: ratingValues,
		Note: "The paper's ratings are of MovieLens25M, whose licence does not let them be passed on. Ours are simulated from the paper's model (eq. 17), with as many users and 30 to 300 ratings of each, so that levels differ and orders compare. " +
			"ELBOs and log densities of held-out ratings are in nats per rating; a held-out rating counts by its mean probability over draws, where the paper takes that of all ratings together. `--steps` says after how many steps; the paper trains for 100,000 to 200,000.",
		Cells: func(l *Lab) (cells []Cell, err error) {
			if l.Quick {
				for _, covariance := range []hbm.Covariance{hbm.DenseCovariance, hbm.DiagonalCovariance} {
					cells = append(cells, l.ratingCell(s.Users[0], 0, s.QuickSteps, hbm.Branch, covariance))
				}
				return cells, nil
			}
			each(func(at int, family hbm.Family, covariance hbm.Covariance) {
				cells = append(cells, l.ratingCell(s.Users[at], s.Batch[at], s.OurSteps, family, covariance))
			})
			return cells, nil
		},
		Claims: func(rows []Row) (claims []Claim) {
			for _, dense := range rows {
				for _, diagonal := range rows {
					if dense["covariance"] == "dense" && diagonal["covariance"] == "diagonal" && dense["users"] == diagonal["users"] && dense["family"] == diagonal["family"] && dense["steps"] == diagonal["steps"] {
						claims = append(claims, Claim{
							Text: fmt.Sprintf("%s of %s users: dense is above diagonal", dense["family"], dense["users"]),
							Z:    (dense.number("elbo") - diagonal.number("elbo")) / math.Hypot(dense.number("elbo_se"), diagonal.number("elbo_se")),
						})
					}
				}
			}
			return claims
		},
		header: []string{"users", "ratings", "family", "covariance", "steps", "paper: ELBO", "ours: ELBO", "paper: held out", "ours: held out", "weights"},
		lines: func(rows []Row) (lines [][]string) {
			each(func(at int, family hbm.Family, covariance hbm.Covariance) {
				name := family.String() + " " + covariances[covariance]
				users, elbo, test := strconv.Itoa(s.Users[at]), perRating(s.ELBO[name], at), perRating(s.Test[name], at)
				there := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
					return r["users"] != users || r["family"]+" "+r["covariance"] != name
				})
				if len(there) == 0 {
					lines = append(lines, []string{users, "", family.String(), covariances[covariance], "not run", elbo, "", test, "", ""})
					return
				}
				row := slices.MaxFunc(there, func(a, b Row) int { return cmp.Compare(a.number("steps"), b.number("steps")) })
				ours := text(row.number("elbo")/row.number("ratings"), 4)
				lines = append(lines, []string{users, row["ratings"], family.String(), covariances[covariance], row["steps"], elbo, ours, test, text(row.number("predictive"), 4), row["weights"]})
			})
			return lines
		},
	}
}
