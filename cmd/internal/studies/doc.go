// Package studies has vti study: one command is run on many tables, on this machine or a cluster.
package studies
