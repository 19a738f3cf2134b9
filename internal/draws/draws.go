package draws

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/transdim/vti/internal/enum"
)

// Kind is the source of draws.
type Kind int

// The kinds of draws are the following.
const (
	IID    Kind = iota // independent draws from an approximation of known density
	Chains             // draws of Markov chains
)

var kinds = enum.New[Kind]("kind of draws", "iid", "chains")

// String returns the name of the kind, as it is written in the header of a file.
func (k Kind) String() string { return kinds.String(k) }

// MarshalText returns the name of the kind. An unknown kind is an error.
func (k Kind) MarshalText() ([]byte, error) { return kinds.Marshal(k) }

// UnmarshalText reads text written by MarshalText.
func (k *Kind) UnmarshalText(text []byte) error { return kinds.Unmarshal(text, k) }

// Header describes the draws in a file.
type Header struct {
	// Kind determines the columns of log densities.
	Kind Kind `json:"kind"`
	// Cards holds the number of outcomes of each of the S sites, such as 2 for a predictor that is
	// in a model or not. There is at least one site.
	Cards []int `json:"cards"`
	// Sites holds the names of the S sites, or is nil.
	Sites []string `json:"sites,omitempty"`
	// Items is set if models are lists of items. It names the items that the outcomes 1, 2, … of a
	// site stand for. The items of a model are its outcomes other than 0.
	Items []string `json:"items,omitempty"`
	// Coordinates holds the names of the D coordinates.
	Coordinates []string `json:"coordinates"`
	// Variables holds the column names of the coordinates. nil stands for beta[coordinate].
	Variables []string `json:"variables,omitempty"`
	// DensityScale names the scale of the parameters to which log densities refer, such as
	// "standardised", if it is not the scale of the parameters in the file.
	DensityScale string `json:"density_scale,omitempty"`
	// Covered is the total probability of the models that can occur in the sample. 0: all models.
	Covered float64 `json:"covered,omitempty"`
	// Seed, BurnIn and Thin are settings of the run. They are for information only.
	Seed   uint64 `json:"seed"`
	BurnIn int    `json:"burn_in,omitempty"`
	Thin   int    `json:"thin,omitempty"`
}

// Validate returns an error that describes the first inconsistency.
func (h Header) Validate() error {
	if h.Kind != IID && h.Kind != Chains {
		return fmt.Errorf("unknown kind of draws %d", int(h.Kind))
	}
	if len(h.Cards) == 0 {
		return errors.New("want at least one site, got none")
	}
	for s, card := range h.Cards {
		if card < 1 || card > math.MaxInt32 {
			return fmt.Errorf("site %d has %d outcomes, want 1 to %d", s+1, card, math.MaxInt32)
		}
	}
	if h.Sites != nil && len(h.Sites) != len(h.Cards) {
		return fmt.Errorf("%d names for %d sites", len(h.Sites), len(h.Cards))
	}
	if h.Variables != nil && len(h.Variables) != len(h.Coordinates) {
		return fmt.Errorf("%d variables for %d coordinates", len(h.Variables), len(h.Coordinates))
	}
	return nil
}

// densities returns the names of the columns before model__.
func (h Header) densities() []string {
	if h.Kind == Chains {
		return []string{"lp__", "chain__"}
	}
	return []string{"log_p__", "log_q__"}
}

// ModelNumber returns the number of a model, as in the column model__: the outcomes in code are its
// digits in mixed radix. It returns NaN if float64 cannot represent the numbers of all models.
func (h Header) ModelNumber(code []int32) float64 {
	if !h.countable() {
		return math.NaN()
	}
	index := 0
	for s, outcome := range code {
		index = index*h.Cards[s] + int(outcome)
	}
	return float64(index)
}

func (h Header) countable() bool {
	count := 1
	for _, card := range h.Cards {
		if card > (1<<53)/count {
			return false
		}
		count *= card
	}
	return true
}

// fileHeader is the header in the form in which files store it.
type fileHeader struct {
	Version int `json:"version"`
	Header
}

const version = 2

func (h Header) marshal() (string, error) {
	text, err := json.Marshal(fileHeader{version, h})
	return string(text), err
}

func unmarshalHeader(text string) (Header, error) {
	var h fileHeader
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		return Header{}, fmt.Errorf("damaged header: %w", err)
	}
	if h.Version != version {
		return Header{}, fmt.Errorf("layout version is %d, this program reads %d: repeat the run", h.Version, version)
	}
	if err := h.Validate(); err != nil {
		return Header{}, fmt.Errorf("damaged header: %w", err)
	}
	return h.Header, nil
}

// Draws holds N draws.
type Draws struct {
	Header
	LogP  []float64 // [N]
	LogQ  []float64 // [N]; nil for Chains
	Chain []int32   // [N], from 1; nil for IID
	Codes []int32   // [N*S] row-major
	Theta []float64 // [N*D] row-major, 0 where inactive
}

// Len returns the number of draws N.
func (d *Draws) Len() int { return len(d.LogP) }

// check panics unless the draws have the shapes of the header.
func (d *Draws) check() {
	n := d.Len()
	logQ, chain := n, 0
	if d.Kind == Chains {
		logQ, chain = 0, n
	}
	if len(d.LogQ) != logQ || len(d.Chain) != chain || len(d.Codes) != n*len(d.Cards) || len(d.Theta) != n*len(d.Coordinates) {
		panic(fmt.Sprintf("draws: %d draws of kind %s with %d sites and %d coordinates want LogQ, Chain, Codes, Theta of lengths %d, %d, %d, %d, got %d, %d, %d, %d",
			n, d.Kind, len(d.Cards), len(d.Coordinates), logQ, chain, n*len(d.Cards), n*len(d.Coordinates),
			len(d.LogQ), len(d.Chain), len(d.Codes), len(d.Theta)))
	}
	for i, outcome := range d.Codes {
		if s := i % len(d.Cards); outcome < 0 || int(outcome) >= d.Cards[s] {
			panic(fmt.Sprintf("draws: site %d has outcome %d, want 0 to %d", s+1, outcome, d.Cards[s]-1))
		}
	}
}

// Code returns the model of draw i, of length S.
func (d *Draws) Code(i int) []int32 { return d.Codes[i*len(d.Cards) : (i+1)*len(d.Cards)] }

// Values returns the parameters of draw i, of length D.
func (d *Draws) Values(i int) []float64 {
	return d.Theta[i*len(d.Coordinates) : (i+1)*len(d.Coordinates)]
}

// appendRow adds a draw. The argument cells holds its values in the order of the columns after the
// log densities and the model number.
func (d *Draws) appendRow(first, second, model float64, cells []float64) error {
	d.LogP = append(d.LogP, first)
	if d.Kind == Chains {
		chain := int32(second)
		if float64(chain) != second || chain < 1 {
			return fmt.Errorf("column chain__: want a whole number from 1, got %v", second)
		}
		d.Chain = append(d.Chain, chain)
	} else {
		d.LogQ = append(d.LogQ, second)
	}
	for s, card := range d.Cards {
		outcome := int32(cells[s])
		if float64(outcome) != cells[s] || outcome < 0 || int(outcome) >= card {
			return fmt.Errorf("column %s: want a whole number from 0 to %d, got %v", d.siteColumn(s), card-1, cells[s])
		}
		d.Codes = append(d.Codes, outcome)
	}
	d.Theta = append(d.Theta, cells[len(d.Cards):]...)
	if want := d.ModelNumber(d.Code(d.Len() - 1)); want != model && !(math.IsNaN(want) && math.IsNaN(model)) {
		return fmt.Errorf("column model__: the outcomes are those of model %v, got those of %v", want, model)
	}
	return nil
}
