package papers

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/shard"
)

// TestQuick checks that every study supports its claims in its quick form. It leaves out figures 6
// to 10, which are variations of figures 2 and 5.
func TestQuick(t *testing.T) {
	testkit.Long(t)
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	for _, s := range All() {
		switch s.Name {
		case "fig6", "fig7", "fig8", "fig9", "fig10":
			continue
		}
		if s.Missing != "" {
			continue
		}
		t.Run(s.Paper+" "+s.Name, func(t *testing.T) {
			dir := t.TempDir()
			l := &Lab{Device: device, Dir: dir, Own: &shard.Shard{Dir: filepath.Join(dir, "pieces"), Count: 1}, Quick: true, Status: func(string) {}}
			rows, err := s.Run(t.Context(), l)
			require.NoError(t, err)
			claims := s.Claims(rows)
			require.NotEmpty(t, claims)
			for _, claim := range claims {
				require.Truef(t, claim.Holds(), "%s: %.1f standard errors", claim.Text, claim.Z)
			}
			require.NotEmpty(t, s.lines(rows))
			if s.pictures != nil {
				for _, p := range s.pictures(rows) {
					require.NoError(t, p.Write(dir))
				}
			}
		})
	}
}
