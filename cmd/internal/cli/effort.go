package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	runs "github.com/transdim/vti/run"
)

// Effort say how much work a run may do.
type Effort struct {
	budget  runs.Budget
	MaxTime time.Duration
}

func (f *Effort) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	Group(cmd, "Effort", func() {
		flags.Var(Name(&f.budget.Effort), "effort", "auto: as much training and as many draws as the answer needs; fixed: --steps training steps, then one certificate")
		flags.Var((*Positive)(&f.budget.Precision), "precision", "largest standard error of a probability; that of a mean is four times as large, in posterior standard deviations (default 0.005)")
		flags.DurationVar(&f.MaxTime, "max-time", 0, "`time` after which no new work starts, such as 90s or 10m, except for what every answer needs (modes and first draws); the answer then depends on the speed of the machine (default none, but 10m if more work does not help)")
	})
	CompleteWith(cmd, "effort", "auto", "fixed")
}

// Limit puts a limit of time that is given to a resumed run into its budget.
func (f *Effort) Limit(flags *pflag.FlagSet, budget *runs.Budget) {
	if flags.Changed("max-time") {
		budget.MaxSeconds = f.MaxTime.Seconds()
	}
}

// Budget returns what the flags ask for; --steps means fixed effort.
func (f *Effort) Budget(flags *pflag.FlagSet) (runs.Budget, error) {
	b := f.budget
	b.MaxSeconds = f.MaxTime.Seconds()
	if flags.Changed("steps") {
		if flags.Changed("effort") && b.Effort == runs.AutoEffort {
			return b, errors.New("--steps is for --effort fixed; --effort auto takes as many as the answer needs")
		}
		b.Effort = runs.FixedEffort
	}
	for _, name := range []string{"precision", "max-time"} {
		if b.Effort == runs.FixedEffort && flags.Changed(name) {
			return b, fmt.Errorf("--%s is for --effort auto; this one is fixed", name)
		}
	}
	switch {
	case b.Precision >= 1:
		return b, fmt.Errorf("--precision: got %g, want a standard error of probabilities, below 1", b.Precision)
	case b.MaxSeconds < 0:
		return b, fmt.Errorf("--max-time: got %v, want a time that is not negative", f.MaxTime)
	}
	return b, nil
}
