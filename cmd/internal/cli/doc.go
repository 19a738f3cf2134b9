// Package cli has the flags that several commands share, and the form of the help.
package cli
