// Package compare compares the answers of two runs on the same table, for models of any kind. Each
// application embeds [Comparison] in a type of its own.
package compare
