package papers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/transdim/vti/amortize"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/encode"
	"github.com/transdim/vti/internal/picture"
	"github.com/transdim/vti/lab/networks"
)

// exchangeableSettings holds the settings of Mittal et al. (2023): table 1, and appendices B and C.
// The paper states neither the number of training steps nor the number of data sets in a step.
// OurSteps and OurBatch are used instead.
type exchangeableSettings struct {
	Tasks         []string             `json:"tasks"`
	Prior         []float64            `json:"prior"`
	Optimum       []float64            `json:"optimum"`
	Networks      map[string][]float64 `json:"networks"` // printed figures, by encoder, q and objective
	Rows          [2]int               `json:"rows"`     // smallest and largest number of rows of a data set
	DataSets      int                  `json:"data_sets"`
	Widths        map[string]int       `json:"widths"` // width of each encoder
	EncoderLayers int                  `json:"encoder_layers"`
	Heads         int                  `json:"heads"`
	FlowLayers    int                  `json:"flow_layers"`
	FlowWidth     int                  `json:"flow_width"`
	OurSteps      int                  `json:"our_steps"`
	OurBatch      int                  `json:"our_batch"`
	Quick         struct {
		Width    int `json:"width"`
		Steps    int `json:"steps"`
		Batch    int `json:"batch"`
		DataSets int `json:"data_sets"`
	} `json:"quick"`
}

// networkKeys and networkValues are the columns of the CSV file of networks. In column start,
// "plain" is a network that learns everything, as in the paper, and "computed" is a network that
// starts from a normal approximation computed for each data set.
var (
	networkKeys   = []string{"task", "encoder", "q", "objective", "start", "data", "width", "steps", "batch"}
	networkValues = []string{
		"prior", "optimum", "computed", "network", "network_se", "gain", "gain_se", "divergence", "effective_share", "swapped", "swapped_se", "curve", "draws",
	}
	encoders   = []string{"deepsets", "transformer"}
	families   = []string{"gaussian", "flow"}
	objectives = []string{"forward", "reverse"}
	starts     = []string{"plain", "computed"}
)

// network is a task with a network trained on it: an entry of table 1.
type network struct {
	task, encoder, q, objective, start, data string
	width, steps, batch                      int
}

// networkCell returns the measurement of a network as a cell of a study. It rounds the width up to
// a multiple of the number of attention heads.
func (l *Lab) networkCell(s exchangeableSettings, n network) Cell {
	n.width = cmp.Or(l.Width, s.Widths[n.encoder])
	n.steps, n.batch = cmp.Or(l.Steps, s.OurSteps), s.OurBatch
	sets := cmp.Or(l.DataSets, s.DataSets)
	if l.Quick {
		n.width, n.steps, n.batch, sets = s.Quick.Width, s.Quick.Steps, s.Quick.Batch, s.Quick.DataSets
	}
	n.width = (n.width + s.Heads - 1) / s.Heads * s.Heads
	return Cell{
		Key: []string{n.task, n.encoder, n.q, n.objective, n.start, n.data, strconv.Itoa(n.width), strconv.Itoa(n.steps), strconv.Itoa(n.batch)},
		Measure: func(ctx context.Context) ([]string, error) {
			r, err := l.measureNetwork(ctx, s, n, sets)
			if err != nil {
				return nil, err
			}
			var curve, draws []string
			for _, p := range r.Curve {
				curve = append(curve, fmt.Sprintf("%d %.3f", p.Step, p.Loss))
			}
			for _, row := range r.Modes[:min(len(r.Modes), shownDraws)] {
				draws = append(draws, strings.Trim(fmt.Sprintf("%.2f", row), "[]"))
			}
			return []string{
				text(r.Prior, 3), text(r.Optimum, 3), text(r.Start, 3), text(r.Network, 3), text(r.SE, 3), text(r.Gain, 3), text(r.GainSE, 3), text(r.Divergence, 3),
				text(r.Share, 3), text(r.Swapped, 3), text(r.SwappedSE, 3), strings.Join(curve, ";"), strings.Join(draws, ";"),
			}, nil
		},
	}
}

// shownDraws is the number of draws of a data set in figure 2.
const shownDraws = 60

// measureNetwork trains a network and measures it.
func (l *Lab) measureNetwork(ctx context.Context, s exchangeableSettings, n network, sets int) (*networks.Result, error) {
	options := networks.Options{Computed: n.start == "computed", Encoder: encode.Config{Hidden: n.width, Heads: s.Heads}}
	if !l.Quick {
		options.Encoder.Layers = s.EncoderLayers
	}
	var err error
	if options.Kind, err = networks.ParseEncoder(n.encoder); err != nil {
		return nil, err
	}
	if options.Source, err = networks.ParseSource(n.data); err != nil {
		return nil, err
	}
	tasks, err := networks.Tasks(options)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(tasks, func(t *networks.Task) bool { return t.Name == n.task })
	width := min(s.FlowWidth, n.width)
	cfg := amortize.Config{
		Steps: n.steps, Batch: n.batch, LogEvery: max(1, n.steps/8), Seed: 1, Draws: 2, Flow: cosmic.Config{Layers: s.FlowLayers, Blocks: 1, Hidden: width},
	}
	if n.q == "gaussian" {
		cfg.Flow = cosmic.Config{Kind: cosmic.Diagonal, Layers: 2, Hidden: width}
	}
	if err := cfg.Objective.UnmarshalText([]byte(n.objective)); err != nil {
		return nil, err
	}
	return networks.Measure(ctx, l.Device, tasks[at], cfg, sets, l.Status)
}

// networkClaims returns the claims that networks are better than the prior.
func networkClaims(rows []Row) (claims []Claim) {
	for _, row := range rows {
		name := strings.Join([]string{row["task"], row["encoder"], row["q"], row["objective"], row["start"], row["data"]}, " ")
		claims = append(claims, Claim{Text: name + ": better than the prior", Z: row.number("gain") / row.number("gain_se")})
	}
	return claims
}

// best returns the row with the measurement of network n that has the largest product of width and
// steps, or nil if there is none.
func best(rows []Row, n network) (found Row) {
	for _, row := range rows {
		if row["task"] != n.task || row["encoder"] != n.encoder || row["q"] != n.q || row["objective"] != n.objective || row["start"] != n.start || row["data"] != n.data {
			continue
		}
		if found == nil || row.number("width")*row.number("steps") > found.number("width")*found.number("steps") {
			found = row
		}
	}
	return found
}

// networkTable returns the study of table 1, or of the same networks on data from outside the
// model.
func networkTable(name, title, note string, tasks []string, data []string) *Study {
	s := settingsOf[exchangeableSettings]("exchangeable")
	each := func(yield func(network) bool) {
		for _, task := range tasks {
			for _, encoder := range encoders {
				for _, q := range families {
					for _, objective := range objectives {
						for _, source := range data {
							if !yield(network{task: task, encoder: encoder, q: q, objective: objective, data: source}) {
								return
							}
						}
					}
				}
			}
		}
	}
	return &Study{
		Paper: "exchangeable", Name: name, Title: title, Store: "exchangeable-networks", Keys: networkKeys, Values: networkValues,
		Cells: func(l *Lab) (cells []Cell, err error) {
			if l.Quick {
				return []Cell{l.networkCell(s, network{task: tasks[0], encoder: "deepsets", q: "gaussian", objective: "reverse", start: "plain", data: data[0]})}, nil
			}
			for n := range each {
				for _, start := range starts {
					n.start = start
					cells = append(cells, l.networkCell(s, n))
				}
			}
			return cells, nil
		},
		Claims: networkClaims,
		header: []string{"task", "encoder", "q", "objective", "data", "paper", "width, steps", "ours, plain", "ours, computed start", "prior: paper, ours", "optimum: paper, ours"},
		lines: func(rows []Row) (lines [][]string) {
			for n := range each {
				at := slices.Index(s.Tasks, n.task)
				line := []string{n.task, n.encoder, n.q, n.objective, n.data, text(s.Networks[strings.Join([]string{n.encoder, n.q, n.objective}, " ")][at], 1)}
				if n.data != "model" {
					line[len(line)-1] = ""
				}
				size, figures := "", []string{"not run", "not run"}
				prior, optimum := text(s.Prior[at], 1), text(s.Optimum[at], 1)
				for k, start := range starts {
					n.start = start
					row := best(rows, n)
					if row == nil {
						continue
					}
					figures[k] = fmt.Sprintf("%s ± %s", row["network"], row["network_se"])
					if size == "" {
						size, prior, optimum = row["width"]+", "+row["steps"], prior+", "+row["prior"], optimum+", "+row["optimum"]
					}
				}
				lines = append(lines, append(line, size, figures[0], figures[1], prior, optimum))
			}
			return lines
		},
		Note: note,
	}
}

// modesFigure returns the study of figure 2: draws of the two means of a mixture, whose order is
// arbitrary.
func modesFigure() *Study {
	s := settingsOf[exchangeableSettings]("exchangeable")
	cases := []network{
		{task: "mixture", encoder: "deepsets", q: "flow", objective: "forward", start: "plain", data: "model"},
		{task: "mixture", encoder: "deepsets", q: "flow", objective: "reverse", start: "plain", data: "model"},
	}
	title := "Both orders of the means of a mixture under forward KL, one under reverse KL"
	return &Study{
		Paper: "exchangeable", Name: "fig2", Title: title, Store: "exchangeable-networks", Keys: networkKeys, Values: networkValues,
		Cells: func(l *Lab) (cells []Cell, err error) {
			for _, n := range cases {
				cells = append(cells, l.networkCell(s, n))
			}
			return cells, nil
		},
		Claims: func(rows []Row) (claims []Claim) {
			forward, reverse := best(rows, cases[0]), best(rows, cases[1])
			if forward != nil && reverse != nil {
				z := (forward.number("swapped") - reverse.number("swapped")) / math.Hypot(forward.number("swapped_se"), reverse.number("swapped_se"))
				claims = append(claims, Claim{Text: "forward KL keeps the second order more often than reverse KL", Z: z})
			}
			return append(claims, networkClaims(rows)...)
		},
		header: []string{"objective", "paper", "width, steps", "ours: share of the rarer order", "squared distance"},
		lines: func(rows []Row) (lines [][]string) {
			for i, n := range cases {
				line := []string{n.objective, []string{"both orders", "one order"}[i]}
				row := best(rows, n)
				if row == nil {
					lines = append(lines, append(line, "", "not run", ""))
					continue
				}
				lines = append(lines, append(line, row["width"]+", "+row["steps"], row["swapped"]+" ± "+row["swapped_se"], row["network"]+" ± "+row["network_se"]))
			}
			return lines
		},
		pictures: func(rows []Row) []*picture.Picture {
			whole := picture.New("exchangeable-fig2", title, picture.Page, 190)
			whole.Text = "Draws of the two means for one data set: the first mean dark, the second light."
			for k, n := range cases {
				row := best(rows, n)
				if row == nil {
					return nil
				}
				whole.Place(modesPanel(row["draws"], n.objective), picture.Point{X: float64(k) * picture.Page / 2})
			}
			return []*picture.Picture{whole}
		},
		Note: "A posterior that does not know the labels of components has both orders with a half each. Networks learn everything (*plain*), and nothing relabels the means that they are trained on.",
	}
}

// modesPanel returns a picture with draws of two means in the plane.
func modesPanel(draws, objective string) *picture.Picture {
	var points [2][][2]float64
	var x, y []float64
	for draw := range strings.SplitSeq(draws, ";") {
		var m [4]float64
		if _, err := fmt.Sscan(draw, &m[0], &m[1], &m[2], &m[3]); err == nil {
			points[0], points[1] = append(points[0], [2]float64{m[0], m[1]}), append(points[1], [2]float64{m[2], m[3]})
			x, y = append(x, m[0], m[2]), append(y, m[1], m[3])
		}
	}
	panel := picture.New("", "", picture.Page/2, 190)
	frame := picture.NewFrame(panel, picture.Around(x...), picture.Around(y...), "first coordinate", "second coordinate")
	frame.Title(objective + " KL")
	for k, ink := range []picture.Ink{picture.First, picture.Second} {
		var at []picture.Point
		for _, p := range points[k] {
			at = append(at, frame.At(p[0], p[1]))
		}
		frame.Dots(at, 3.4-float64(k), ink)
	}
	return panel
}
