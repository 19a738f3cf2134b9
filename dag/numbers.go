package dag

import (
	"cmp"
	gocontext "context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
)

func square(x float64) float64 { return x * x }

// zeros is a matrix of zeros, [n][n].
func zeros(n int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, n)
	}
	return rows
}

func indicator(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// sortBy sorts places by a key, ascending, ties by place.
func sortBy(order []int, key func(int) float64) {
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(a, b)) })
}

// drawIndex picks a place in proportion to the steps of a cumulative sum.
func drawIndex(random *rand.Rand, cumulative []float64) int {
	u := random.Float64() * cumulative[len(cumulative)-1]
	return min(sort.SearchFloat64s(cumulative, u), len(cumulative)-1)
}

// eachNode calls work for every node or chain, several at a time. Calls must not depend on each
// other.
func eachNode(ctx gocontext.Context, nodes int, work func(j int)) error {
	var next atomic.Int32
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), nodes) {
		group.Go(func() {
			for j := int(next.Add(1)) - 1; j < nodes && ctx.Err() == nil; j = int(next.Add(1)) - 1 {
				work(j)
			}
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("stopped: %w", err)
	}
	return nil
}

// firstError keeps the first error of several goroutines.
type firstError struct {
	lock sync.Mutex
	err  error
}

func (f *firstError) set(err error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.err == nil {
		f.err = err
	}
}

func (f *firstError) get() error {
	f.lock.Lock()
	defer f.lock.Unlock()
	return f.err
}

// upTo lists 0 to n-1.
func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
