package varsel

import "github.com/transdim/vti/internal/enum"

// CodeKind names a way to write a model.
type CodeKind int

const (
	// AutoCodes are lists where the size of models is limited and there are more than can be listed
	// one by one, and bits otherwise.
	AutoCodes CodeKind = iota
	// BitCodes have one bit for each predictor, and the flow a coordinate for each column.
	BitCodes
	// ListCodes list the predictors of a model, and the flow has a block of coordinates for each
	// place in the list. They need a maximum size.
	ListCodes
)

var codeKinds = enum.New[CodeKind]("codes", "auto", "bits", "lists")

// String returns the name that [ParseCodes] reads.
func (k CodeKind) String() string { return codeKinds.String(k) }

// ParseCodes reads auto, bits or lists.
func ParseCodes(s string) (CodeKind, error) { return codeKinds.Parse(s) }

// MarshalText writes the name.
func (k CodeKind) MarshalText() ([]byte, error) { return codeKinds.Marshal(k) }

// UnmarshalText reads what MarshalText wrote.
func (k *CodeKind) UnmarshalText(text []byte) error { return codeKinds.Unmarshal(text, k) }

// mostListed is the number of predictors whose models the engine lists one by one: 2^16 models, the
// default of vti.CertifyConfig.
const mostListed = 16

// lists reports whether models of so many predictors are written as lists.
func (k CodeKind) lists(prior Prior, predictors int) bool {
	limited := prior.MaxSize > 0 && prior.MaxSize < predictors
	return limited && (k == ListCodes || k == AutoCodes && predictors > mostListed)
}
