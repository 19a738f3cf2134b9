package changepoint

import "github.com/transdim/vti/run"

// Record holds all settings of a run; run.Read builds its problem by NewProblem.
type Record = run.Asked[Options]
