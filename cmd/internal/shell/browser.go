package shell

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
)

// OpenPage opens an address, or the absolute path of a file, in the browser of the desktop.
func OpenPage(ctx context.Context, path string) error {
	command := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if command == nil {
		command = []string{"xdg-open"}
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return Failed(fmt.Errorf("--open: there is no %s to show the page with; it is in %s", command[0], path))
	}
	if err := exec.CommandContext(ctx, command[0], append(command[1:], path)...).Run(); err != nil {
		return Failed(errors.Join(fmt.Errorf("--open: %s did not show the page, which is in %s", command[0], path), err))
	}
	return nil
}
