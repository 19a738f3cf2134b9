// Package calibration runs the studies of vti calibrate, and prints them. Each application defines
// how the problems of its study are drawn.
package calibration
