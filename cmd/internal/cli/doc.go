// Package cli holds what the flags of several commands have in common: values that flags take,
// groups of flags in the help, completion, and the rules of --resume.
package cli
