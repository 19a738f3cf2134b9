// Package graphs repeats the simulation study of graph discovery in Davies et al. (2025, figure 3).
package graphs
