package dag

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/shard"
)

// keptPieces returns the store, in a run directory, of finished pieces of work, from which a
// stopped run continues. A run with another problem or other settings finds none of these pieces.
// If resume is false, pieces of earlier runs are deleted.
func keptPieces(dir string, resume bool, p *score.Problem, settings []any) (*shard.Shard, error) {
	pieces := filepath.Join(dir, rundir.PiecesDir)
	if !resume {
		if err := os.RemoveAll(pieces); err != nil {
			return nil, err
		}
	}
	content, err := json.Marshal([]any{p.Data.Fingerprint, p.Data.Names, p.Model, p.Constraints, settings})
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(content)
	return &shard.Shard{Dir: filepath.Join(pieces, hex.EncodeToString(digest[:8])), Count: 1}, nil
}

// removePieces deletes the stored pieces of work of a run that has ended without an error. If the
// run had a limit of time its pieces stay, because it may be continued with another limit.
func removePieces(dir string, limit time.Duration, err *error) {
	if *err == nil && limit == 0 {
		*err = os.RemoveAll(filepath.Join(dir, rundir.PiecesDir))
	}
}
