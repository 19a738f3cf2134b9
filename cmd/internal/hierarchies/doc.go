// Package hierarchies has the commands for hierarchical regressions.
package hierarchies
