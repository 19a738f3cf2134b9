package study

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/transdim/vti/internal/document"
)

const slurmScript = `#!/bin/sh
#SBATCH --job-name={{.Name}}
#SBATCH --array={{.Array}}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={{.Cores}}
#SBATCH --mem={{.Memory}}M
#SBATCH --time={{.Time}}
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output={{.Output}}
{{range .Options}}#SBATCH {{.}}
{{end}}
# Every element takes each {{.Chunks}}th task. Tasks that are done are skipped, so that an element that was
# preempted, killed or requeued goes on where it stopped.
exec {{.Program}} study run {{.Plan}} --shards {{.Chunks}} --jobs {{.Cores}} --quiet
`

// Slurm returns the script for sbatch of an array job that runs the program on every shard with
// missing tasks. It is empty if no tasks are missing. If s.NeedsPilot returns false, e may be nil.
func (p *Plan) Slurm(s Submission, program string, e *Estimate) string {
	s = s.complete(p.Tasks(), e)
	shards := p.open(s.Chunks)
	if len(shards) == 0 {
		return ""
	}
	array := ranges(shards)
	if s.Running > 0 {
		array += fmt.Sprintf("%%%d", s.Running)
	}
	return render(slurmScript, map[string]any{
		"Name": jobName(p.Name()), "Array": array, "Cores": s.Cores, "Memory": mebibytes(s.Memory), "Time": slurmTime(s.Time),
		"Output": filepath.Join(p.Dir(), "submit", "%A_%a.log"), "Options": s.Options, "Chunks": s.Chunks,
		"Program": shellQuoted(program), "Plan": shellQuoted(p.path),
	})
}

// slurmTime formats a duration as days-hours:minutes:seconds.
func slurmTime(d time.Duration) string {
	seconds := int(d.Seconds())
	return fmt.Sprintf("%d-%02d:%02d:%02d", seconds/86400, seconds/3600%24, seconds/60%60, seconds%60)
}

// shellQuoted quotes a text as one word of a shell.
func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// jobName returns a name of lower-case letters, digits and hyphens that begins with a letter. It
// has at most 50 characters, because Kubernetes appends to it and makes it part of a domain name.
func jobName(text string) string {
	name := document.Identifier("vti", text)
	return strings.TrimRight(name[:min(len(name), 50)], "-")
}
