package serve

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/cli"
	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/report"
)

// playVariable is an environment variable with which the test binary behaves as the command vti
// toy.
const playVariable = "VTI_TEST_SERVE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(playVariable) != "" {
		play(os.Args[1:])
	}
	os.Exit(m.Run())
}

// play is the command vti toy. It computes until a file called go exists, or until it is
// interrupted.
func play(args []string) {
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if args[0] == "serve" {
		shell.Main(func(a *shell.App) *cobra.Command {
			root := &cobra.Command{Use: "vti", SilenceErrors: true, SilenceUsage: true}
			serve := &cobra.Command{Use: "serve"}
			serve.AddCommand(columnsCommand(a))
			root.AddCommand(serve)
			return root
		})
	}
	if slices.Contains(args, "--words=bad") {
		fmt.Fprintln(os.Stderr, "vti: --words: expected good words <b>, found bad ones")
		os.Exit(2)
	}
	dir, ok := "", false
	for _, word := range args {
		if dir, ok = strings.CutPrefix(word, "--out="); ok {
			break
		}
		if dir, ok = strings.CutPrefix(word, "--resume="); ok {
			break
		}
	}
	line, _ := json.Marshal(args)
	must(os.WriteFile(filepath.Join(dir, "args.json"), line, 0o600))
	must(os.WriteFile(filepath.Join(dir, "run.json"), []byte(`{"command": "toy", "data": "x.csv", "fingerprint": "ab"}`), 0o600))
	for {
		fmt.Fprintln(os.Stderr, "step 3/10")
		if _, err := os.Stat("go"); err == nil {
			must(os.WriteFile(filepath.Join(dir, report.File), []byte("<html><head></head><body>The answer.</body></html>"), 0o600))
			must(os.WriteFile(filepath.Join(dir, "result.json"), []byte(`{"answer": "yes", "certificate": {"verdict": "doubtful"}}`), 0o600))
			os.Exit(0)
		}
		select {
		case <-interrupted.Done():
			os.Exit(shell.StatusInterrupted)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// toyCommands describes the command vti toy, with flags of all kinds.
func toyCommands() *cli.Description {
	root := &cobra.Command{Use: "vti"}
	root.AddGroup(&cobra.Group{ID: "answer", Title: "Answer:"})
	toy := &cobra.Command{Use: "toy TABLE", Short: "Play", GroupID: "answer", Run: func(*cobra.Command, []string) {}}
	f := toy.Flags()
	f.String("column", "", "a `column`")
	f.StringSlice("columns", nil, "some")
	f.StringArray("lines", nil, "may be repeated")
	f.String("prior", "few:2", "of something")
	f.String("mode", "fast", "fast or slow")
	f.String("words", "", "any")
	f.Bool("check", false, "yes or no")
	for _, name := range []string{"out", "resume"} {
		f.String(name, "", "a `directory`")
	}
	f.Bool("no-report", false, "no page")
	f.String("matrix", "", "a `file` of numbers")
	cli.CompleteColumns(toy, "column", "columns")
	cli.CompleteWith(toy, "mode", "fast", "slow")
	cli.CompleteWith(toy, "prior", "few:2\tabout # of them", "all\tall of them")
	root.AddCommand(toy)
	return cli.Describe(root)
}

// browser is the server of a workspace, with a client that has its cookie.
type browser struct {
	*server
	t    *testing.T
	web  *httptest.Server
	http *http.Client
	dir  string
}

func open(t *testing.T, dir string) *browser {
	t.Helper()
	space, release, err := openWorkspace(dir)
	require.NoError(t, err)
	program := func(_ context.Context, args ...string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), playVariable+"=1")
		return cmd
	}
	all := application.Registry{{Commands: []application.Command{{Name: "toy", Asks: "Does it play?", First: []string{"column", "prior", "check=true"}}}}}
	s, err := newServer(space, all, toyCommands(), program)
	require.NoError(t, err)
	s.most = 1 << 20
	s.queue = newQueue(space, program, 1)
	web := httptest.NewServer(s.handler())
	t.Cleanup(func() { web.Close(); s.queue.close(); release() })
	return &browser{s, t, web, &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, dir}
}

// do sends a request with the cookie, after the function change has modified it, and returns the
// status and the body.
func (b *browser) do(method, path, kind string, body io.Reader, change ...func(*http.Request)) (*http.Response, string) {
	b.t.Helper()
	r, err := http.NewRequest(method, b.web.URL+b.base+path, body)
	require.NoError(b.t, err)
	r.AddCookie(&http.Cookie{Name: cookieName, Value: b.cookie})
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	for _, f := range change {
		f(r)
	}
	response, err := b.http.Do(r)
	require.NoError(b.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(b.t, err)
	return response, string(text)
}

func (b *browser) get(path string, change ...func(*http.Request)) (int, string) {
	b.t.Helper()
	response, text := b.do("GET", path, "", nil, change...)
	return response.StatusCode, text
}

func (b *browser) post(path string, form url.Values) (int, string) {
	b.t.Helper()
	response, text := b.do("POST", path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
	if to := response.Header.Get("Location"); to != "" {
		return response.StatusCode, strings.TrimPrefix(to, b.base)
	}
	return response.StatusCode, text
}

func (b *browser) upload(name, content string) (int, string) {
	b.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("table", name)
	require.NoError(b.t, err)
	_, err = io.WriteString(part, content)
	require.NoError(b.t, errors.Join(err, w.Close()))
	response, text := b.do("POST", "/tables", w.FormDataContentType(), &body)
	if to := response.Header.Get("Location"); to != "" {
		return response.StatusCode, strings.TrimPrefix(to, b.base)
	}
	return response.StatusCode, text
}

// askToy uploads a table, runs vti toy on it through the form, and returns the path of the run.
func (b *browser) askToy(form url.Values) string {
	b.t.Helper()
	status, to := b.upload("x.csv", "a,b\n1,2\n")
	require.Equal(b.t, http.StatusSeeOther, status, to)
	status, to = b.post(to+"/ask?command=toy", form)
	require.Equal(b.t, http.StatusSeeOther, status, to)
	return to
}

// reaches waits until a run is in a state.
func (b *browser) reaches(run string, want state) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		_, text := b.get(run + "/progress")
		return strings.Contains(text, `"state": "`+string(want)+`"`)
	}, 20*time.Second, 10*time.Millisecond, "%s is never %s", run, want)
}

// The server answers only a browser that has the token, and rejects requests that a page of another
// site makes through this browser.
func TestWhoIsAnswered(t *testing.T) {
	b := open(t, t.TempDir())
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for _, c := range []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"the user", func(*http.Request) {}, 200},
		{"typed", header("Sec-Fetch-Site", "none"), 200},
		{"a link of ours", header("Sec-Fetch-Site", "same-origin"), 200},
		{"localhost", host("localhost:7410"), 200},
		{"a forwarded port", host("127.0.0.1:9000"), 200},
		{"no cookie", func(r *http.Request) { r.Header.Del("Cookie") }, 403},
		{"a guess", func(r *http.Request) { r.Header.Set("Cookie", cookieName+"="+strings.Repeat("0", 64)) }, 403},
		{"the token as cookie", func(r *http.Request) { r.Header.Set("Cookie", cookieName+"="+b.token) }, 403},
		{"a name that resolves to us", host("evil.example:7410"), 403},
		{"a name like ours", host("127.0.0.1.evil.example"), 403},
		{"a page of another site", header("Sec-Fetch-Site", "cross-site"), 403},
		{"a page on another port", header("Sec-Fetch-Site", "same-site"), 403},
		{"a script of another site", header("Origin", "http://evil.example"), 403},
		{"another port", header("Origin", "http://127.0.0.1:1"), 403},
		{"a sandbox", header("Origin", "null"), 403},
	} {
		status, _ := b.get("/", c.change)
		require.Equal(t, c.want, status, c.name)
		response, _ := b.do("POST", "/compare", "application/x-www-form-urlencoded", strings.NewReader(""), c.change)
		require.Equal(t, c.want == 403, response.StatusCode == 403, c.name)
	}
	response, _ := b.do("GET", "/?token="+b.token, "", nil, func(r *http.Request) { r.Header.Del("Cookie") })
	require.Equal(t, http.StatusSeeOther, response.StatusCode)
	require.Equal(t, b.base+"/", response.Header.Get("Location"), "the token leaves the address")
	cookie := response.Cookies()[0]
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.Equal(t, b.base+"/", cookie.Path, "servers on other ports do not get it")
	status, text := b.get("/?token=x"+b.token[1:], func(r *http.Request) { r.Header.Del("Cookie") })
	require.Equal(t, 403, status)
	require.Contains(t, text, "the address that vti serve printed")
	require.Contains(t, response.Header.Get("Content-Security-Policy"), "default-src 'none'")
	require.NotContains(t, response.Header.Get("Content-Security-Policy"), "http")
	info, err := os.Stat(filepath.Join(b.dir, keyFile))
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077, "others cannot read the secret")
}

// Names in requests cannot open anything outside the workspace, even through links in it.
func TestNamesStayInTheWorkspace(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret.csv"), []byte("hushed\n1\n"), 0o600))
	work := filepath.Join(dir, "work")
	b := open(t, work)
	require.NoError(t, os.Symlink(filepath.Join(dir, "secret.csv"), filepath.Join(work, tablesDir, "link.csv")))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "outside"), 0o700))
	for _, name := range []string{askedFile, "result.json", report.File} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "outside", name), []byte(`{"state": "done", "hushed": 1}`), 0o600))
	}
	require.NoError(t, os.Symlink(filepath.Join(dir, "outside"), filepath.Join(work, runsDir, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(work, runsDir, "half"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(work, runsDir, "half", askedFile), []byte(`{"state": "done", "command": "toy"}`), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(dir, "outside", report.File), filepath.Join(work, runsDir, "half", report.File)))
	for _, path := range []string{
		"/tables/link.csv", "/tables/..%2Fsecret.csv", "/tables/%2e%2e%2f%2e%2e%2fsecret.csv", "/tables/..%5Csecret.csv", "/tables/.hidden.csv",
		"/runs/link", "/runs/link/files/result.json", "/runs/..", "/runs/..%2F..%2Foutside", "/runs/half", "/runs/half/files/report.html",
		"/runs/half/files/serve.json", "/runs/half/files/..%2Fserve.json", "/compared/..%2F..%2Foutside%2Freport", "/" + keyFile, "/../" + keyFile,
	} {
		status, text := b.get(path)
		require.NotContains(t, text, "hushed", path)
		require.GreaterOrEqual(t, status, 300, path)
	}
	var archive bytes.Buffer
	files, err := fs.Sub(b.space.root.FS(), runsDir+"/half")
	require.NoError(t, err)
	require.Error(t, zip.NewWriter(&archive).AddFS(files), "a link is in no archive")
	require.NotContains(t, archive.String(), "hushed")
	for _, name := range []string{"../../evil.csv", "..\\evil.csv", "/etc/evil.csv", ".evil.csv"} {
		status, to := b.upload(name, "a\n1\n")
		require.Equal(t, http.StatusSeeOther, status, to)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*evil*"))
	require.NoError(t, err)
	require.Empty(t, found)
	require.Contains(t, b.space.tables(), "evil.csv")
}

// An upload is rejected if it is too large, has another extension, or is empty. Nothing remains of
// an upload that cannot be read.
func TestUploads(t *testing.T) {
	b := open(t, t.TempDir())
	for _, c := range []struct {
		name, content string
		status        int
		says          string
	}{
		{"x.exe", "MZ", 422, "choose a file that ends in"},
		{"x.csv", "", 422, "the file is empty"},
		{"x.csv", "a,a\n1,2\n", 422, "x.csv"},
		{"x.parquet", "PAR1 and no more PAR1", 422, "x.parquet"},
		{"x.csv", "a\n" + strings.Repeat("1\n", 1<<20), 413, "larger than 1 MiB"},
	} {
		status, text := b.upload(c.name, c.content)
		require.Equal(t, c.status, status, c.name)
		require.Contains(t, text, c.says)
		left, err := os.ReadDir(filepath.Join(b.dir, tablesDir))
		require.NoError(t, err)
		require.Empty(t, left)
	}
	_, first := b.upload("x.csv", "a\n1\n")
	_, again := b.upload("x.csv", "a\n1\n")
	_, other := b.upload("x.csv", "a\n2\n")
	require.Equal(t, []string{"/tables/x.csv", "/tables/x.csv", "/tables/x-2.csv"}, []string{first, again, other}, "runs keep their tables")
	status, text := b.upload("evil.csv", "b,<script>alert(1)</script>\n<img src=x>,1\nc,2\n")
	require.Equal(t, http.StatusSeeOther, status, text)
	_, text = b.get(text)
	require.Contains(t, text, "&lt;script&gt;alert(1)&lt;/script&gt;")
	require.NotContains(t, text, "<script>alert")
	require.NotContains(t, text, "<img")
	_, text = b.get("/tables/evil.csv/ask?command=toy")
	require.NotContains(t, text, "<script>alert")
}

// A form has the flags of its command, and other flags in a request are ignored. Flags that name
// files can name only tables of the workspace.
func TestForms(t *testing.T) {
	b := open(t, t.TempDir())
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600))
	run := b.askToy(url.Values{
		"f.column": {"b"}, "f.columns": {"a", "b"}, "f.lines": {"x->y\r\ny->z"}, "f.prior": {"few:2"}, "n.prior.few:2": {"5"}, "f.mode": {"slow"},
		"f.words": {"--out=elsewhere; $(rm)"}, "f.check": {"true"}, "f.matrix": {"tables/x.csv"},
		"f.out": {"x"}, "f.resume": {"x"}, "f.no-report": {"true"}, "f.unknown": {"x"}, // flags that the form does not have
	})
	b.reaches(run, done)
	content, err := os.ReadFile(filepath.Join(b.dir, run, "args.json"))
	require.NoError(t, err)
	var args []string
	require.NoError(t, json.Unmarshal(content, &args))
	require.Equal(t, []string{"toy", "tables/x.csv", "--out=" + run[1:], "--check=true", "--column=b", "--columns=a,b", "--lines=x->y", "--lines=y->z",
		"--matrix=tables/x.csv", "--mode=slow", "--prior=few:5", "--words=--out=elsewhere; $(rm)"}, args)
	_, text := b.get("/tables/x.csv/ask?command=toy&from=" + filepath.Base(run))
	for _, part := range []string{`<option value="b" selected>b</option>`, `value="few:2" checked`, `name="n.prior.few:2" value="5"`, `<option value="slow" selected>`, `<option value="tables/x.csv" selected>`, "x-&gt;y\ny-&gt;z"} {
		require.Contains(t, text, part, "asked again")
	}
	_, home := b.get("/")
	require.Contains(t, home, `<span class="state doubtful">doubtful</span>`)
	for _, part := range []string{"f.out", "f.resume", "f.no-report"} {
		require.NotContains(t, text, part)
	}
	_, text = b.get("/tables/x.csv/ask?command=toy")
	require.Regexp(t, `name="f.check" value="true"[^>]* checked`, text, "as First presets it")
	status, _ := b.post("/tables/x.csv/ask?command=toy", url.Values{"f.words": {"a\x00b"}})
	require.Equal(t, 422, status)
	for _, path := range []string{"/etc/passwd", "x.csv", "tables/../.vti-serve-key", "tables/none.csv"} {
		status, text = b.post("/tables/x.csv/ask?command=toy", url.Values{"f.matrix": {path}})
		require.Equal(t, 422, status)
		require.Contains(t, text, "there is no table called")
	}
	status, _ = b.post("/tables/x.csv/ask?command=toy", url.Values{"f.words": {strings.Repeat("x", 2<<20)}})
	require.Equal(t, 422, status, "too much")
	status, _ = b.post("/tables/x.csv/ask?command=serve", nil)
	require.Equal(t, 404, status)
}

// Runs wait for each other, can be stopped and resumed, and are still known after a restart of the
// server.
func TestQueue(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	first, second, third := b.askToy(nil), b.askToy(nil), b.askToy(nil)
	b.reaches(first, running)
	require.Eventually(t, func() bool {
		_, text := b.get(first + "/progress")
		return strings.Contains(text, `"total": 10`) && strings.Contains(text, `"done": 3`)
	}, 20*time.Second, 10*time.Millisecond)
	b.reaches(second, waiting)
	_, text := b.get(third)
	require.Contains(t, text, "1 before it")
	b.post(second+"/stop", nil)
	b.reaches(second, stopped)
	b.post(first+"/stop", nil)
	b.reaches(first, stopped)
	b.reaches(third, running)
	status, _ := b.post(third+"/remove", nil)
	require.Equal(t, 422, status, "a run that goes on is not removed")

	b.post(second+"/resume", nil)
	b.reaches(second, waiting)
	b.web.Close()
	b.queue.close() // stops the third run
	again, _, err := openWorkspaceAgain(t, b)
	require.NoError(t, err)
	again.reaches(second, running)
	again.reaches(third, stopped)
	require.Equal(t, b.token, again.token, "the address is the same")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	again.reaches(second, done)
	again.post(first+"/resume", nil)
	again.reaches(first, done)
	content, err := os.ReadFile(filepath.Join(dir, first, "args.json"))
	require.NoError(t, err)
	require.JSONEq(t, `["toy", "--resume=`+first[1:]+`"]`, string(content))
	_, text = again.get(first)
	require.Contains(t, text, "The answer.")
	require.Contains(t, text, "Ask again")
	status, text = again.get(first + "/files/run.zip")
	require.Equal(t, 200, status)
	require.Contains(t, text, "result.json")
	again.post(third+"/remove", nil)
	status, _ = again.get(third)
	require.Equal(t, 404, status)
}

// TestStopBeforeTheProgramListens checks that a process that ends at once on an interrupt, because
// it does not handle signals yet, counts as stopped.
func TestStopBeforeTheProgramListens(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("there is no program that waits")
	}
	b := open(t, t.TempDir())
	b.queue.program = func(context.Context, ...string) *exec.Cmd { return exec.Command(sleep, "60") }
	run := b.askToy(nil)
	b.reaches(run, running)
	b.post(run+"/stop", nil)
	b.reaches(run, stopped)
}

func openWorkspaceAgain(t *testing.T, b *browser) (*browser, func(), error) {
	s, err := newServer(b.space, nil, toyCommands(), b.program)
	if err != nil {
		return nil, nil, err
	}
	s.questions, s.queue = b.questions, newQueue(b.space, b.program, 1)
	web := httptest.NewServer(s.handler())
	t.Cleanup(func() { web.Close(); s.queue.close() })
	return &browser{s, t, web, b.http, b.dir}, nil, nil
}

// A run whose process ended together with its server counts as stopped.
func TestProcessesThatAreGone(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, runsDir, "toy-1"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, runsDir, "toy-1", askedFile), []byte(`{"command": "toy", "table": "x.csv", "state": "running"}`), 0o600))
	b := open(t, dir)
	b.reaches("/runs/toy-1", stopped)
	_, text := b.get("/")
	require.Contains(t, text, "stopped")
}

// The page of a failed run shows the reason, and explains its exit status.
func TestFailures(t *testing.T) {
	b := open(t, t.TempDir())
	run := b.askToy(url.Values{"f.words": {"bad"}})
	b.reaches(run, failed)
	_, text := b.get(run)
	require.Contains(t, text, "--words: expected good words &lt;b&gt;, found bad ones")
	require.Contains(t, text, "exit status 2")
	require.Contains(t, text, "Change the question")
	_, _, err := openWorkspace(b.dir)
	require.ErrorContains(t, err, "is in use")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, _, err = openWorkspace(file)
	require.ErrorContains(t, err, "cannot be a workspace")
}
