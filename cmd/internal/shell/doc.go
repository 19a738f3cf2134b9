// Package shell runs command lines: exit statuses, JSON, signals and memory, and the life of a run
// from its record to its answer.
package shell
