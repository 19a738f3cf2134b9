package serve

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"os/exec"
	"sync"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/document"
)

//go:embed pages
var files embed.FS

var pages = template.Must(template.ParseFS(files, "pages/*.html"))

// server is the HTTP server of a workspace.
type server struct {
	*guard
	questions []*question
	space     *workspace
	queue     *queue
	program   func(ctx context.Context, args ...string) *exec.Cmd
	most      int64    // largest size of an upload in bytes
	known     sync.Map // the contents of tables, by their names
}

// page is the data of a template: Data for the page itself, and the fields of the frame that all
// pages have.
type page struct {
	Base, Version, Title string
	Data                 any
}

// handler returns the handler of all requests.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /{$}":                     s.home,
		"POST /tables":                 s.upload,
		"GET /tables/{table}":          s.table,
		"GET /tables/{table}/ask":      s.form,
		"POST /tables/{table}/ask":     s.asked,
		"GET /runs/{run}":              s.run,
		"GET /runs/{run}/progress":     s.progress,
		"POST /runs/{run}/{action}":    s.change,
		"GET /runs/{run}/files/{file}": s.download,
		"POST /compare":                s.compare,
		"GET /compared/{name}":         s.compared,
		"GET /style.css":               s.style,
		"GET /script.js":               s.script,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && r.Pattern != "POST /tables" {
				r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
			}
			if err := handle(w, r); err != nil {
				s.fail(w, err)
			}
		})
	}
	return s.protect(mux)
}

// problem is an error that is shown as a page, with the HTTP status of the response.
type problem struct {
	error
	status int
}

// missing marks an error as the use of a name that does not exist, with status 404.
func missing(err error) error { return problem{err, http.StatusNotFound} }

// refused marks an error of the content of a request, with status 422.
func refused(err error) error { return problem{err, http.StatusUnprocessableEntity} }

func (s *server) fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	var known problem
	if errors.As(err, &known) {
		status = known.status
	}
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		status = http.StatusRequestEntityTooLarge
	}
	_ = s.show(w, status, "error", "That did not work", err.Error())
}

// show writes a page.
func (s *server) show(w http.ResponseWriter, status int, name, title string, data any) error {
	var text bytes.Buffer
	if err := pages.ExecuteTemplate(&text, name, page{s.base, vti.Version, title, data}); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // an error means that the connection is closed
	return nil
}

// to redirects to another page.
func (s *server) to(w http.ResponseWriter, r *http.Request, path string) error {
	http.Redirect(w, r, s.base+path, http.StatusSeeOther)
	return nil
}

func (s *server) style(w http.ResponseWriter, _ *http.Request) error {
	pageStyle, err := files.ReadFile("pages/style.css")
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = w.Write(append([]byte(document.Style()), pageStyle...))
	return err
}

func (s *server) script(w http.ResponseWriter, r *http.Request) error {
	http.ServeFileFS(w, r, files, "pages/script.js")
	return nil
}
