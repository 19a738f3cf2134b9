// Package calibration runs the studies of vti calibrate, and prints them. The applications define
// the draws.
package calibration
