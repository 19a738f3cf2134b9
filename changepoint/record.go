package changepoint

import "github.com/transdim/vti/run"

// Record holds all settings of a run, from which run.Read builds the problem again with NewProblem.
type Record = run.Asked[Options]
