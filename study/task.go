package study

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Task is one run of the study.
type Task struct {
	// Index is the index of the task in the plan, from 0.
	Index int
	// Name is a hash of the task's input, 16 hexadecimal digits. Tasks keep their names when the
	// plan grows.
	Name string
	// Settings distinguish the task from other tasks: its table, its flags in the grid, and the
	// number of its replicate.
	Settings []Setting

	table int // index of the table in the source
	cell  int // index of the combination in the grid
}

// Tasks returns the number of tasks.
func (p *Plan) Tasks() int { return p.source.count() * p.grid.count() * p.Replicates }

// Task returns task i. Replicates change fastest, tables slowest.
func (p *Plan) Task(i int) Task {
	cells := p.grid.count()
	t := Task{Index: i, table: i / p.Replicates / cells, cell: i / p.Replicates % cells}
	t.Settings = append(t.Settings, p.source.item(t.table)...)
	t.Settings = append(t.Settings, p.grid.at(t.cell)...)
	t.Settings = append(t.Settings, Setting{"replicate", int64(i % p.Replicates)})
	t.Name = p.nameOf(t)
	return t
}

// nameOf hashes the inputs that determine the answer of a task: command, seed, flags, settings, and
// the inputs of its table (source.content). It does not hash the bytes of tables in files.
func (p *Plan) nameOf(t Task) string {
	encoded, err := json.Marshal([]any{p.Command, p.Seed, named(p.flags), named(t.Settings), p.source.content(t.table)})
	if err != nil {
		panic("study.Plan.Task: " + err.Error()) // values of a plan are checked by Read
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:8])
}

// named returns settings as a map by name. JSON sorts the names.
func named(settings []Setting) map[string]any {
	values := map[string]any{}
	for _, s := range settings {
		values[s.Name] = s.Value
	}
	return values
}
