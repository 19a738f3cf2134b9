// Package shard splits a computation among processes, on one machine or on many, that share only a
// directory.
//
// All processes run the same program, which makes the same decisions from the same numbers. Its
// expensive steps call [Map], which divides them into pieces that depend only on their input. A
// process stores the pieces that it computes in the directory, and reads the pieces of the other
// processes. Every process therefore ends with the same result, to the bit, as a process that
// computes everything.
//
// The processes need not run at the same time. Each process first computes its share of the pieces,
// and then missing pieces that no other process works on. It therefore ends even if no other
// process ever starts, or if another process is killed. While a process works on a piece it keeps
// appending to a file that claims the piece. Clocks of different machines are never compared. If a
// piece is computed twice its bytes are the same. The directory is also a checkpoint, from which a
// stopped computation continues.
//
//	own := &shard.Shard{Dir: "pieces", Index: 2, Count: 8}
//	squares, err := shard.Map(ctx, own, shard.Stage[int, float64]{
//		Name: "squares",
//		Key:  func(w io.Writer, i int) { fmt.Fprintln(w, i) },
//		Do:   func(_ context.Context, i int) (float64, error) { return float64(i * i), nil },
//	}, []int{0, 1, 2, 3})
package shard
