package walk

import (
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/rjmcmc"
)

// A graph of 40 certain edges has a few edges about which chains disagree. Two of them make the
// answer doubtful, with reasons that name them, and leave the errors of improbable edges elsewhere
// small. Three are more than a twentieth of the edges, and the answer fails.
func TestFewUnsettledEdges(t *testing.T) {
	const nodes = 42
	names := make([]string, nodes)
	names[0], names[1], names[2] = "age", "dose", "sex"
	certain := rjmcmc.Summary{Mean: 1}
	settled := rjmcmc.Summary{Mean: 0.4, SD: 0.5, MCSE: 0.012, RHat: 1.003, ESS: 1700}
	summaries := func(unsettled int) Edges {
		return Summarise(nodes, rjmcmc.Summary{RHat: 1.3, ESS: 8}, func(e dgraph.Edge) rjmcmc.Summary {
			switch {
			case e == dgraph.Edge{From: 20, To: 30}:
				return settled
			case e.From == 0 && e.To <= unsettled:
				return rjmcmc.Summary{Mean: 0.25, SD: 0.43, MCSE: 0.2, RHat: 3, ESS: float64(4 + e.To)}
			case e.To == e.From+1 && e.From > 0:
				return certain
			}
			return rjmcmc.Summary{}
		})
	}
	none := summaries(0)
	require.Empty(t, none.Unsettled)
	require.Equal(t, verdict.Failed, none.Judge(4, 500, names).Verdict, "the log density of the chains differs")

	few := summaries(2)
	require.Equal(t, []dgraph.Edge{{From: 0, To: 1}, {From: 0, To: 2}}, few.Unsettled)
	require.Equal(t, 1.003, few.Settled.RHat)
	judged := few.Judge(4, 500, names)
	require.Equal(t, verdict.Doubtful, judged.Verdict)
	require.Equal(t, []string{"the chains disagree about 2 edges, whose standard errors are up to 0.2: age → dose, age → sex"}, judged.Reasons)
	require.Less(t, few.Errors[30][20], 0.001, "an improbable edge elsewhere")
	require.Greater(t, few.Errors[1][20], 0.1, "an improbable edge of a node with an unsettled edge")

	many := summaries(3)
	require.Nil(t, many.Unsettled)
	require.Equal(t, verdict.Failed, many.Judge(4, 500, names).Verdict)
	require.Greater(t, many.Errors[30][20], 0.1)
}
