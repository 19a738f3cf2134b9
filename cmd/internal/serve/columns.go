package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/table"
)

// readingTime is the longest time that reading a table may take.
const readingTime = time.Minute

// contents describes the columns of a table for a reader.
type contents struct {
	Rows    int
	Columns []described
}

// mostShown is the largest number of distinct values of a column that are listed.
const mostShown = 6

// described is a column: its kind, and a summary of its values or the reason why it cannot be used.
type described struct {
	Name, Kind, Values string
	Missing            int // number of rows without a value
}

// columnsCommand returns the hidden command that prints the columns of a table. The server runs it
// as another process instead of reading a table itself, so that a file that fills the memory does
// not end the server.
func columnsCommand(a *shell.App) *cobra.Command {
	return &cobra.Command{Use: "columns TABLE", Hidden: true, Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, args []string) error {
		data, err := table.ReadFile(args[0])
		if err != nil {
			return err
		}
		columns := apply.To(data.Names(), func(name string) described { return describe(data, name) })
		return shell.PrintJSON(a.Stdout, contents{data.Rows(), columns})
	}}
}

func describe(data *table.Table, name string) described {
	column, err := data.Lookup(name)
	if err != nil {
		return described{Name: name, Kind: "cannot be used", Values: err.Error()}
	}
	d := described{Name: name, Kind: "categories", Missing: column.Missing}
	if levels := column.Levels; column.Kind == table.Factor {
		d.Values = strings.Join(levels[:min(len(levels), mostShown)], ", ")
		if len(levels) > mostShown {
			d.Values += fmt.Sprintf(" and %d more", len(levels)-mostShown)
		}
		return d
	}
	numbers := slices.DeleteFunc(slices.Clone(column.Values), math.IsNaN)
	slices.Sort(numbers)
	if numbers, d.Kind = slices.Compact(numbers), "numbers"; len(numbers) > 0 {
		d.Values = fmt.Sprintf("%.6g to %.6g", numbers[0], numbers[len(numbers)-1])
	}
	if len(numbers) > 1 && len(numbers) <= mostShown {
		d.Kind = fmt.Sprintf("numbers with %d values: codes of categories?", len(numbers))
	}
	return d
}

// contents returns the columns of a table in the workspace. Tables never change, so that each is
// read only once.
func (s *server) contents(ctx context.Context, name string) (*contents, error) {
	if err := s.space.hasTable(name); err != nil {
		return nil, err
	}
	if known, ok := s.known.Load(name); ok {
		return known.(*contents), nil
	}
	ctx, cancel := context.WithTimeout(ctx, readingTime)
	defer cancel()
	printed, err := s.runCommand(ctx, "serve", "columns", path.Join(tablesDir, name))
	if err != nil {
		return nil, err
	}
	c := &contents{}
	if err := json.Unmarshal(printed, c); err != nil {
		return nil, err
	}
	s.known.Store(name, c)
	return c, nil
}

// runCommand runs a command of the program in the workspace, and returns its output. Its error is
// the last message of the command.
func (s *server) runCommand(ctx context.Context, args ...string) ([]byte, error) {
	cmd := s.program(ctx, args...)
	cmd.Dir = s.space.dir
	detach(cmd)
	printed, err := cmd.Output()
	if exit := new(exec.ExitError); ctx.Err() != nil {
		return nil, errors.New("this took too long, and was stopped")
	} else if errors.As(err, &exit) {
		return nil, errors.New(messageOf(string(exit.Stderr)))
	}
	return printed, err
}

// messageOf returns the error at the end of the messages of a process.
func messageOf(messages string) string {
	if at := strings.LastIndex("\n"+messages, "\nvti: "); at >= 0 {
		messages = messages[at+len("vti: "):]
	}
	return strings.TrimSpace(messages)
}
