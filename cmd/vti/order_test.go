package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/order"
)

// The first line is the answer, and JSON has the same answer.
func TestOrder(t *testing.T) {
	rows := []string{"t,y,c"}
	y := 0.0
	for i := range 60 {
		y = -0.8*y + float64((i*i*7+3*i)%11) - 5
		rows = append(rows, fmt.Sprintf("%d,%g,1", i, y))
	}
	emptyDir(t, "data.csv", strings.Join(rows, "\n")+"\n")
	args := []string{"order", "data.csv", "--value", "y", "--max-order", "3", "-q", "--no-report"}
	got := mustRun(t, append(args, "--out", "run")...)
	require.Contains(t, got.stdout, "Most probably order ")
	require.Contains(t, entries(t), "run/orders.csv")
	got = mustRun(t, append(args, "--out", "other", "--json")...)
	var result order.Result
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &result))
	require.Len(t, result.Orders, 4)
	before := entries(t)
	for _, test := range []struct{ args, want string }{
		{"", "want the column of values"},
		{"--value c", "constant"},
		{"--value y --max-order 40", "got 60 rows for orders up to 40"},
		{"--value y --model polynomial", "wants the column of times"},
		{"--value y --degree 2", "belong to splines"},
		{"--value t --time t --model spline", "both time and value"},
		{"--value t", "without any noise"},
		{"--value y --time t --model spline --candidates 58 --max-order 12", "12 knots at"},
	} {
		got := vtiCommand(t, append([]string{"order", "data.csv"}, strings.Fields(test.args)...)...)
		require.Equal(t, shell.StatusUsage, got.status, test.args)
		require.Contains(t, got.stderr, test.want)
		require.Equal(t, before, entries(t), "nothing is left behind")
	}
}
