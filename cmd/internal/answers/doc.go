// Package answers has the commands on finished runs, whatever application they are of.
package answers
