package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"
)

// measured is a flag that names the vti program to measure.
type measured struct{ path string }

func (m *measured) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&m.path, "vti", "", "`file` of the vti command to measure (default beside vtilab, else from the PATH)")
}

func (m *measured) program() (string, error) {
	if m.path != "" {
		return exec.LookPath(m.path)
	}
	if executable, err := os.Executable(); err == nil {
		if beside, err := exec.LookPath(filepath.Join(filepath.Dir(executable), "vti")); err == nil {
			return beside, nil
		}
	}
	found, err := exec.LookPath("vti")
	if err != nil {
		return "", errors.New("there is no vti beside vtilab nor in the PATH: build it with go build ./cmd/vti, or name it with --vti")
	}
	return found, nil
}
