// Package verdict grades answers: the three verdicts, the limits that separate them, and the
// reasons that lower one. All commands use this package.
//
//	verdict.go    the verdicts as text and as exit status
//	judgement.go  limits, and the collection of reasons
package verdict

import "github.com/transdim/vti/internal/enum"

// Verdict is the grade of an answer.
type Verdict int

const (
	// Failed means that the answer must not be used.
	Failed Verdict = iota
	// Doubtful means that the answer may be right, but the computation does not show it.
	Doubtful
	// Trusted means that the answer is right to within its standard errors.
	Trusted
)

var names = enum.New[Verdict]("verdict", "failed", "doubtful", "trusted")

// String returns "trusted", "doubtful" or "failed".
func (v Verdict) String() string { return names.String(v) }

// MarshalText writes the text of String. It returns an error for a value that is none of the three
// verdicts.
func (v Verdict) MarshalText() ([]byte, error) { return names.Marshal(v) }

// UnmarshalText reads text written by MarshalText.
func (v *Verdict) UnmarshalText(text []byte) error { return names.Unmarshal(text, v) }

// ExitFailed is the exit status of a process whose answer must not be used.
const ExitFailed = 3

// ExitStatus is the status of the process that prints an answer with this verdict: ExitFailed for
// the verdict Failed, and otherwise 0.
func (v Verdict) ExitStatus() int {
	if v == Failed {
		return ExitFailed
	}
	return 0
}
