package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/shell"
)

// measured is the vti command that is measured.
type measured struct{ path string }

func (m *measured) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&m.path, "vti", "", "`file` of the vti command to measure (default beside vtilab, else from the PATH)")
}

// program is the file of the command.
func (m *measured) program() (string, error) {
	if m.path != "" {
		return exec.LookPath(m.path)
	}
	if own, err := os.Executable(); err == nil {
		if beside, err := exec.LookPath(filepath.Join(filepath.Dir(own), "vti")); err == nil {
			return beside, nil
		}
	}
	found, err := exec.LookPath("vti")
	if err != nil {
		return "", errors.New("there is no vti beside vtilab nor in the PATH: build it with go build ./cmd/vti, or name it with --vti")
	}
	return found, nil
}

// commands returns a function that runs command lines of the program and returns what they print.
// An answer that is not to be used is an answer.
func (m *measured) commands() (func(ctx context.Context, args ...string) ([]byte, error), error) {
	program, err := m.program()
	return func(ctx context.Context, args ...string) ([]byte, error) {
		var stderr bytes.Buffer
		command := exec.CommandContext(ctx, program, args...)
		command.Stderr = &stderr
		output, err := command.Output()
		if err != nil && command.ProcessState != nil && command.ProcessState.ExitCode() == shell.StatusUntrusted {
			err = nil
		}
		if err != nil {
			return nil, cmp.Or(ctx.Err(), fmt.Errorf("vti %s: %w: %s", strings.Join(args, " "), err, strings.TrimPrefix(strings.TrimSpace(stderr.String()), "vti: ")))
		}
		return output, nil
	}, err
}
