package answers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/shard"
)

// piecesDir is the folder of a run directory for the results of shards, processes that share a
// certification.
const piecesDir = "certify"

// Certify returns the command vti certify.
func Certify(a *shell.App, all application.Registry) *cobra.Command {
	r := &application.Recertification{App: a}
	var shards cli.Shards
	merge := false
	cmd := &cobra.Command{
		Use:   "certify RUN",
		Short: "Recompute the certificate of a run with more draws or chains, on one machine or many",
		Long: `Recomputes the certificate of a finished run of varsel, hbm (--family marginal) or dag, with more
draws from the trained approximation or with more chains. Nothing is trained. The answer replaces
the one in RUN.

With --shard I/N the work is split among N processes (shards), on any machines that see RUN. The
parts are evidences of models, batches of draws and groups of tempered chains; for graphs, they are
the scores of sets of parents by node, chains, and the scores of networks. Shards exchange their
results through RUN/certify. Then --merge writes the answer, with the same bits as one machine with
the same seed and flags.

Shards may start at any time, be killed, and start again. A shard first waits for the results of
others, at most as long as its own part took, and then computes them itself. In an array job
--shards N takes the index from
SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX.`,
		Example: `  vti certify runs/varsel-20260131-120000 --certify-draws 1000000
  vti certify runs/varsel-20260131-120000 --certify-draws 100000000 --chain-groups 8 --shard 0/20
  vti certify runs/varsel-20260131-120000 --certify-draws 100000000 --chain-groups 8 --merge
  vti certify runs/dag-20260131-120000 --chains 40 --rounds 10 --shard 3/40`,
		Args: cli.Arguments(1, 1, "one RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return runCertify(cmd, all, args[0], r, &shards, merge) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	shards.Register(cmd)
	flags.BoolVar(&merge, "merge", false, "merge the results of all shards; missing results are computed")
	flags.Var(cli.Count(&r.Draws, 1), "certify-draws", "varsel and hbm: draws of certification (default those of the run)")
	flags.Var(cli.Count(&r.Groups, 1), "chain-groups", "varsel and hbm: number of groups of tempered chains, if chains are needed (default 1)")
	flags.Var(cli.Count(&r.Chains, 2), "chains", "dag: chains over graphs (default those of the run)")
	flags.Var(cli.Count(&r.Rounds, 1), "rounds", "dag: largest number of rounds of the chains (default those of the run)")
	flags.StringVar(&r.Output.Plugin, "pjrt-plugin", "", "`file` of the PJRT plugin, if the run was computed on a GPU")
	flags.BoolVar(&r.Output.Json, "json", false, "print one JSON object on standard output, and nothing else")
	flags.BoolVarP(&r.Output.Quiet, "quiet", "q", false, "no progress on standard error")
	flags.BoolVar(&r.Output.Bare, "no-report", false, "write no report.html and no figures; vti report can make them later")
	cmd.MarkFlagsMutuallyExclusive("shard", "shards", "merge")
	return cmd
}

// runCertify certifies a run again, or does the part of one shard, a process that shares the work.
func runCertify(cmd *cobra.Command, all application.Registry, dir string, r *application.Recertification, shards *cli.Shards, merge bool) error {
	part, err := shards.Own()
	if err != nil {
		return err
	}
	r.Flags = cmd.Flags()
	if r.Run, err = all.Read(dir); err != nil {
		return err
	}
	if r.Run.Command.Again == nil {
		return r.Unfit("which cannot be certified again: give its command again")
	}
	j, t, err := r.Run.Command.Again(cmd.Context(), r)
	if err != nil {
		return err
	}
	if !rundir.Exists(filepath.Join(dir, rundir.ResultFile)) {
		return fmt.Errorf("%s has not finished: vti %s --resume %s", dir, r.Run.Header.Command, rundir.Quoted(dir))
	}
	pieces, err := piecesOf(dir, j)
	if err != nil {
		return err
	}
	part.Dir = pieces
	if !shards.Given() {
		if !merge && !rundir.Exists(pieces) {
			part = nil // a single process shares no work
		}
		return r.App.Execute(cmd.Context(), j, sharing(t, part))
	}
	return makePieces(r.App, cmd, dir, j, t, part)
}

// sharing returns the task t, changed to certify again as one of several shards.
func sharing(t shell.Task, part *shard.Shard) shell.Task {
	compute := t.Compute
	t.Resumable = false
	t.Compute = func(ctx context.Context, s *shell.Session) (shell.Judged, error) {
		s.Again, s.Shard = true, part
		if part != nil {
			part.Status = s.Status
		}
		return compute(ctx, s)
	}
	return t
}

// piecesOf returns the folder for the results of the shards of one certification. Its name is a
// digest of everything that determines these results.
func piecesOf(dir string, j *shell.Job) (string, error) {
	digest := sha256.New()
	record, err := cli.Leaves(j.Stored)
	if err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(record)) {
		fmt.Fprintf(digest, "%q %q\n", name, record[name])
	}
	header := j.Header()
	fmt.Fprintln(digest, vti.Version, header.Command, header.Fingerprint, header.Device, j.Groups)
	trained, err := os.Open(filepath.Join(dir, rundir.PosteriorFile))
	switch {
	case err == nil:
		defer trained.Close()
		if _, err := io.Copy(digest, trained); err != nil {
			return "", err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	return filepath.Join(dir, piecesDir, hex.EncodeToString(digest.Sum(nil)[:8])), nil
}

// shardReport is the content of the last line of output of a shard.
type shardReport struct {
	Shard    int    `json:"shard"`
	Shards   int    `json:"shards"`
	Computed int    `json:"computed"`
	Read     int    `json:"read"`
	Pieces   string `json:"pieces"`
}

// makePieces computes the part of one shard in a copy of a trained run. Shards then do not wait for
// the lock of the run, and only the process that merges the parts writes to the run.
func makePieces(a *shell.App, cmd *cobra.Command, dir string, j *shell.Job, t shell.Task, part *shard.Shard) error {
	scratch, err := os.MkdirTemp("", "vti-shard-")
	if err != nil {
		return shell.Failed(err)
	}
	defer os.RemoveAll(scratch)
	for _, name := range []string{rundir.RecordFile, rundir.PosteriorFile, rundir.TraceFile} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(scratch, name), content, 0o644)
		}
		if err != nil {
			return shell.Failed(err)
		}
	}
	s := &shell.Session{Dir: scratch, Resume: true, Again: true, Shard: part, Shown: j.Progress(a)}
	j.Resume = scratch
	if t.Computes {
		if s.Device, err = j.Open(true); err != nil {
			return err
		}
		defer s.Device.Close()
	}
	part.Status = s.Status
	_, err = t.Compute(cmd.Context(), s)
	s.Shown.End()
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w\nthe pieces so far are in %s; to continue: give the same command again", err, part.Dir)
	}
	if err != nil {
		return shell.Failed(err)
	}
	r := shardReport{part.Index, part.Count, part.Computed(), part.Read(), part.Dir}
	return a.Answer(j.Output.Json, r, func() {
		fmt.Fprintf(a.Text, "shard %d of %d: %s computed, %d of others read; they are in %s\n", r.Shard, r.Shards, english.Count(r.Computed, "piece"), r.Read, r.Pieces)
		if r.Computed+r.Read == 0 {
			fmt.Fprintln(a.Text, "this run has nothing to share: its certificate takes less than a piece")
		}
	})
}
