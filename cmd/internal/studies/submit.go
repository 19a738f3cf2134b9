package studies

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/study"
)

func studySubmitCommand(a *shell.App, read planFunc) *cobra.Command {
	var s study.Submission
	var slurm, kubernetes, print bool
	var memoryMiB int
	cmd := &cobra.Command{
		Use:   "submit PLAN --slurm|--kubernetes",
		Short: "Submit a study to a cluster, as an array job",
		Long: `With --slurm it writes the script of an array job and passes it to sbatch. Each element of the array
runs a chunk of the tasks; it is requeued when it is preempted, and skips finished tasks. Submitting
a study again requests only the unfinished chunks.

With --kubernetes it writes the manifest of an Indexed Job and a container file with only the static
binary, and explains how to apply them. The volume claim holds the folder of the plan.

Chunks, memory and time are estimated from three pilot tasks, which run here if they have not yet.`,
		Example: `  vti study submit eqtl.toml --slurm --sbatch=--partition=long --running 200
  vti study submit eqtl.toml --slurm --print
  vti study submit eqtl.toml --kubernetes --claim studies --image registry.example/vti:1`,
		Args: planArgument,
		RunE: read.run(func(cmd *cobra.Command, plan *study.Plan) error {
			if slurm == kubernetes {
				return errors.New("expected either --slurm or --kubernetes")
			}
			s.Memory = float64(memoryMiB) * (1 << 20)
			start, err := launcher(a)
			if err != nil {
				return err
			}
			var e *study.Estimate
			if s.NeedsPilot() {
				if e, err = plan.Estimate(cmd.Context(), start); err != nil {
					return shell.Failed(err)
				}
			}
			if kubernetes {
				return submitKubernetes(a, plan, s, e, print)
			}
			return submitSlurm(a, cmd, plan, s, start.Program, e, print)
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&slurm, "slurm", false, "an array job of Slurm")
	flags.BoolVar(&kubernetes, "kubernetes", false, "an Indexed Job of Kubernetes")
	flags.BoolVar(&print, "print", false, "only show it")
	flags.Var(cli.Count(&s.Chunks, 1), "chunks", "elements of the array (default one for each half hour of work, at most 1000)")
	flags.Var(cli.Count(&s.Cores, 1), "cpus", "processors of an element, each for one task at a time (default 1)")
	flags.Var(cli.Count(&memoryMiB, 1), "mem", "memory of an element in MiB (default by the pilot tasks)")
	flags.DurationVar(&s.Time, "time", 0, "longest `time` of an element, such as 2h30m (default by the pilot tasks)")
	flags.Var(cli.Count(&s.Running, 1), "running", "largest number of elements that run at a time (default unlimited)")
	flags.StringArrayVar(&s.Options, "sbatch", nil, "`option` for sbatch, such as --partition=long; may be repeated")
	flags.StringVar(&s.Claim, "claim", "study", "Kubernetes: `name` of the volume claim that holds the folder of the plan")
	flags.StringVar(&s.Image, "image", "vti:"+vti.Version, "Kubernetes: `name` of the container image")
	return cmd
}

// submitSlurm submits the tasks to Slurm, as a script for sbatch.
func submitSlurm(a *shell.App, cmd *cobra.Command, plan *study.Plan, s study.Submission, program string, e *study.Estimate, print bool) error {
	script := plan.Slurm(s, program, e)
	if script == "" {
		fmt.Fprintf(a.Text, "every task has ended: nothing to submit\n")
		return nil
	}
	if print {
		_, err := fmt.Fprint(a.Stdout, script)
		return err
	}
	path, err := plan.WriteSubmission("slurm-"+time.Now().Format("20060102-150405")+".sh", script)
	if err != nil {
		return shell.Failed(err)
	}
	submit := exec.CommandContext(cmd.Context(), "sbatch", path)
	submit.Stdout, submit.Stderr, submit.Env = a.Stdout, a.Stderr, os.Environ()
	if err := submit.Run(); err != nil {
		return shell.Failed(fmt.Errorf("sbatch %s: %w", path, err))
	}
	return nil
}

// submitKubernetes writes the Kubernetes manifest and the file from which the container is built.
func submitKubernetes(a *shell.App, plan *study.Plan, s study.Submission, e *study.Estimate, print bool) error {
	manifest := plan.Kubernetes(s, e)
	if print {
		_, err := fmt.Fprint(a.Stdout, manifest)
		return err
	}
	job, err := plan.WriteSubmission("job.yaml", manifest)
	if err != nil {
		return shell.Failed(err)
	}
	container, err := plan.WriteSubmission("Containerfile", study.Containerfile)
	if err != nil {
		return shell.Failed(err)
	}
	fmt.Fprintf(a.Text, "%s\n%s\n\n", job, container)
	fmt.Fprintf(a.Text, "Build the image %s, put the folder of the plan on the volume of the claim %s, then:\n  kubectl apply -f %s\n", s.Image, s.Claim, rundir.Quoted(job))
	return nil
}
