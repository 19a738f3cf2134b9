package application

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	runs "github.com/transdim/vti/run"
)

// Recertification certifies a finished run again, with the settings of the flags of vti certify.
type Recertification struct {
	App    *shell.App
	Run    *Stored
	Output cli.Output
	Flags  *pflag.FlagSet
	// Draws is the number of draws of a certificate, and Groups the number of groups of tempered
	// chains. Chains and Rounds are the number and the length of chains over models. Each is 0 if
	// its flag was not given.
	Draws, Groups, Chains, Rounds int
}

// Reopen opens the run to certify. The argument flags lists which of the flags --certify-draws,
// --chain-groups, --chains and --rounds apply to the run. If the user gave another of them, Reopen
// returns an error.
func Reopen[R interface {
	*T
	cli.Record
}, T any](r *Recertification, flags ...string) (*Asked[R], error) {
	for _, name := range []string{"certify-draws", "chain-groups", "chains", "rounds"} {
		if !slices.Contains(flags, name) {
			if err := r.Misplaced(name); err != nil {
				return nil, err
			}
		}
	}
	record, err := runs.ReadRecord[T](r.Run.Dir)
	if err != nil {
		return nil, err
	}
	j := &shell.Job{Output: r.Output, Stored: R(record), Resume: r.Run.Dir, Groups: r.Groups}
	return &Asked[R]{r.App, j, record, r.Flags}, nil
}

// Misplaced returns an error if one of the named flags was given.
func (r *Recertification) Misplaced(names ...string) error {
	return cli.Refuse(r.Flags, fmt.Sprintf(" is not for %s, which is a run of vti %s", r.Run.Dir, r.Run.Header.Command), names...)
}

// Unfit returns the error for a run that cannot be certified again.
func (r *Recertification) Unfit(why string) error {
	return fmt.Errorf("%s is a run of vti %s, %s", r.Run.Dir, r.Run.Header.Command, why)
}
