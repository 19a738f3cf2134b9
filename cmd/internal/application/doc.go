// Package application describes an application of the engine to the command line. Each is one value
// of [Application], and all code that works on the runs of any of them looks it up in a [Registry];
// nothing else names one.
package application
