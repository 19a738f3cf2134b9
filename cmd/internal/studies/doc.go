// Package studies has vti study: one command on many tables, here or on a cluster.
package studies
