// Package shell runs command lines. It has their exit statuses, JSON, signals and memory, and the
// stages of a run from its record to its answer.
package shell
