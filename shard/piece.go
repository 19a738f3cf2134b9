package shard

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"

	"github.com/transdim/vti/internal/checkpoint"
)

var pieceFormat = checkpoint.Format{Name: "piece of a computation", Magic: "vti.piec", Version: 1}

// pieceHeader is the header of the file of a piece.
type pieceHeader struct {
	Version int    `json:"version"`
	Stage   string `json:"stage"`
}

// piecePath returns the path of the file of a piece. It contains a hash of stage and input, so that
// no two pieces share a file.
func (s *Shard) piecePath(stage string, key func(w io.Writer)) string {
	digest := sha256.New()
	fmt.Fprintf(digest, "%q", stage)
	key(digest)
	name := hex.EncodeToString(digest.Sum(nil)[:16])
	return filepath.Join(s.Dir, name[:2], name+".piece")
}

// readPiece reads the piece at path into value. It returns false if the file is missing, or
// incomplete, for example after a loss of power.
func readPiece(path string, value any) bool {
	var header pieceHeader
	content, err := pieceFormat.Read(path, &header)
	return err == nil && gob.NewDecoder(bytes.NewReader(content)).Decode(value) == nil
}

// writePiece stores a piece in a file that is either complete or absent.
func writePiece(path, stage string, value any) error {
	return pieceFormat.Write(path, pieceHeader{pieceFormat.Version, stage}, func(w io.Writer) error {
		return gob.NewEncoder(w).Encode(value)
	})
}
