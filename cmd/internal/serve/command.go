package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
)

// flags holds the flags of vti serve.
type flags struct {
	port, mostMiB, parallel int
	open                    bool
}

// Command returns the command vti serve.
func Command(a *shell.App, all application.Registry) *cobra.Command {
	f := &flags{7410, 200, 1, false}
	cmd := &cobra.Command{
		Use:   "serve [FOLDER]",
		Short: "Ask and read answers in a browser on this machine",
		Long: `Shows tables, questions, runs and reports in a browser on this machine. Tables are uploaded into
FOLDER/tables, and runs are kept in FOLDER/runs, by default of the present folder, so that runs of
the command line in runs/ are there too. Runs wait for each other; they can be stopped and resumed,
and survive a restart.

Only this machine is answered, and only a browser that has opened the printed address, whose token
is a secret of the folder. To use it from another machine, forward the port:

  ssh -L 7410:127.0.0.1:7410 HOST

Ctrl-C stops the server and its runs, which keep their checkpoints.`,
		Example: `  vti serve
  vti serve study --open`,
		Args: cli.Arguments(0, 1, "at most one folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.serve(cmd.Context(), a, all, append(args, ".")[0])
		},
	}
	cmd.Flags().Var(cli.Count(&f.port, 0), "port", "port of 127.0.0.1; 0 is any that is free")
	cmd.Flags().Var(cli.Count(&f.mostMiB, 1), "max-upload", "largest table that is taken, in `MiB`")
	cmd.Flags().Var(cli.Count(&f.parallel, 1), "parallel", "`runs` at a time; others wait")
	cmd.Flags().BoolVar(&f.open, "open", false, "open the page in the browser")
	cmd.AddCommand(columnsCommand(a))
	return cmd
}

// serve answers requests until the context ends.
func (f *flags) serve(ctx context.Context, a *shell.App, all application.Registry, dir string) error {
	program, err := os.Executable()
	if err != nil {
		return shell.Failed(err)
	}
	space, release, err := openWorkspace(dir)
	if err != nil {
		return err
	}
	defer release()
	s, err := newServer(space, all, cli.Describe(a.Commands()), func(ctx context.Context, args ...string) *exec.Cmd { return exec.CommandContext(ctx, program, args...) })
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(f.port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is in use, perhaps by another vti serve: choose another with --port, or --port 0 for any that is free", f.port)
	}
	if err != nil {
		return fmt.Errorf("--port %d: %w", f.port, err)
	}
	s.most, s.queue = int64(f.mostMiB)<<20, newQueue(space, s.program, f.parallel)
	address := fmt.Sprintf("http://%s%s/?token=%s", listener.Addr(), s.base, s.token)
	fmt.Fprintf(a.Stdout, "Open this address, which is a secret of %s:\n\n  %s\n\nCtrl-C ends the server and stops its runs.\n", dir, address)
	if f.open {
		if err := shell.OpenPage(ctx, address); err != nil {
			fmt.Fprintf(a.Stderr, "vti: --open: %v\n", err)
		}
	}
	// uploads may take long, but the header of a request must arrive soon
	web := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 16}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(listener) }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = nil
	}
	_ = web.Close()
	s.queue.close()
	return shell.Failed(err)
}

// newServer returns the server of a workspace. Runs are processes of the program.
func newServer(space *workspace, all application.Registry, commands *cli.Description, program func(ctx context.Context, args ...string) *exec.Cmd) (*server, error) {
	g, err := newGuard(space.root)
	return &server{guard: g, questions: questions(all, commands), space: space, program: program}, err
}
