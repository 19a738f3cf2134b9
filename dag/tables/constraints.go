package tables

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
)

// Constraints holds prior knowledge about the graph, by the names of nodes.
type Constraints struct {
	// Forbid lists edges that the graph must not have, and Require edges that it must have, as
	// "a->b".
	Forbid  []string `json:"forbid,omitempty"`
	Require []string `json:"require,omitempty"`
	// Tiers divides nodes into groups such that no edge leads from a later to an earlier group.
	// Nodes in no group are not restricted.
	Tiers [][]string `json:"tiers,omitempty"`
	// Exogenous names nodes that have no parents, such as indicators of interventions whose targets
	// are not known.
	Exogenous []string `json:"exogenous,omitempty"`
	// MaxParents is the largest number of parents of a node; 0 for no limit.
	MaxParents int `json:"max_parents,omitempty"`
}

// String describes the constraints: required and forbidden edges, tiers, exogenous nodes, and the
// largest number of parents. Without constraints it returns "".
func (c Constraints) String() string {
	list := func(items []string) string { return english.List(items, 6) }
	var parts []string
	if len(c.Require) > 0 {
		parts = append(parts, list(c.Require))
	}
	if len(c.Forbid) > 0 {
		parts = append(parts, "no "+list(c.Forbid))
	}
	if len(c.Tiers) > 0 {
		tiers := apply.To(c.Tiers, func(tier []string) string { return "(" + list(tier) + ")" })
		parts = append(parts, "no edge from a later to an earlier tier of "+strings.Join(tiers, ", "))
	}
	if len(c.Exogenous) > 0 {
		parts = append(parts, "no causes of "+list(c.Exogenous))
	}
	if c.MaxParents > 0 {
		parts = append(parts, fmt.Sprintf("at most %s per node", english.Count(c.MaxParents, "parent")))
	}
	return strings.Join(parts, "; ")
}

// ReadTiers reads a file with one tier in each line. The nodes of a tier are separated by commas.
// Empty lines and lines that begin with # are skipped.
func ReadTiers(path string) ([][]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(content), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "#") })
	tiers := ParseTiers(lines)
	if len(tiers) == 0 {
		return nil, fmt.Errorf("%s: got an empty file, want a line of node names for each tier", path)
	}
	return tiers, nil
}

// ParseTiers reads tiers, one in each line, with nodes separated by commas. Blank lines are
// skipped.
func ParseTiers(lines []string) (tiers [][]string) {
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			tiers = append(tiers, apply.To(strings.Split(line, ","), strings.TrimSpace))
		}
	}
	return tiers
}

// Edge reads a pair of nodes written as "a->b".
func (d *Data) Edge(text string) (e dgraph.Edge, err error) {
	// A name may contain an arrow, so that the text is cut at each arrow in turn.
	var last error
	for at := 0; ; {
		next := strings.Index(text[at:], "->")
		if next < 0 {
			break
		}
		at += next + len("->")
		if e.From, err = d.Node(strings.TrimSpace(text[:at-len("->")])); err == nil {
			if e.To, err = d.Node(strings.TrimSpace(text[at:])); err == nil {
				if e.From == e.To {
					return e, fmt.Errorf("%q: an edge from a node to itself", text)
				}
				return e, nil
			}
		}
		last = err
	}
	if last == nil {
		last = errors.New("want two nodes as a->b")
	}
	return e, fmt.Errorf("edge %q: %w", text, last)
}

// SplitEdges splits each text that is not an edge at its commas. A text that is an edge stays
// whole, because names may contain commas.
func (d *Data) SplitEdges(texts []string) (list []string) {
	for _, text := range texts {
		if _, err := d.Edge(text); err == nil || strings.Count(text, "->") < 2 {
			list = append(list, text)
			continue
		}
		list = append(list, strings.Split(text, ",")...)
	}
	return list
}

// NewStructure returns the set of graphs over the nodes of the data that meet the constraints. If
// no acyclic graph meets the constraints, the error states the reason.
func (d *Data) NewStructure(c Constraints) (dgraph.Structure, error) {
	s := dgraph.Structure{Nodes: d.Nodes(), MaxParents: -1}
	if s.Nodes > dgraph.MaxNodes {
		return s, fmt.Errorf("%s has %d nodes: graphs over up to %d can be found; exclude columns", d.Path, s.Nodes, dgraph.MaxNodes)
	}
	s = dgraph.FreeStructure(s.Nodes)
	if c.MaxParents < 0 {
		return s, fmt.Errorf("max-parents: got %d, want at least 1", c.MaxParents)
	}
	if c.MaxParents > 0 {
		s.MaxParents = c.MaxParents
	}
	reason := map[dgraph.Edge]string{}
	for _, text := range d.SplitEdges(c.Forbid) {
		e, err := d.Edge(text)
		if err != nil {
			return s, fmt.Errorf("forbid: %w", err)
		}
		s.Allowed[e.To] = s.Allowed[e.To].Without(e.From)
		reason[e] = "forbidden"
	}
	if err := d.applyTiers(&s, c.Tiers, reason); err != nil {
		return s, err
	}
	for _, name := range c.Exogenous {
		j, err := d.Node(name)
		if err != nil {
			return s, fmt.Errorf("exogenous: %w", err)
		}
		for i := range s.Allowed[j].Nodes() {
			reason[dgraph.Edge{From: i, To: j}] = fmt.Sprintf("against %q being exogenous", name)
		}
		s.Allowed[j] = dgraph.Set{}
	}
	required := dgraph.NewGraph(s.Nodes)
	for _, text := range d.SplitEdges(c.Require) {
		e, err := d.Edge(text)
		if err != nil {
			return s, fmt.Errorf("require: %w", err)
		}
		if why, bad := reason[e]; bad {
			return s, fmt.Errorf("no graph is left: %s is required and %s", text, why)
		}
		s.Required[e.To] = s.Required[e.To].With(e.From)
		required.Set(e.From, e.To, true)
	}
	if cycle := required.Cycle(); cycle != nil {
		names := apply.To(append(cycle, cycle[0]), func(j int) string { return d.Names[j] })
		return s, fmt.Errorf("no graph is left: the required edges make a cycle, %s", strings.Join(names, " -> "))
	}
	for j, set := range s.Required {
		if s.MaxParents >= 0 && set.Len() > s.MaxParents {
			return s, fmt.Errorf("no graph is left: %q has %s and may have %d", d.Names[j], english.Count(set.Len(), "required parent"), s.MaxParents)
		}
	}
	return s, s.Validate()
}

// applyTiers forbids edges from later to earlier tiers. A tier may name a constant column, which is
// not a node.
func (d *Data) applyTiers(s *dgraph.Structure, tiers [][]string, reason map[dgraph.Edge]string) error {
	tierOf := slices.Repeat([]int{-1}, s.Nodes)
	for k, tier := range tiers {
		for _, name := range tier {
			if _, constant := d.constant(name); constant {
				continue
			}
			j, err := d.Node(name)
			if err != nil {
				return fmt.Errorf("tiers: tier %d: %w", k+1, err)
			}
			if tierOf[j] >= 0 {
				return fmt.Errorf("tiers: node %q is in tier %d and again in tier %d", name, tierOf[j]+1, k+1)
			}
			tierOf[j] = k
		}
	}
	for _, e := range dgraph.OrderedPairs(s.Nodes) {
		if tierOf[e.To] >= 0 && tierOf[e.From] > tierOf[e.To] {
			s.Allowed[e.To] = s.Allowed[e.To].Without(e.From)
			reason[e] = fmt.Sprintf("against the tiers: %q is in tier %d, %q in tier %d", d.Names[e.From], tierOf[e.From]+1, d.Names[e.To], tierOf[e.To]+1)
		}
	}
	return nil
}
