package serve

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"time"

	"github.com/transdim/vti/internal/apply"
)

// home shows tables and runs.
func (s *server) home(w http.ResponseWriter, _ *http.Request) error {
	var list []*shownRun
	for _, j := range s.space.jobs() {
		if v, err := s.look(j.ID); err == nil {
			list = append(list, v)
		}
	}
	return s.show(w, http.StatusOK, "home", "vti", map[string]any{"Tables": s.space.tables(), "Runs": list, "Most": s.most >> 20})
}

// upload stores an uploaded table if it can be read.
func (s *server) upload(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, s.most)
	parts, err := r.MultipartReader()
	if err != nil {
		return refused(err)
	}
	for {
		part, err := parts.NextPart()
		tooLarge := new(http.MaxBytesError)
		switch {
		case errors.As(err, &tooLarge):
			return s.tooLarge()
		case err != nil:
			return refused(errors.New("no file was chosen"))
		case part.FormName() != "table" || part.FileName() == "":
			continue
		}
		name, err := s.space.keep(part)
		if errors.As(err, &tooLarge) {
			return s.tooLarge()
		} else if err != nil {
			return refused(err)
		}
		if _, err = s.contents(r.Context(), name); err != nil {
			return refused(errors.Join(err, s.space.root.Remove(path.Join(tablesDir, name))))
		}
		return s.to(w, r, "/tables/"+url.PathEscape(name))
	}
}

func (s *server) tooLarge() error {
	return problem{fmt.Errorf("the file is larger than %d MiB: start vti serve with a larger --max-upload", s.most>>20), http.StatusRequestEntityTooLarge}
}

// table shows the columns of a table, and the questions that can be asked about it.
func (s *server) table(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("table")
	c, err := s.contents(r.Context(), name)
	if err != nil {
		return missing(err)
	}
	const mostRows = 500
	return s.show(w, http.StatusOK, "table", name, map[string]any{
		"Table": name, "Contents": c, "Shown": c.Columns[:min(len(c.Columns), mostRows)], "Questions": s.questions,
	})
}

// question returns the command that a request names.
func (s *server) question(r *http.Request) (*question, error) {
	for _, q := range s.questions {
		if q.Name == r.URL.Query().Get("command") {
			return q, nil
		}
	}
	return nil, missing(errors.New("there is no such question"))
}

// form shows the form of a question. If the request names an earlier run, the form has the settings
// of that run.
func (s *server) form(w http.ResponseWriter, r *http.Request) error {
	q, err := s.question(r)
	if err != nil {
		return err
	}
	name := r.PathValue("table")
	c, err := s.contents(r.Context(), name)
	if err != nil {
		return missing(err)
	}
	var values map[string][]string
	if from := r.URL.Query().Get("from"); from != "" {
		j, err := s.space.read(from)
		if err != nil {
			return missing(err)
		}
		if values = j.Flags; values == nil {
			values = map[string][]string{}
		}
	}
	return s.show(w, http.StatusOK, "form", q.Asks, map[string]any{"Table": name, "Question": q, "Groups": q.form(apply.To(c.Columns, func(column described) string { return column.Name }), s.space.files(), values)})
}

// asked puts a run, which answers the question of a submitted form, in the queue.
func (s *server) asked(w http.ResponseWriter, r *http.Request) error {
	q, err := s.question(r)
	if err != nil {
		return err
	}
	name := r.PathValue("table")
	if err := s.space.hasTable(name); err != nil {
		return missing(err)
	}
	if err := r.ParseForm(); err != nil {
		return refused(err)
	}
	values, err := q.flags(r.PostForm, s.space.files())
	if err != nil {
		return refused(err)
	}
	j := &job{Command: q.Name, Table: name, Flags: values, Asked: time.Now()}
	if err := s.queue.add(j); errors.Is(err, errFull) {
		return problem{err, http.StatusServiceUnavailable}
	} else if err != nil {
		return err
	}
	return s.to(w, r, "/runs/"+j.ID)
}
