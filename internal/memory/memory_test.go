package memory

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTotal(t *testing.T) {
	const meminfo, v2, v1 = "/proc/meminfo", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"
	machine := "MemTotal:       16000000 kB\nMemFree:         1 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  float64
	}{
		"address space":  {map[string]string{meminfo: machine, "/proc/self/limits": "Limit  Soft Limit  Hard Limit  Units\nMax address space         1000000000           unlimited            bytes\n"}, 8e8},
		"no such limit":  {map[string]string{meminfo: machine, "/proc/self/limits": "Max address space         unlimited            unlimited            bytes\n"}, 16000000 * 1024},
		"unknown":        {nil, 1 << 40},
		"machine":        {map[string]string{meminfo: machine}, 16000000 * 1024},
		"no limit":       {map[string]string{meminfo: machine, v2: "max\n"}, 16000000 * 1024},
		"limit":          {map[string]string{meminfo: machine, v2: "2000000\n"}, 2000000},
		"limit, v1":      {map[string]string{meminfo: machine, v1: "3000000\n"}, 3000000},
		"no limit, v1":   {map[string]string{meminfo: machine, v1: "9223372036854771712\n"}, 16000000 * 1024},
		"damaged":        {map[string]string{meminfo: "MemTotal: many kB\n"}, 1 << 40},
		"limit, no size": {map[string]string{v2: "1000"}, 1000},
	} {
		got := total(func(name string) ([]byte, error) {
			if content, ok := c.files[name]; ok {
				return []byte(content), nil
			}
			return nil, os.ErrNotExist
		})
		require.InDelta(t, c.want, got, 0, name)
	}
	require.Greater(t, Total(), float64(1<<28), "of this machine")
}

func TestCheck(t *testing.T) {
	require.NoError(t, Check("Batch 1", 100))
	err := Check("Batch 1000", 1e30)
	require.ErrorContains(t, err, "Batch 1000 needs at least 8.882e+14 PiB of memory, and there are ")
	require.ErrorContains(t, err, Text(Total()))
}

func TestText(t *testing.T) {
	for want, bytes := range map[string]float64{"0 bytes": 0, "1023 bytes": 1023, "1 KiB": 1024, "1.5 MiB": 1.5 * (1 << 20), "2048 PiB": 1 << 61} {
		require.Equal(t, want, Text(bytes))
	}
}
