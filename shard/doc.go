// Package shard splits a computation among processes, on one machine or on many, that share only a
// directory.
//
// All processes run the same program, which makes the same decisions from the same numbers. Its
// expensive steps go through [Map]: pieces that depend only on their input. A process stores its
// share of the pieces in the directory, and reads the pieces of the others. So each ends with the
// result of one process that computed everything, to the bit.
//
// The processes need not run at the same time. A process computes the pieces of its share first and
// then missing pieces that no process works on: it ends even if no other ever starts, or one is
// killed. A process claims a piece by a file that grows. Clocks of different machines are never
// compared, and a piece computed twice has the same bytes. A directory of pieces is also a
// checkpoint: a stopped computation continues from it.
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
//	claim.go  claims of pieces by processes
//	keys.go   keys of numbers
package shard
