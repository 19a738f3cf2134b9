// Package shard splits a computation among processes, on one machine or on many, that share a
// directory and nothing else.
//
// The computation is a program that is the same everywhere and takes the same decisions from the
// same numbers. What is expensive in it goes through [Map]: pieces that depend on their input
// alone. A process computes the pieces that are its own, stores each in the directory, and reads
// those of the others; the rest of the program every process goes through by itself. So each of
// them ends with the result of one process that computed everything, to the bit.
//
// Nothing has to run at the same time as anything else. A process does its own pieces first and
// then those that are missing and that no process works on: if no other ever starts, or one is
// killed, it ends all the same. Who works on a piece says so by a file that grows; nothing is
// decided by clocks of different machines, and a piece that two have computed has the same bytes. A
// directory of pieces is a checkpoint too: what was stopped continues where it was.
//
//	own := &shard.Shard{Dir: "pieces", Index: 2, Count: 8}
//	squares, err := shard.Map(ctx, own, shard.Stage[int, float64]{
//		Name: "squares",
//		Key:  func(w io.Writer, i int) { fmt.Fprintln(w, i) },
//		Do:   func(_ context.Context, i int) (float64, error) { return float64(i * i), nil },
//	}, []int{0, 1, 2, 3})
//
// # Files
//
//	shard.go  shards, and Map
//	piece.go  pieces in files
//	claim.go  who works on a piece
//	keys.go   keys of numbers
package shard
