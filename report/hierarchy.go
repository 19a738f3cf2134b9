package report

import (
	"fmt"

	"github.com/transdim/vti/hbm/regression"
)

// regressionArticle makes the article of a hierarchical regression.
func (s *source) regressionArticle(result *regression.Result) (*article, error) {
	a := &article{
		Title:    result.Data.Formula,
		Subtitle: fmt.Sprintf("%s, %s", s.table(), counted(result.Data.Rows, "row", "rows")),
	}
	b := computation(nil, nil)
	if result.Certificate != nil {
		b = computation(&result.Certificate.Verdict, result.Certificate.Reasons)
	}
	a.Marks = []badge{b, model(result.ModelCheck)}
	a.Sections = []section{s.provenance()}
	return a, nil
}
