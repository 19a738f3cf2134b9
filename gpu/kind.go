package gpu

import "github.com/transdim/vti/internal/enum"

// Kind names a place where graphs can run.
type Kind int

const (
	// Auto is CUDA if a plugin and a card are found, else CPU.
	Auto Kind = iota
	// CPU is this project's own compiled and vectorised backend.
	CPU
	// CUDA is XLA on an NVIDIA card, through a PJRT plugin.
	CUDA
	// XLACPU is XLA on the processor, through a PJRT plugin.
	XLACPU
	// Reference is GoMLX's interpreter in Go, run sequentially. It is slow and simple, and tests
	// compare the other kinds with it.
	Reference
)

var kinds = enum.New[Kind]("device", "auto", "cpu", "cuda", "xla-cpu", "go")

// String returns the name of the kind, which ParseKind parses.
func (k Kind) String() string { return kinds.String(k) }

// KindNames returns the names that ParseKind accepts.
func KindNames() []string { return kinds.List() }

// ParseKind returns the kind of device with a name: auto, cpu, cuda, xla-cpu or go.
func ParseKind(name string) (Kind, error) { return kinds.Parse(name) }

// UnmarshalText parses a name that ParseKind accepts.
func (k *Kind) UnmarshalText(text []byte) error { return kinds.Unmarshal(text, k) }

// platform returns the name that PJRT has for the platform of an XLA kind, "" for other kinds.
func (k Kind) platform() string {
	switch k {
	case CUDA:
		return "cuda"
	case XLACPU:
		return "cpu"
	}
	return ""
}
