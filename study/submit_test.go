package study

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/transdim/vti/lab/testkit"
)

func TestRanges(t *testing.T) {
	assert.Equal(t, "0-3,7,9-10", ranges([]int{0, 1, 2, 3, 7, 9, 10}))
	assert.Equal(t, "5", ranges([]int{5}))
	assert.Empty(t, ranges(nil))
}

func TestSlurm(t *testing.T) {
	p := newPlan(t, fmt.Sprintf(simulatedPlan, 10, ""), nil)
	s := Submission{Chunks: 4, Memory: 300 << 20, Time: 90 * time.Minute, Running: 2, Options: []string{"--partition=long"}}
	require.False(t, s.NeedsPilot())
	script := p.Slurm(s, "/bin/vti's", nil)
	for _, line := range []string{"#SBATCH --array=0-3%2\n", "#SBATCH --mem=300M\n", "#SBATCH --time=0-01:30:00\n", "#SBATCH --requeue\n", "#SBATCH --partition=long\n", "#SBATCH --job-name=vti-plan\n",
		`exec '/bin/vti'\''s' study run '` + p.Path() + "' --shards 4 --jobs 1 --quiet\n"} {
		require.Contains(t, script, line)
	}
	for _, i := range []int{1, 5, 9} { // all tasks of shard 1
		runAll(t, p, RunConfig{Selection: Shard(i, p.Tasks())})
	}
	require.Contains(t, p.Slurm(s, "vti", nil), "#SBATCH --array=0,2-3%2\n", "what is done is not asked for")
	runAll(t, p, RunConfig{Jobs: 2})
	require.Empty(t, p.Slurm(s, "vti", nil))
}

// Zero fields of a submission are computed from the pilot tasks.
func TestSubmissionFromPilot(t *testing.T) {
	e := &Estimate{Seconds: 60, Largest: 90, PeakBytes: 1 << 30, Remaining: 1000}
	s := Submission{}.complete(1000, e)
	assert.Equal(t, 34, s.Chunks, "half an hour each")
	assert.InDelta(t, 1.75*(1<<30), s.Memory, 1)
	assert.Equal(t, 10*time.Minute+2*30*90*time.Second, s.Time)
	assert.Equal(t, mostChunks, Submission{}.complete(1e6, &Estimate{Seconds: 60, Remaining: 1e6}).Chunks)
	assert.Equal(t, 1, Submission{}.complete(5, &Estimate{Seconds: 1, Remaining: 5}).Chunks)
	assert.Equal(t, "1-01:01:05", slurmTime(25*time.Hour+65*time.Second))
	assert.Equal(t, "vti-my-plan-2", jobName("My plan_2"))
}

func TestKubernetes(t *testing.T) {
	p := newPlan(t, fmt.Sprintf(simulatedPlan, 10, ""), nil)
	var job struct {
		Spec struct {
			CompletionMode           string
			Completions, Parallelism int
			BackoffLimitPerIndex     int `yaml:"backoffLimitPerIndex"`
			Template                 struct {
				Spec struct {
					RestartPolicy string `yaml:"restartPolicy"`
					Containers    []struct {
						Image string
						Args  []string
					}
				}
			}
		}
	}
	text := p.Kubernetes(Submission{Chunks: 4, Memory: 300 << 20, Time: time.Hour, Image: "vti:1", Claim: "study"}, nil)
	require.NoError(t, yaml.Unmarshal([]byte(text), &job))
	assert.Equal(t, 4, job.Spec.Completions)
	assert.Equal(t, 6, job.Spec.BackoffLimitPerIndex)
	assert.Equal(t, "Never", job.Spec.Template.Spec.RestartPolicy)
	assert.Equal(t, "vti:1", job.Spec.Template.Spec.Containers[0].Image)
	assert.Equal(t, []string{"study", "run", "/study/plan.toml", "--shards", "4", "--jobs", "1", "--quiet"}, job.Spec.Template.Spec.Containers[0].Args)
}

// The elements of an array job run in random order. Some run twice, and some are stopped at a
// random moment and started again. They write the same files as one process.
func TestIndicesWithRestarts(t *testing.T) {
	testkit.Slow(t)
	text := fmt.Sprintf(simulatedPlan, 24, "seed = 9")
	one := newPlan(t, text, nil)
	runAll(t, one, RunConfig{Jobs: 2})
	many := newPlan(t, text, nil)
	random := rand.New(rand.NewPCG(1, 2))
	const shards = 6
	element := func(i int, limit time.Duration) {
		t.Setenv("JOB_COMPLETION_INDEX", fmt.Sprint(i))
		index, _, found, err := FromScheduler()
		require.NoError(t, err)
		require.True(t, found)
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		_, err = many.Run(ctx, RunConfig{Launcher: fakeLauncher(t), Jobs: 1, Selection: Shard(index, shards)})
		if err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
	}
	for range 3 {
		for _, i := range random.Perm(shards) {
			element(i, time.Duration(random.IntN(60))*time.Millisecond)
		}
	}
	for _, i := range random.Perm(shards) {
		element(i, time.Minute)
	}
	require.Equal(t, tree(t, one), tree(t, many))
	entries, err := os.ReadDir(many.Dir() + "/work")
	require.NoError(t, err)
	require.Empty(t, entries)
}
