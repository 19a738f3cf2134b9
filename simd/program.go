package simd

import (
	"sync"
	"unsafe"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// program is a compiled graph: steps that run one after the other, each of which may use all
// threads of the pool.
type program struct {
	backend    *Backend
	values     []*value
	steps      []scheduled
	parameters []*value // nil where a parameter is not used
	outputs    []*value
	// of each output, the parameter whose memory it takes over if that is donated; -1: none
	donations  []int
	arenaSize  int
	tileMemory int // bytes of registers a worker needs
	tileSlots  int // most slots of any tile program

	mu     sync.Mutex
	frames []*frame // idle
}

// value is the memory of one dense array that a step writes or that is given.
type value struct {
	id     int
	dtype  dtypes.DType
	size   int // elements
	kind   valueKind
	data   *block // of a constant
	offset int    // of a temporary in the arena

	firstStep, lastStep int // life: written in the first, read for the last time in the last
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

// scheduled is a step with the data for the planner of memory.
type scheduled struct {
	step
	reads, writes []*value
	reuse         []reuse // results that may be written over an operand
}

// reuse says that a step may write result in the memory of operand if nobody needs operand any
// more.
type reuse struct{ result, operand *value }

// step is one pass over memory.
type step interface {
	run(f *frame)
}

// tasked is a step whose work the pool shares out.
type tasked interface {
	task(f *frame, phase, task, worker int)
}

// frame is the state of one execution of a program. Frames are kept for the next execution, so that
// it allocates nothing but outputs.
type frame struct {
	program *program
	memory  []unsafe.Pointer // of each value
	arena   *block
	workers []worker
	job     *job
	current tasked // what the job runs
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

// newBlock allocates at least size bytes and never none.
func newBlock(size int) *block { return &block{words: make([]uint64, size/8+1)} }

func (f *frame) run() {
	for i := range f.program.steps {
		f.program.steps[i].run(f)
	}
}

// parallel runs the tasks of a phase of s.
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

// release drops the memory that belongs to inputs and outputs and makes the frame available.
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
