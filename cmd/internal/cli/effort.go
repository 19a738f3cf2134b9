package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	runs "github.com/transdim/vti/run"
)

// TimeLimit holds the flag --max-time.
type TimeLimit struct{ maxTime time.Duration }

// Register adds the flag to a command. Work that every answer needs is done even after the limit;
// the argument needs names this work in the help.
func (f *TimeLimit) Register(cmd *cobra.Command, needs string) {
	Group(cmd, "Effort", func() {
		cmd.Flags().DurationVar(&f.maxTime, "max-time", 0, "`time` after which no new work starts, such as 90s or 10m, except for "+needs)
	})
}

// Limit returns the time limit that the flag gives.
func (f *TimeLimit) Limit() (runs.Limit, error) {
	if f.maxTime < 0 {
		return runs.Limit{}, fmt.Errorf("--max-time: got %v, want a time that is not negative", f.maxTime)
	}
	return runs.Limit{MaxSeconds: f.maxTime.Seconds()}, nil
}

// Renew stores a limit that was given with --resume in the record of the run.
func (f *TimeLimit) Renew(flags *pflag.FlagSet, limit *runs.Limit) {
	if flags.Changed("max-time") {
		limit.MaxSeconds = f.maxTime.Seconds()
	}
}

// Effort holds the flags that limit the work of a run, by effort, training steps or time.
type Effort struct {
	budget runs.Budget
	TimeLimit
}

// Register adds the flags to a command.
func (f *Effort) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	Group(cmd, "Effort", func() {
		Named(cmd, &f.budget.Effort, "effort", "auto: as much training and as many draws as the answer needs; fixed: --steps training steps, then one certificate", "auto", "fixed")
		flags.Var(Positive(&f.budget.Precision), "precision", "largest standard error of a probability; the error of a mean is four times as large, in posterior standard deviations (default 0.005)")
	})
	f.TimeLimit.Register(cmd, "what every answer needs (modes and first draws); the answer then depends on the speed of the machine (default none, but 10m if more work does not help)")
}

// Budget returns the limits of work that the flags set. If --steps is given the effort is fixed.
func (f *Effort) Budget(flags *pflag.FlagSet) (runs.Budget, error) {
	b := f.budget
	if flags.Changed("steps") {
		if flags.Changed("effort") && b.Effort == runs.AutoEffort {
			return b, errors.New("--steps is for --effort fixed; --effort auto takes as many as the answer needs")
		}
		b.Effort = runs.FixedEffort
	}
	if b.Effort == runs.FixedEffort {
		if err := Refuse(flags, " is for --effort auto; this one is fixed", "precision", "max-time"); err != nil {
			return b, err
		}
	}
	if b.Precision >= 1 {
		return b, fmt.Errorf("--precision: got %g, want a standard error of probabilities, below 1", b.Precision)
	}
	var err error
	b.Limit, err = f.Limit()
	return b, err
}
