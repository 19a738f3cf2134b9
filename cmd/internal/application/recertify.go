package application

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	runs "github.com/transdim/vti/run"
)

// Recertification certifies a finished run again, with the settings that the flags of vti certify
// give.
type Recertification struct {
	App    *shell.App
	Run    *Stored
	Output cli.Output
	Flags  *pflag.FlagSet
	// Draws is the number of posterior draws that check the answer (its certificate), and Groups
	// the number of groups of tempered chains. Chains is the number of chains that move between
	// models, and Rounds the number of their rounds. Each is 0 if its flag was not given.
	Draws, Groups, Chains, Rounds int
}

// Again returns the function of a [Command] that certifies runs with records of type R again. The
// argument flags lists which of the flags --certify-draws, --chain-groups, --chains and --rounds
// apply to these runs; it is an error to give another of these flags. The function task returns the
// task for a run.
func Again[R interface {
	*T
	cli.Record
}, T any](task func(ctx context.Context, r *Recertification, run *Asked[R]) (shell.Task, error), flags ...string) func(ctx context.Context, r *Recertification) (*shell.Job, shell.Task, error) {
	others := slices.DeleteFunc([]string{"certify-draws", "chain-groups", "chains", "rounds"}, func(name string) bool { return slices.Contains(flags, name) })
	return func(ctx context.Context, r *Recertification) (j *shell.Job, t shell.Task, err error) {
		if err := r.Misplaced(others...); err != nil {
			return nil, t, err
		}
		record, err := runs.ReadRecord[T](r.Run.Dir)
		if err != nil {
			return nil, t, err
		}
		j = &shell.Job{Output: r.Output, Stored: R(record), Resume: r.Run.Dir, Groups: r.Groups}
		t, err = task(ctx, r, &Asked[R]{r.App, j, record, r.Flags})
		return j, t, err
	}
}

// Misplaced returns an error if one of the named flags was given.
func (r *Recertification) Misplaced(names ...string) error {
	return cli.Refuse(r.Flags, fmt.Sprintf(" is not for %s, which is a run of vti %s", r.Run.Dir, r.Run.Header.Command), names...)
}

// Unfit returns the error for a run that cannot be certified again.
func (r *Recertification) Unfit(why string) error {
	return fmt.Errorf("%s is a run of vti %s, %s", r.Run.Dir, r.Run.Header.Command, why)
}
