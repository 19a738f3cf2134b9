package study

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

// Submission describes a study as an array job. Each element of the job runs a shard of the tasks.
// Fields that are zero are computed from the pilot tasks.
type Submission struct {
	// Chunks is the number of elements. 0 stands for elements of about half an hour of work, at
	// most 1,000.
	Chunks int
	// Cores is the number of cores of an element. Each core runs one task at a time. 0 stands for
	// 1.
	Cores int
	// Memory is the memory of an element in bytes. 0 stands for 256 MiB plus, for each core, 1.5
	// times the memory of the largest pilot task.
	Memory float64
	// Time is the time limit of an element. 0 stands for ten minutes plus twice the time that the
	// element would take if all tasks took as long as the slowest pilot task.
	Time time.Duration
	// Running is the largest number of elements that run at a time; 0 stands for no bound.
	Running int
	// Options are lines for the scheduler, such as --partition=long. Only Slurm uses them.
	Options []string
	// Claim is the volume claim that holds the folder of the plan, and Image is the container
	// image. Only Kubernetes uses them.
	Claim, Image string
}

// The constants with which zero fields of a [Submission] are computed from pilot tasks.
const (
	chunkSeconds = 30 * 60.0
	mostChunks   = 1000 // Slurm accepts arrays of up to 1,001 elements by default
	memoryFactor = 1.5
	memoryLeast  = 256 << 20 // bytes
	timeFactor   = 2
	timeLeast    = 10 * time.Minute
)

// NeedsPilot reports whether a zero field needs the pilot tasks.
func (s Submission) NeedsPilot() bool { return s.Chunks == 0 || s.Memory == 0 || s.Time == 0 }

// complete fills in zero fields. Without an estimate it fills in only Cores.
func (s Submission) complete(tasks int, e *Estimate) Submission {
	s.Cores = max(1, s.Cores)
	if e == nil {
		return s
	}
	s.Chunks = cmp.Or(s.Chunks, int(math.Ceil(float64(e.Remaining)*e.Seconds/float64(s.Cores)/chunkSeconds)))
	s.Chunks = min(max(1, s.Chunks), mostChunks, tasks)
	s.Memory = cmp.Or(s.Memory, memoryLeast+memoryFactor*e.PeakBytes*float64(s.Cores))
	if s.Time == 0 {
		rounds := math.Ceil(float64(tasks) / float64(s.Chunks) / float64(s.Cores))
		s.Time = timeLeast + time.Duration(timeFactor*rounds*e.Largest*float64(time.Second))
	}
	return s
}

// open lists the shards, out of n, that have missing tasks. Only these shards are submitted again.
func (p *Plan) open(n int) (shards []int) {
	s := store{p.Dir()}
	for shard := range n {
		for i := range Shard(shard, n).indices(p.Tasks()) {
			if s.state(p.Task(i).Name) == Missing {
				shards = append(shards, shard)
				break
			}
		}
	}
	return shards
}

// ranges formats increasing numbers as "0-3,7".
func ranges(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, fmt.Sprint(numbers[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", numbers[i], numbers[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// mebibytes converts bytes to MiB. It rounds up, to at least 1.
func mebibytes(bytes float64) int { return int(math.Ceil(max(1, bytes/(1<<20)))) }

func render(text string, values any) string {
	var b strings.Builder
	if err := template.Must(template.New("").Parse(text)).Execute(&b, values); err != nil {
		panic("study.render: " + err.Error()) // the templates are constants
	}
	return b.String()
}

// WriteSubmission writes a file into the folder submit of the study and returns its path.
func (p *Plan) WriteSubmission(name, content string) (string, error) {
	dir := filepath.Join(p.Dir(), "submit")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	return path, os.WriteFile(path, []byte(content), 0o644)
}
