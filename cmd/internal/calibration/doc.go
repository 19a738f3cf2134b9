// Package calibration runs the studies of vti calibrate, and prints them. The applications say what
// is drawn.
package calibration
