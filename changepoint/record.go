package changepoint

import "github.com/transdim/vti/run"

// Record is everything that a run was asked for; run.Read builds its problem by NewProblem.
type Record = run.Asked[Options]
