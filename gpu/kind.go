package gpu

import (
	"fmt"
	"strings"
)

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

// kinds are all of them, in the order in which they are listed to users.
var kinds = []Kind{Auto, CPU, CUDA, XLACPU, Reference}

var kindNames = map[Kind]string{Auto: "auto", CPU: "cpu", CUDA: "cuda", XLACPU: "xla-cpu", Reference: "go"}

// String returns the name that ParseKind takes.
func (k Kind) String() string {
	if name, ok := kindNames[k]; ok {
		return name
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// KindNames lists what ParseKind takes.
func KindNames() []string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = kind.String()
	}
	return names
}

// ParseKind reads the name of a device kind: auto, cpu, cuda, xla-cpu or go.
func ParseKind(name string) (Kind, error) {
	for kind, kindName := range kindNames {
		if name == kindName {
			return kind, nil
		}
	}
	names := KindNames()
	last := len(names) - 1
	return Auto, fmt.Errorf("unknown device %q: want %s or %s", name, strings.Join(names[:last], ", "), names[last])
}

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
