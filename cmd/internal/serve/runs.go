package serve

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/report"
)

// shownRun is a run as pages show it.
type shownRun struct {
	*job
	Asks, Line, Message, Meaning string
	Verdict                      string // the verdict on the answer of a finished run
	Before, Done, Total          int
	Goes                         bool // whether the run waits or computes
	Resumable, Known             bool // Known says that the command is known and that the workspace has the table
}

// counted matches progress in numbers, such as 3/10, in a message of a run.
var counted = regexp.MustCompile(`\b(\d+)/(\d+)\b`)

// look returns a run with its present state and progress.
func (s *server) look(id string) (*shownRun, error) {
	j, before, err := s.queue.look(id)
	if err != nil {
		return nil, missing(err)
	}
	v := &shownRun{job: j, Asks: "vti " + j.Command, Before: before, Goes: j.State == waiting || j.State == running}
	if at := slices.IndexFunc(s.questions, func(q *question) bool { return q.Name == j.Command }); at >= 0 {
		v.Asks, v.Known = s.questions[at].Asks, s.space.hasTable(j.Table) == nil
		begun := rundir.Exists(path.Join(s.space.dir, runsDir, id, rundir.RecordFile))
		v.Resumable = begun && s.questions[at].Resumable || !begun && v.Known
	}
	messages, _ := s.space.root.ReadFile(path.Join(runsDir, id, logFile))
	lines := strings.Split(strings.TrimSpace(string(messages)), "\n")
	v.Line = lines[len(lines)-1]
	if match := counted.FindStringSubmatch(v.Line); match != nil {
		v.Done, _ = strconv.Atoi(match[1])
		v.Total, _ = strconv.Atoi(match[2])
	}
	switch j.State {
	case done:
		v.Verdict, _ = application.VerdictOf(path.Join(s.space.dir, runsDir, id)) // without a verdict the list of runs shows the state
	case failed:
		v.Message, v.Meaning = messageOf(string(messages)), meaning(j.Exit)
	}
	return v, nil
}

// meaning returns the meaning of the exit status of a failed run.
func meaning(status int) string {
	switch status {
	case shell.StatusUsage:
		return "The question and the table do not fit (exit status 2). Nothing was computed."
	case shell.StatusFailure:
		return "The computation failed (exit status 1)."
	case -1:
		return "The system ended the process, perhaps since memory ran out."
	}
	return fmt.Sprintf("The process ended with exit status %d.", status)
}

// run shows the report of a finished run, or the progress of an unfinished one.
func (s *server) run(w http.ResponseWriter, r *http.Request) error {
	v, err := s.look(r.PathValue("run"))
	if err != nil {
		return err
	}
	if v.State != done {
		return s.show(w, http.StatusOK, "run", v.Asks, v)
	}
	name := path.Join(runsDir, v.ID, report.File)
	if _, err := s.space.root.Stat(name); errors.Is(err, fs.ErrNotExist) {
		if _, err := s.runCommand(r.Context(), "report", path.Join(runsDir, v.ID)); err != nil {
			return err
		}
	}
	return s.framed(w, name, "bar", v)
}

// framed shows a page that a run has written, with a bar above it.
func (s *server) framed(w http.ResponseWriter, name, bar string, data any) error {
	text, err := s.space.root.ReadFile(name)
	if err != nil {
		return missing(errors.New("there is no such page"))
	}
	var above bytes.Buffer
	if err := pages.ExecuteTemplate(&above, bar, page{Base: s.base, Data: data}); err != nil {
		return err
	}
	text = bytes.Replace(text, []byte("</head>"), []byte(`<link rel="stylesheet" href="`+s.base+`/style.css"></head>`), 1)
	text = bytes.Replace(text, []byte("<body>"), append([]byte("<body>"), above.Bytes()...), 1)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text)
	return nil
}

// progress sends the state of a run to the script of its page.
func (s *server) progress(w http.ResponseWriter, r *http.Request) error {
	v, err := s.look(r.PathValue("run"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	return shell.PrintJSON(w, map[string]any{"state": v.State, "line": v.Line, "done": v.Done, "total": v.Total, "before": v.Before})
}

// change stops or removes a run, or puts a stopped or failed run in the queue again.
func (s *server) change(w http.ResponseWriter, r *http.Request) error {
	v, err := s.look(r.PathValue("run"))
	if err != nil {
		return err
	}
	action, ended := r.PathValue("action"), v.State == stopped || v.State == failed
	switch {
	case action == "stop" && v.Goes:
		err = s.queue.stop(v.ID)
	case action == "resume" && ended && v.Resumable:
		err = s.queue.add(v.job)
	case action == "remove" && ended:
		if err = s.space.root.RemoveAll(path.Join(runsDir, v.ID)); err == nil {
			return s.to(w, r, "/")
		}
	default:
		return refused(fmt.Errorf("this run is %s: it cannot be asked to %.20s", v.State, action))
	}
	if err != nil {
		return err
	}
	return s.to(w, r, "/runs/"+v.ID)
}

// download sends the report, the answer as JSON, or the whole directory of a run.
func (s *server) download(w http.ResponseWriter, r *http.Request) error {
	id, file := r.PathValue("run"), r.PathValue("file")
	if _, err := s.space.read(id); err != nil || !slices.Contains([]string{"run.zip", report.File, rundir.ResultFile}, file) {
		return missing(errors.New("there is no such file"))
	}
	w.Header().Set("Content-Disposition", `attachment; filename*=UTF-8''`+url.PathEscape(id+"-"+file))
	if file != "run.zip" {
		http.ServeFileFS(w, r, s.space.root.FS(), path.Join(runsDir, id, file))
		return nil
	}
	files, err := fs.Sub(s.space.root.FS(), path.Join(runsDir, id))
	if err != nil {
		return err
	}
	z := zip.NewWriter(w)
	if err := errors.Join(z.AddFS(files), z.Close()); err != nil {
		panic(http.ErrAbortHandler) // so that the archive does not look complete
	}
	return nil
}

// compare writes the page that shows two or more runs side by side, as vti report does.
func (s *server) compare(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return refused(err)
	}
	chosen := r.PostForm["run"]
	if len(chosen) < 2 || len(chosen) > 4 {
		return refused(errors.New("choose two runs to compare, or up to four"))
	}
	args := []string{"report"}
	for _, id := range chosen {
		if j, _, err := s.queue.look(id); err != nil {
			return missing(err)
		} else if j.State != done {
			return refused(fmt.Errorf("%s has no answer yet", id))
		}
		args = append(args, path.Join(runsDir, id))
	}
	slices.Sort(chosen)
	name := strings.Join(chosen, "+")
	if _, err := s.runCommand(r.Context(), append(args, "--out="+path.Join(comparedDir, name+".html"))...); err != nil {
		return refused(err)
	}
	return s.to(w, r, "/compared/"+url.PathEscape(name))
}

func (s *server) compared(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if err := local(name); err != nil {
		return missing(err)
	}
	return s.framed(w, path.Join(comparedDir, name+".html"), "top", nil)
}
