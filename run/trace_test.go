package run

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/rundir"
)

func TestTraceContinues(t *testing.T) {
	const rows = "1,-5,1,2,0,0,10\n100,-6,1,2,0,0,10\n200,-7.25,1,2,0,0,10\n"
	later := "300,-8,1,2,0,0,10\n"
	for name, test := range map[string]struct {
		content  string
		lastStep int
		kept     string
		loss     float64
	}{
		"new run over an old trace":    {traceHeader + rows, 0, "", math.NaN()},
		"no file":                      {"", 200, "", math.NaN()},
		"at its end":                   {traceHeader + rows, 200, rows, -7.25},
		"between rows":                 {traceHeader + rows, 250, rows, -7.25},
		"rows after the checkpoint":    {traceHeader + rows + later, 250, rows, -7.25},
		"before all rows":              {traceHeader + rows[16:], 50, "", math.NaN()},
		"half a row":                   {traceHeader + rows + "210,-9", 250, rows, -7.25},
		"a row without its newline":    {traceHeader + rows + later[:len(later)-1], 400, rows, -7.25},
		"a row cut and then continued": {traceHeader + rows + "210,-9,1" + later, 5000, rows, -7.25},
		"a loss that is not a number":  {traceHeader + "1,NaN,1,2,0,0,10\n", 1, "1,NaN,1,2,0,0,10\n", math.NaN()},
		"something else":               {"name,value\n1,2\n", 200, "", math.NaN()},
		"half a header":                {traceHeader[:10], 200, "", math.NaN()},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), rundir.TraceFile)
			if test.content != "" {
				require.NoError(t, os.WriteFile(path, []byte(test.content), 0o644))
			}
			rows, err := openTrace(path, test.lastStep)
			require.NoError(t, err)
			if math.IsNaN(test.loss) {
				assert.True(t, math.IsNaN(rows.loss))
			} else {
				assert.InDelta(t, test.loss, rows.loss, 0)
			}
			require.NoError(t, rows.add(vti.Info{Step: 400, Loss: 1.0 / 3, Entropy: 2, GradientNorm: 4, NonFinite: 5, SkippedSteps: 6, StepsPerSecond: 7.00001}))
			assert.InDelta(t, 1.0/3, rows.loss, 0)
			require.NoError(t, rows.close())
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, traceHeader+test.kept+"400,0.3333333333333333,2,4,5,6,7\n", string(content))
		})
	}
	_, err := openTrace(filepath.Join(t.TempDir(), "absent", rundir.TraceFile), 0)
	require.ErrorIs(t, err, os.ErrNotExist)
}
