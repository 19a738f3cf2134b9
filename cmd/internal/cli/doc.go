// Package cli holds the flags that several commands have in common.
package cli
