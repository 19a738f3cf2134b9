package gpu

import "github.com/transdim/vti/internal/enum"

// Kind names a place where graphs can run.
type Kind int

const (
	// Auto takes CUDA where a plugin and a card are found, else CPU.
	Auto Kind = iota
	// CPU is this project's own compiled and vectorised backend.
	CPU
	// CUDA is XLA on an NVIDIA card, through a PJRT plugin.
	CUDA
	// XLACPU is XLA on the processor, through a PJRT plugin.
	XLACPU
	// Reference is GoMLX's interpreter in Go, run sequentially: slow, simple, the oracle of tests.
	Reference
)

var kinds = enum.New[Kind]("device", "auto", "cpu", "cuda", "xla-cpu", "go")

// String returns the name that ParseKind takes.
func (k Kind) String() string { return kinds.String(k) }

// KindNames lists the names that ParseKind takes.
func KindNames() []string { return kinds.List() }

// ParseKind reads the name of a device kind: auto, cpu, cuda, xla-cpu or go.
func ParseKind(name string) (Kind, error) { return kinds.Parse(name) }

// UnmarshalText reads a name that ParseKind takes.
func (k *Kind) UnmarshalText(text []byte) error { return kinds.Unmarshal(text, k) }

// platform is the PJRT name of the platform behind an XLA kind, "" for the others.
func (k Kind) platform() string {
	switch k {
	case CUDA:
		return "cuda"
	case XLACPU:
		return "cpu"
	}
	return ""
}
