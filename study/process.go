package study

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Launcher starts vti.
type Launcher struct {
	// Program is the path of the program. Env is added to the environment of its processes.
	Program string
	Env     []string
	// Seeded reports whether a command takes --seed.
	Seeded func(command string) bool
}

// answered are the exit statuses with which vti has an answer: 0 if the answer is trusted or
// doubtful, 3 if it must not be used.
var answered = []int{0, 3}

// longestError is the length in bytes of the part of standard error that is kept.
const longestError = 2000

// ending describes how a process ended.
type ending struct {
	status int            // -1 after a signal
	signal syscall.Signal // 0 if none
	stdout []byte
	stderr string // the first and the last part of standard error
	cost   Cost
}

// fault is an error of the machine, such as a full disk, and not a failure of a task.
type fault struct{ error }

func (f fault) Unwrap() error { return f.error }

// launch runs a process to its end. When this process ends, even by a signal, the child process
// ends too. A fault means that the child could not be started. Any other error is the error of ctx.
func (l Launcher) launch(ctx context.Context, cores int, args ...string) (ending, error) {
	// Linux kills the child when the thread that started it ends: keep the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, l.Program, args...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", cores))
	cmd.Env = append(cmd.Env, l.Env...)
	cmd.SysProcAttr = endsWithParent()
	var stdout bytes.Buffer
	var stderr tail
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	reported, report, err := os.Pipe()
	if err != nil {
		return ending{}, fault{err}
	}
	defer reported.Close()
	cmd.ExtraFiles = []*os.File{report} // descriptor 3
	cmd.Env = append(cmd.Env, peakVariable+"=3")
	started := time.Now()
	err = cmd.Run()
	_ = report.Close() // close the copy that this process has of the end of the pipe
	if ctx.Err() != nil {
		return ending{}, ctx.Err()
	}
	if exited := new(exec.ExitError); err != nil && !errors.As(err, &exited) {
		return ending{}, fault{err}
	}
	e := ending{status: cmd.ProcessState.ExitCode(), stdout: stdout.Bytes(), stderr: strings.TrimSpace(string(stderr.kept))}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.signal = status.Signal()
	}
	e.cost = Cost{
		Seconds:    time.Since(started).Seconds(),
		CPUSeconds: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(),
		PeakBytes:  peakBytes(cmd.ProcessState),
		Cores:      cores,
	}
	if peak := reportedPeak(reported); peak > 0 {
		e.cost.PeakBytes = peak
	}
	e.cost.Machine, _ = os.Hostname() // for information only
	return e, nil
}

// killed reports whether the process was ended from outside: by a user, by a scheduler, or by the
// system for lack of memory. The same task may succeed in another attempt.
func (e ending) killed() bool {
	return slices.Contains([]syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}, e.signal)
}

// crashMarks are the beginnings of lines that a Go program prints when it crashes, or that vti
// prints at an internal defect.
var crashMarks = []string{"panic: ", "fatal error: ", "SIGABRT: ", "vti: a defect of vti"}

// crashed reports whether the process crashed, as opposed to refusing its input or having no
// answer.
func (e ending) crashed() bool {
	if e.signal != 0 {
		return !e.killed()
	}
	return !slices.Contains(answered, e.status) && slices.ContainsFunc(strings.Split(e.stderr, "\n"), func(line string) bool {
		return slices.ContainsFunc(crashMarks, func(mark string) bool { return strings.HasPrefix(line, mark) })
	})
}

func (e ending) text() string {
	said := strings.TrimPrefix(e.stderr, "vti: ")
	if e.signal != 0 {
		return strings.TrimSpace(fmt.Sprintf("ended by a signal (%v); %s", e.signal, said))
	}
	return cmp.Or(said, fmt.Sprintf("exit status %d", e.status))
}

// tail keeps the first bytes written to it, which state the kind of a crash, and the last bytes.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if extra := len(t.kept) - longestError; extra > 0 {
		half := longestError / 2
		t.kept = append(t.kept[:half], t.kept[half+extra:]...)
	}
	return len(p), nil
}

// machineFaults are the errors of the machine that a child process can report only in words.
var machineFaults = []syscall.Errno{syscall.ENOSPC, syscall.EIO, syscall.EROFS, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EDQUOT}

// isFault reports whether an error is a fault of the machine, judged by its type or by its text.
func isFault(err error) bool {
	return errors.As(err, new(fault)) || slices.ContainsFunc(machineFaults, func(f syscall.Errno) bool { return strings.Contains(err.Error(), f.Error()) })
}

// peakVariable holds the file descriptor to which a task reports its peak memory.
const peakVariable = "VTI_PEAK_FD"

// ReportPeak makes a task report its largest resident memory at its end. The count that the system
// keeps for a child process starts at the memory of its parent, which the child shares until it
// runs another program. Only the child can measure its peak after this moment.
func ReportPeak() {
	descriptor, err := strconv.Atoi(os.Getenv(peakVariable))
	if err != nil || descriptor < 3 {
		return
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return // the file does not exist on this system
	}
	for line := range strings.Lines(string(status)) {
		if peak, found := strings.CutPrefix(line, "VmHWM:"); found {
			out := os.NewFile(uintptr(descriptor), "peak")
			_, _ = io.WriteString(out, strings.TrimSuffix(strings.TrimSpace(peak), " kB"))
			_ = out.Close() // after an error the parent uses the count of the system
		}
	}
}

// reportedPeak reads the output of ReportPeak and returns bytes, or 0 if there is no output.
func reportedPeak(in io.Reader) float64 {
	text, err := io.ReadAll(in)
	if err != nil {
		return 0
	}
	kib, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return 0
	}
	return kib * 1024
}
