package vti_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/testkit"
)

// Training takes no memory other than its variables: during 10,000 more steps the heap grows by
// less than 20 kB, while one number for each step would take 80 kB.
func TestMemoryOfTrainingIsFlat(t *testing.T) { testFlatMemory(t, 20_000) }

// testFlatMemory compares the heap after 10,000 steps and after the given steps, for control
// variates with a memory of past steps.
func testFlatMemory(t *testing.T, steps int) {
	const first = 10_000
	target := newConjugate(3, 2)
	for _, control := range []vti.ControlVariate{vti.Running, vti.SurrogateMean} {
		t.Run(control.String(), func(t *testing.T) {
			if control == vti.Running {
				testkit.Long(t)
			}
			heap := map[int]int64{}
			_, err := vti.Fit(t.Context(), openDevice(t, gpu.CPU), target, vti.Config{
				Flow: cosmic.Config{Kind: cosmic.Diagonal, Layers: 1, Hidden: 4}, Steps: steps, Batch: 2, Seed: 1,
				ControlVariate: control, LogEvery: first, Progress: func(info vti.Info) {
					runtime.GC()
					var stats runtime.MemStats
					runtime.ReadMemStats(&stats)
					heap[info.Step] = int64(stats.HeapAlloc)
				},
			})
			require.NoError(t, err)
			t.Logf("heap after %d steps: %d bytes; after %d: %d", first, heap[first], steps, heap[steps])
			require.Less(t, heap[steps]-heap[first], int64(2*(steps-first)))
		})
	}
}
