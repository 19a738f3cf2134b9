package study

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/transdim/vti/internal/columnar"
	"github.com/transdim/vti/internal/parallel"
)

// CollectConfig sets the output of Collect.
type CollectConfig struct {
	// Out is the Parquet file with one row for each task. Other files are written beside it:
	// results.costs.parquet, and results.TABLE.parquet for each long table that has rows.
	Out string
	// Tables are the names of the lists in an answer that become long tables, with a row for each
	// element of the list; nil means [LongTables].
	Tables []string
	// Report, if not nil, is called at intervals with the number of tasks read so far.
	Report func(read int)

	each func(t Task, g *gathered) // if not nil, it is called with every task, and no tables are written
}

// LongTables are the names of the default long tables.
var LongTables = []string{"inclusion", "models", "graphs", "edges", "effects", "coefficients", "truth.effects"}

// Summary describes the collected tasks.
type Summary struct {
	Counts
	Damaged int `json:"damaged"` // tasks whose record cannot be read, included in Missing
	// Verdicts counts the tasks with an answer by verdict.
	Verdicts map[string]int `json:"verdicts"`
	// CPUSeconds is the sum of processor times over all tasks. Longest is the longest elapsed time
	// of a task, and PeakBytes the largest memory of a task.
	CPUSeconds float64 `json:"cpu_seconds"`
	Longest    float64 `json:"longest_seconds"`
	PeakBytes  float64 `json:"peak_bytes"`
	// Files maps the path of each file to its number of rows.
	Files map[string]int `json:"files"`
}

// pieceTasks is the number of tasks in memory at a time. An incomplete record is read up to
// readings times, with pauses, because a shared file system can show a directory before its files.
const (
	pieceTasks = 1024
	readings   = 3
	pause      = 100 * time.Millisecond
)

// Collect reads all tasks, in the order of the plan, and writes tables. Its memory does not grow
// with the number of tasks, and it may run while tasks run. The same answers give the same bytes,
// whatever the order and the machines of the tasks, except in the table of costs.
func (p *Plan) Collect(ctx context.Context, cfg CollectConfig) (*Summary, error) {
	if cfg.Tables == nil {
		cfg.Tables = LongTables
	}
	c := &collector{plan: p, store: store{p.Dir()}, cfg: cfg, writers: map[string]*spool{}}
	c.summary = &Summary{Counts: Counts{Tasks: p.Tasks()}, Verdicts: map[string]int{}, Files: map[string]int{}}
	defer c.close()
	if err := c.read(ctx); err != nil {
		return nil, err
	}
	writers := slices.Collect(maps.Values(c.writers))
	err := parallel.Do(len(writers), func(i int) error { return writers[i].commit() })
	for _, w := range writers {
		c.summary.Files[w.path] = w.rows
	}
	return c.summary, err
}

type collector struct {
	plan    *Plan
	store   store
	cfg     CollectConfig
	writers map[string]*spool // writers by the name of the table; "" is the table of tasks
	summary *Summary
}

func (c *collector) close() {
	for _, w := range c.writers {
		w.close()
	}
}

// gathered holds the results of one task.
type gathered struct {
	task    Task
	state   State
	damaged bool
	row     []cell
	key     []cell // first cells of each row of the long tables
	flat    flat
	cost    *Cost
	verdict string
	failure string // the error of a failed task
}

// read gathers tasks piece by piece, on all cores, and adds them in order.
func (c *collector) read(ctx context.Context) error {
	for first := 0; first < c.summary.Tasks; first += pieceTasks {
		piece := make([]gathered, min(pieceTasks, c.summary.Tasks-first))
		err := parallel.For(ctx, len(piece), func(i int) error {
			piece[i] = c.gather(c.plan.Task(first + i))
			return nil
		})
		if err != nil {
			return err
		}
		for _, g := range piece {
			if err := c.add(g); err != nil {
				return err
			}
		}
		if c.cfg.Report != nil {
			c.cfg.Report(first + len(piece))
		}
	}
	return nil
}

func (c *collector) gather(t Task) (g gathered) {
	var record *Record
	var err error
	for reading := range readings {
		if reading > 0 {
			time.Sleep(pause)
		}
		if record, g.state, err = c.store.record(t.Name); err == nil {
			break
		}
	}
	g.task, g.damaged = t, err != nil
	g.key = []cell{{"task", int64(t.Index)}}
	names := map[string]bool{"task": true, "task_name": true, "state": true, "seed": true, "error": true, "crashes": true, "verdict": true}
	for _, s := range t.Settings {
		g.key = append(g.key, cell{s.Name, settingValue(s)})
		names[s.Name] = true
	}
	g.row = append(slices.Clone(g.key), cell{"task_name", t.Name}, cell{"state", g.state.String()})
	if record == nil {
		if err != nil {
			g.row = append(g.row, cell{"error", err.Error()})
		}
		return g
	}
	g.flat.walk("", record.Answer)
	g.flat.walk("truth", record.Truth)
	g.complete(record, names)
	if cost, err := c.store.cost(t.Name, g.state); err == nil {
		g.cost = &cost
	}
	return g
}

func (g *gathered) complete(record *Record, names map[string]bool) {
	if record.Seed != nil {
		g.row = append(g.row, cell{"seed", *record.Seed})
	}
	if g.failure = record.Error; g.failure != "" {
		g.row = append(g.row, cell{"error", record.Error})
	}
	g.row = append(g.row, cell{"crashes", int64(len(record.Crashes))})
	for _, c := range g.flat.scalars {
		if c.column == "certificate.verdict" || c.column == "diagnostics.verdict" {
			g.verdict, _ = c.value.(string)
		}
	}
	if g.verdict == "" && g.state == Done && strings.HasPrefix(record.Command, "exact") {
		g.verdict = "exact" // a sum over all models needs no certificate, and has no verdict
	}
	if g.verdict != "" {
		g.row = append(g.row, cell{"verdict", g.verdict})
	}
	for _, c := range g.flat.scalars {
		switch {
		case c.column == "seed": // the record of the task already has a field seed
		case names[c.column]:
			g.row = append(g.row, cell{"answer." + c.column, c.value})
		default:
			g.row = append(g.row, c)
		}
	}
	for _, rows := range g.flat.tables {
		for _, row := range rows {
			for i, c := range row {
				if names[c.column] {
					row[i].column = "answer." + c.column
				}
			}
		}
	}
}

// settingValue converts the value of a setting to the value of a cell. A list becomes text.
func settingValue(s Setting) any {
	if _, list := s.Value.([]any); list {
		return s.Text()
	}
	return s.Value
}

func (c *collector) add(g gathered) error {
	c.count(g)
	if c.cfg.each != nil {
		c.cfg.each(g.task, &g)
		return nil
	}
	if err := c.write("", g.row); err != nil {
		return err
	}
	if g.cost != nil {
		row := []cell{g.key[0], {"seconds", g.cost.Seconds}, {"cpu_seconds", g.cost.CPUSeconds}, {"peak_bytes", g.cost.PeakBytes},
			{"cores", int64(g.cost.Cores)}, {"machine", g.cost.Machine}}
		if err := c.write("costs", row); err != nil {
			return err
		}
	}
	for _, name := range c.cfg.Tables {
		for _, row := range g.flat.tables[name] {
			if err := c.write(name, append(slices.Clone(g.key), row...)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *collector) count(g gathered) {
	s := c.summary
	s.add(g.state)
	if g.damaged {
		s.Damaged++
	}
	if g.verdict != "" {
		s.Verdicts[g.verdict]++
	}
	if g.cost != nil {
		s.CPUSeconds += g.cost.CPUSeconds
		s.Longest = max(s.Longest, g.cost.Seconds)
		s.PeakBytes = max(s.PeakBytes, g.cost.PeakBytes)
	}
}

// write adds a row to a table. It creates the table for the first row.
func (c *collector) write(name string, row []cell) error {
	w := c.writers[name]
	if w == nil {
		var err error
		if w, err = newSpool(c.path(name)); err != nil {
			return err
		}
		c.writers[name] = w
		if name != "costs" {
			c.plan.declare(w)
		}
	}
	return w.add(row)
}

// declare makes the columns of the settings. The type of a column can hold all values of the
// setting in the plan, so that it is the same in every table.
func (p *Plan) declare(w *spool) {
	w.declare("task", columnar.Int64)
	for _, s := range p.Task(0).Settings {
		w.declare(s.Name, kindOf(settingValue(s)))
	}
	each := func(prefix string, values map[string][]any) {
		for _, s := range newGrid(values).settings() {
			w.declare(prefix+s.Name, kindOf(settingValue(s)))
		}
	}
	each("", p.Grid)
	if p.Simulate != nil {
		each("simulate.", p.Simulate.Grid)
	}
}

func (c *collector) path(name string) string {
	if name == "" {
		return c.cfg.Out
	}
	extension := filepath.Ext(c.cfg.Out)
	return strings.TrimSuffix(c.cfg.Out, extension) + "." + name + extension
}
