// Package study runs one command of vti many times: on many tables, with every combination of the
// values of some flags, and with several seeds. It runs on this machine, or as the elements of an
// array job of a cluster.
//
// A [Plan] is a TOML file. It defines a list of tasks, each with a name and a seed that depend only
// on the input of the task. A task works in a separate directory and ends by an atomic rename. It
// can therefore be killed at any time, run twice, or run on another machine. If a task runs twice,
// the first process that renames its directory wins. Both answers are the same to the byte.
//
//	plan, err := study.Read("eqtl.toml")
//	plan.Run(ctx, study.RunConfig{Launcher: launcher, Jobs: 4})
//	plan.Collect(ctx, study.CollectConfig{Out: "results.parquet"})
//
// # Directories
//
// The directory of a study is named after its plan: eqtl.toml keeps everything in eqtl.study.
//
//	tasks/3f9/3f9a1c0b2d4e5f60         a task that is done: task.json, cost.json, files to keep
//	tasks/3f9/3f9a1c0b2d4e5f60.failed  a task that failed, in the same form
//	work/HOST-PID-NUMBER/              where a process works; removed when it ends
//
// The first three of the sixteen hexadecimal digits of a name spread tasks over 4,096 directories.
// With a million tasks, each directory holds about 244.
//
// # Files
//
//	plan.go        the plan file
//	flags.go       values of flags, and their combinations
//	source.go      where tables come from: files, and vti simulate
//	columns.go     tables made of some columns of a large table
//	task.go        the list of tasks: names, seeds, settings
//	selection.go   which tasks a process takes: all, one, or a shard
//	store.go       directories of tasks: looking, publishing, reading
//	record.go      the answer of a task, and its cost
//	attempt.go     one task in a child process, tried again after a crash
//	process*.go    child processes that end with their parent, and their costs, with the largest
//	               memory as they report it
//	run.go         many tasks at once
//	estimate.go    pilot tasks, and the expected cost of the rest
//	status.go      numbers of tasks that are done, failed and missing
//	collect.go     tables of the answers of all tasks
//	survey.go      an overview: how tasks ended, their times, distributions of answers
//	flatten.go     answers in JSON as scalars and rows
//	spool.go       Parquet files of rows whose columns are not known at first
//	discoveries.go predictors over all responses, by their false discovery rate
//	eqtl.go        a simulated study of expression
//	submit.go      a study as the elements of an array job
//	slurm.go       array jobs of Slurm
//	kubernetes.go  Indexed Jobs of Kubernetes
package study
