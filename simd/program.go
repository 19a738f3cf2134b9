package simd

import (
	"sync"
	"unsafe"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// program is a compiled graph. It consists of steps that run one after the other. Each step may use
// all threads of the pool.
type program struct {
	backend    *Backend
	values     []*value
	steps      []scheduled
	parameters []*value // nil for a parameter that is not used
	outputs    []*value
	// donations holds, for each output, the number of the parameter whose memory it takes over if
	// that parameter is donated, or -1.
	donations  []int
	arenaSize  int
	tileMemory int // bytes of registers that a worker needs
	tileSlots  int // the largest number of operands and results of a tile program

	mu     sync.Mutex
	frames []*frame // idle frames
}

// value describes the memory of one dense array: a parameter, a constant, or an array that a step
// writes.
type value struct {
	id     int
	dtype  dtypes.DType
	size   int // elements
	kind   valueKind
	data   *block // the elements of a constant
	offset int    // bytes from the start of the arena to a temporary

	firstStep, lastStep int // the steps that write it first and use it last
	block               *arenaBlock
}

func (v *value) bytes() int { return v.size * v.dtype.Size() }

type valueKind int

const (
	temporary valueKind = iota
	parameter
	constant
	output
)

// scheduled is a step together with the data that planMemory needs.
type scheduled struct {
	step
	reads, writes []*value
	reuse         []reuse // results that may be written over an operand
}

// reuse states that a step may write result to the memory of operand if no later step reads
// operand.
type reuse struct{ result, operand *value }

// step is one pass over memory.
type step interface {
	run(f *frame)
}

// tasked is a step whose work is divided into tasks. The tasks of one phase may run at the same
// time.
type tasked interface {
	task(f *frame, phase, task, worker int)
}

// frame is the state of one execution of a program. Frames are kept for later executions, which
// then allocate only their outputs.
type frame struct {
	program *program
	memory  []unsafe.Pointer // where each value is, by id
	arena   *block
	workers []worker
	job     *job
	current tasked // the step that the job runs
	phase   int
}

// worker is the private memory of one goroutine that works on a frame.
type worker struct {
	registers unsafe.Pointer
	bases     []unsafe.Pointer
}

func (p *program) newFrame() *frame {
	f := &frame{
		program: p,
		memory:  make([]unsafe.Pointer, len(p.values)),
		arena:   newBlock(p.arenaSize),
		workers: make([]worker, p.backend.pool.threads),
		job:     newJob(),
	}
	f.job.run = func(task, worker int) { f.current.task(f, f.phase, task, worker) }
	for i := range f.workers {
		f.workers[i] = worker{registers: newBlock(p.tileMemory).pointer(), bases: make([]unsafe.Pointer, p.tileSlots)}
	}
	for _, v := range p.values {
		switch v.kind {
		case temporary:
			f.memory[v.id] = unsafe.Add(f.arena.pointer(), v.offset)
		case constant:
			f.memory[v.id] = v.data.pointer()
		}
	}
	return f
}

// newBlock returns a new block of at least size bytes. It is not empty even if size is 0.
func newBlock(size int) *block { return &block{words: make([]uint64, size/8+1)} }

func (f *frame) run() {
	for i := range f.program.steps {
		f.program.steps[i].run(f)
	}
}

// parallel runs the tasks of one phase of s.
func (f *frame) parallel(s tasked, phase, tasks int) {
	if tasks == 1 {
		s.task(f, phase, 0, 0)
		return
	}
	f.current, f.phase = s, phase
	f.program.backend.pool.run(f.job, tasks)
}

// acquire returns an idle frame or a new one.
func (p *program) acquire() *frame {
	p.mu.Lock()
	if last := len(p.frames) - 1; last >= 0 {
		f := p.frames[last]
		p.frames = p.frames[:last]
		p.mu.Unlock()
		return f
	}
	p.mu.Unlock()
	return p.newFrame()
}

// release makes f available to later executions. It first drops the pointers to inputs and outputs.
func (p *program) release(f *frame) {
	for _, v := range p.parameters {
		if v != nil {
			f.memory[v.id] = nil
		}
	}
	for _, v := range p.outputs {
		f.memory[v.id] = nil
	}
	p.mu.Lock()
	p.frames = append(p.frames, f)
	p.mu.Unlock()
}
