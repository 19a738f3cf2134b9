package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/rundir"
)

// Folders of a workspace, and files that the server adds to the directory of a run.
const (
	tablesDir, runsDir, comparedDir = "tables", "runs", "compared"
	askedFile, logFile              = "serve.json", "serve.log"
)

// workspace is the folder of a server. A name from a request cannot open a file outside of it.
type workspace struct {
	dir    string
	root   *os.Root
	naming sync.Mutex // locked while an upload gets its name
}

// openWorkspace creates the folder and its subfolders, and checks that they are writable.
func openWorkspace(dir string) (w *workspace, release func(), err error) {
	if err = os.MkdirAll(dir, 0o755); err == nil {
		w = &workspace{dir: dir}
		w.root, err = os.OpenRoot(dir)
	}
	for _, name := range []string{tablesDir, runsDir, comparedDir} {
		if err == nil {
			err = w.root.MkdirAll(name, 0o700) // only for the user, since tables may be private
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be a workspace: %w; name a folder that you can write", dir, err)
	}
	release, err = rundir.LockFile(filepath.Join(dir, ".vti-serve"))
	return w, release, err
}

// local checks that a name from a request is the name of a file or folder without a path.
func local(name string) error {
	if name == "" || len(name) > 200 || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/\\:\x00") || !filepath.IsLocal(name) {
		return fmt.Errorf("there is nothing called %.100q", name)
	}
	return nil
}

// tableExtensions are the extensions of the names of tables.
var tableExtensions = []string{".csv", ".tsv", ".txt", ".parquet"}

// tables returns the names of the tables.
func (w *workspace) tables() (names []string) {
	entries, _ := fs.ReadDir(w.root.FS(), tablesDir)
	for _, entry := range entries {
		if entry.Type().IsRegular() && local(entry.Name()) == nil && slices.Contains(tableExtensions, strings.ToLower(path.Ext(entry.Name()))) {
			names = append(names, entry.Name())
		}
	}
	return names
}

// files returns the paths of the tables, as values of flags.
func (w *workspace) files() []string {
	return apply.To(w.tables(), func(name string) string { return path.Join(tablesDir, name) })
}

// hasTable returns an error unless the workspace has a table called name. Only regular files are
// tables.
func (w *workspace) hasTable(name string) error {
	if !slices.Contains(w.tables(), name) {
		return fmt.Errorf("there is no table called %.100q", name)
	}
	return nil
}

// keep stores an uploaded table, and returns its name. If a table with the same name and content
// exists, that table is used. A table with the same name and other content is not replaced, since
// runs refer to it; the upload gets another name.
func (w *workspace) keep(part *multipart.Part) (name string, err error) {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '-'
		}
		return r
	}, strings.TrimLeft(filepath.Base(part.FileName()), "."))
	extension := path.Ext(name)
	if len(name) > 100 || local(name) != nil || !slices.Contains(tableExtensions, strings.ToLower(extension)) {
		return "", fmt.Errorf("%.100q is no table: choose a file that ends in .csv, .tsv, .txt or .parquet", part.FileName())
	}
	draft := path.Join(tablesDir, "."+rand.Text())
	defer func() { _ = w.root.Remove(draft) }() // fails once the file has its final name
	content, err := w.receive(part, draft)
	if err != nil {
		return "", err
	}
	w.naming.Lock()
	defer w.naming.Unlock()
	stem := strings.TrimSuffix(name, extension)
	for i := 2; ; i++ {
		before, err := w.sum(path.Join(tablesDir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return name, w.root.Rename(draft, path.Join(tablesDir, name))
		case err != nil:
			return "", err
		case before == content:
			return name, nil
		}
		name = fmt.Sprintf("%s-%d%s", stem, i, extension)
	}
}

// receive copies the content of an upload to a new file, and returns its checksum.
func (w *workspace) receive(from io.Reader, name string) (sum [sha256.Size]byte, err error) {
	file, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return sum, err
	}
	hash := sha256.New()
	size, err := io.Copy(io.MultiWriter(file, hash), from)
	if err = errors.Join(err, file.Close()); err == nil && size == 0 {
		err = errors.New("the file is empty")
	}
	return [sha256.Size]byte(hash.Sum(nil)), err
}

// sum returns the checksum of a file.
func (w *workspace) sum(name string) (sum [sha256.Size]byte, err error) {
	file, err := w.root.Open(name)
	if err != nil {
		return sum, err
	}
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return [sha256.Size]byte(hash.Sum(nil)), err
}

// job is the content of serve.json: the command, the table and the flags of a run, with its state.
type job struct {
	ID      string              `json:"-"`
	Command string              `json:"command"`
	Table   string              `json:"table"`
	Flags   map[string][]string `json:"flags"`
	Asked   time.Time           `json:"asked"`
	State   state               `json:"state"`
	Exit    int                 `json:"exit"`
}

// state is the state of a run, such as waiting or running.
type state string

const (
	waiting state = "waiting"
	running state = "running"
	stopped state = "stopped"
	failed  state = "failed"
	done    state = "done"
)

// write stores a job in the folder of its run, which is created for a new run.
func (w *workspace) write(j *job) error {
	if j.ID == "" {
		j.ID = strings.ReplaceAll(j.Command, " ", "-") + j.Asked.Format("-20060102-150405-") + strings.ToLower(rand.Text()[:4])
		if err := w.root.Mkdir(path.Join(runsDir, j.ID), 0o755); err != nil {
			return err
		}
	}
	return rundir.WriteJSON(filepath.Join(w.dir, runsDir, j.ID, askedFile), j)
}

// read reads the job of a run. If the run was started on a command line, the job is made from the
// record of the run.
func (w *workspace) read(id string) (*job, error) {
	none := fmt.Errorf("there is no run called %.100q", id)
	if err := local(id); err != nil {
		return nil, none
	}
	if info, err := w.root.Lstat(path.Join(runsDir, id)); err != nil || !info.IsDir() {
		return nil, none
	}
	j := &job{ID: id}
	content, err := w.root.ReadFile(path.Join(runsDir, id, askedFile))
	if err == nil {
		return j, json.Unmarshal(content, j)
	}
	h, err := w.header(id)
	if err != nil {
		return nil, none
	}
	j.Command, j.Table, j.Flags, j.Asked, j.State = h.Command, filepath.Base(h.Data), h.Flags, h.Started, running // queue.look corrects the state
	if h.Finished != nil {
		j.State = done
	}
	return j, nil
}

// jobs returns all runs, the newest first.
func (w *workspace) jobs() (all []*job) {
	entries, _ := fs.ReadDir(w.root.FS(), runsDir)
	for _, entry := range entries {
		if j, err := w.read(entry.Name()); err == nil {
			all = append(all, j)
		}
	}
	slices.SortStableFunc(all, func(x, y *job) int { return y.Asked.Compare(x.Asked) })
	return all
}
