// Package application describes the applications of the engine, such as variable selection, to the
// command line. Each is a value of [Application]. Code that works on runs of every application
// finds the application in a [Registry], and names none of them.
package application
