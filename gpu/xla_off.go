//go:build !cgo || !linux

package gpu

import (
	"errors"

	"github.com/gomlx/gomlx/backends"
)

var errNoXLA = errors.New("this vti was built without XLA: build it on Linux with CGO_ENABLED=1 and a C compiler")

func xlaBuiltIn() error { return errNoXLA }

func checkPlugin(string) error { return errNoXLA }

func newXLA(Kind, string) (backends.Backend, error) { return nil, errNoXLA }
