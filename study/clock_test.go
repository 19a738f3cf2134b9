package study

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Wrong times of files change no answer. Half of the tasks of a study are done. Then every file of
// the study gets a time between 1970 and 2100, as from machines with wrong clocks, and the
// remaining tasks are done.
func TestClocksDecideNothing(t *testing.T) {
	const plan = "command = \"fake\"\nseed = 4\nsimulate = {problem = \"varsel\", seeds = 12}"
	quiet, jumping := newPlan(t, plan, nil), newPlan(t, plan, nil)
	_, err := quiet.Run(t.Context(), RunConfig{Launcher: fakeLauncher(t), Jobs: 2})
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	for shard := range 3 {
		_, err := jumping.Run(t.Context(), RunConfig{Launcher: fakeLauncher(t), Jobs: 1, Selection: Shard(shard, 3)})
		require.NoError(t, err)
		require.NoError(t, filepath.WalkDir(jumping.Dir(), func(path string, _ fs.DirEntry, err error) error {
			require.NoError(t, err)
			moment := time.Unix(random.Int64N(130*365*24*3600), 0)
			return os.Chtimes(path, moment, moment)
		}))
	}
	require.Equal(t, tree(t, quiet), tree(t, jumping))
	_, want := collect(t, quiet)
	_, got := collect(t, jumping)
	a, err := os.ReadFile(want)
	require.NoError(t, err)
	b, err := os.ReadFile(got)
	require.NoError(t, err)
	require.Equal(t, a, b)
}
