package papers

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/shard"
)

// squares returns a study whose n cells take no time. The argument made counts the cells that are
// measured, and the cell with the number bad fails.
func squares(made *atomic.Int64, n, bad int) *Study {
	return &Study{
		Paper: "vti", Name: "squares", Store: "squares", Keys: []string{"of"}, Values: []string{"square"},
		Cells: func(*Lab) (cells []Cell, err error) {
			for i := range n {
				cells = append(cells, Cell{[]string{strconv.Itoa(i)}, func(context.Context) ([]string, error) {
					if i == bad {
						return nil, errors.New("no")
					}
					made.Add(1)
					return []string{strconv.Itoa(i * i)}, nil
				}})
			}
			return cells, nil
		},
	}
}

func newLab(t *testing.T, dir string, index, count int) *Lab {
	t.Helper()
	return &Lab{Dir: dir, Own: &shard.Shard{Dir: filepath.Join(dir, "pieces"), Index: index, Count: count}, Status: func(string) {}}
}

// TestResume checks that cells with a row in the file are not measured again, even if other files
// are lost; that a study may get more cells; and that failed cells are measured in the next run.
func TestResume(t *testing.T) {
	var made atomic.Int64
	dir := t.TempDir()
	_, err := squares(&made, 4, 2).Run(t.Context(), newLab(t, dir, 0, 1))
	require.EqualError(t, err, "2: no")
	require.EqualValues(t, 2, made.Load())
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "pieces")))
	rows, err := squares(&made, 6, -1).Run(t.Context(), newLab(t, dir, 0, 1))
	require.NoError(t, err)
	require.EqualValues(t, 6, made.Load())
	require.Len(t, rows, 6)
	for _, row := range rows {
		require.Equal(t, row.number("of")*row.number("of"), row.number("square"))
	}

	l := newLab(t, dir, 0, 1)
	l.Only = regexp.MustCompile("^[34]$")
	rows, err = squares(&made, 6, -1).Run(t.Context(), l)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	l.Only = regexp.MustCompile("x")
	_, err = squares(&made, 6, -1).Run(t.Context(), l)
	require.ErrorContains(t, err, "no cell")

	other := squares(&made, 6, -1)
	other.Values = []string{"cube"}
	_, err = other.Run(t.Context(), newLab(t, dir, 0, 1))
	require.ErrorContains(t, err, "got other columns than")
}

// TestSharedStudy checks that processes that share a directory measure every cell once, and that
// all of them return all rows.
func TestSharedStudy(t *testing.T) {
	var made atomic.Int64
	dir := t.TempDir()
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() {
			rows, err := squares(&made, 8, -1).Run(t.Context(), newLab(t, dir, i, 2))
			require.NoError(t, err)
			require.Len(t, rows, 8)
		})
	}
	both.Wait()
	require.EqualValues(t, 8, made.Load())
}

// TestClaims checks that a claim of a positive difference holds for large Z only, and a claim of
// equality for small |Z| only.
func TestClaims(t *testing.T) {
	for _, c := range []struct {
		claim Claim
		holds bool
	}{
		{Claim{Z: 5}, true}, {Claim{Z: 3}, false}, {Claim{Z: -5}, false}, {Claim{Z: nan}, false},
		{Claim{Z: 3, Equal: true}, true}, {Claim{Z: -5, Equal: true}, false}, {Claim{Z: nan, Equal: true}, false},
	} {
		require.Equal(t, c.holds, c.claim.Holds(), "%+v", c.claim)
	}
}
