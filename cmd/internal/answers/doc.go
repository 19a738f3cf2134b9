// Package answers has the commands on finished runs of any application, such as vti show.
package answers
