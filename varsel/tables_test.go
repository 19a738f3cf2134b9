package varsel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/table"
)

func parseTable(t require.TestingT, content string) *table.Table {
	data, err := table.Parse("data.csv", []byte(content))
	require.NoError(t, err)
	return data
}

func readTable(t testing.TB, name string) *table.Table {
	t.Helper()
	data, err := table.ReadFile("../testdata/" + name)
	require.NoError(t, err)
	return data
}
