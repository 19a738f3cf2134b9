// Package application describes the applications of vti, such as variable selection, to the command
// line. Each application is a value of type [Application]. Code that works on runs of every
// application finds the application in a [Registry], and names none of them.
package application
