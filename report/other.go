package report

import (
	"context"
	"fmt"

	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/modelcheck"
)

// commonResult is what the results of all commands have.
type commonResult struct {
	// Answer is the answer in a sentence, of commands that give one.
	Answer      string `json:"answer"`
	Certificate *struct {
		Verdict verdict.Verdict `json:"verdict"`
		Reasons []string        `json:"reasons"`
	} `json:"certificate"`
	ModelCheck *modelcheck.Report `json:"model_check"`
}

// commonArticle is the article of a command that has no pictures of its own.
func (s *source) commonArticle(result *commonResult) *article {
	var level *verdict.Verdict
	var reasons []string
	if c := result.Certificate; c != nil {
		level, reasons = &c.Verdict, c.Reasons
	}
	a := &article{
		Title: "vti " + s.header.Command, Subtitle: s.table(),
		Marks: []badge{computation(level, reasons), model(result.ModelCheck)},
		Next:  next(level, "Compute with more effort, and let vti compare say whether the two agree.", result.ModelCheck, fmt.Sprintf("All numbers are in result.json of the run; vti %s --help says what they mean.", s.header.Command)),
	}
	if result.Answer != "" {
		a.Answer = []string{result.Answer}
	}
	a.rest = func(ctx context.Context) ([]section, error) { return []section{s.provenance()}, nil }
	return a
}
