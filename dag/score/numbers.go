package score

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

func Square(x float64) float64 { return x * x }

// Zeros is a matrix of zeros, [n][n].
func Zeros(n int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, n)
	}
	return rows
}

func Indicator(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// SortBy sorts places by a key, ascending, ties by place.
func SortBy(order []int, key func(int) float64) {
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(a, b)) })
}

// DrawIndex picks a place in proportion to the steps of a cumulative sum.
func DrawIndex(random *rand.Rand, cumulative []float64) int {
	u := random.Float64() * cumulative[len(cumulative)-1]
	return min(sort.SearchFloat64s(cumulative, u), len(cumulative)-1)
}

// EachNode calls work for every node or chain, several at a time. Calls must not depend on each
// other.
func EachNode(ctx gocontext.Context, nodes int, work func(j int)) error {
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

// FirstError keeps the first error of several goroutines.
type FirstError struct {
	lock sync.Mutex
	err  error
}

func (f *FirstError) Set(err error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.err == nil {
		f.err = err
	}
}

func (f *FirstError) Get() error {
	f.lock.Lock()
	defer f.lock.Unlock()
	return f.err
}

// UpTo lists 0 to n-1.
func UpTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
