package report

import (
	"fmt"

	"github.com/transdim/vti/dag"
)

// graphArticle makes the article of a discovery of graphs.
func (s *source) graphArticle(result *dag.Result) *article {
	a := &article{
		Title:    "Which columns depend on which?",
		Subtitle: fmt.Sprintf("%s, %s; %s", s.table(), counted(result.Data.Rows, "row", "rows"), counted(len(result.Data.Nodes), "column", "columns")),
	}
	b := computation(nil, nil)
	if result.Certificate != nil {
		b = computation(&result.Certificate.Verdict, result.Certificate.Reasons)
	}
	a.Marks = []badge{b, model(result.ModelCheck)}
	a.Sections = []section{s.provenance()}
	return a
}
