package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/lab/testkit"
)

// serving starts vti serve on a free port, and returns its address.
func serving(t *testing.T, dir string) string {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(program, "serve", dir, "--port", "0")
	cmd.Env = append(os.Environ(), mainVariable+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		require.NoError(t, cmd.Wait(), stderr.String())
	})
	return addressIn(t, stdout)
}

// addressIn reads the address that a server prints.
func addressIn(t *testing.T, stdout io.Reader) string {
	t.Helper()
	printed := make([]byte, 4096)
	for read := 0; ; {
		n, err := stdout.Read(printed[read:])
		require.NoError(t, err)
		read += n
		if address := regexp.MustCompile(`http://\S+\n`).Find(printed[:read]); address != nil {
			return strings.TrimSpace(string(address))
		}
	}
}

// tabTo presses Tab until the element with the focus matches a selector.
func tabTo(selector string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for range 100 {
			if err := chromedp.KeyEvent(kb.Tab).Do(ctx); err != nil {
				return err
			}
			var there bool
			if err := chromedp.Evaluate(fmt.Sprintf("document.activeElement?.matches(%q) ?? false", selector), &there).Do(ctx); err != nil || there {
				return err
			}
		}
		return fmt.Errorf("no Tab leads to %s", selector)
	})
}

// shots checks the open page like pages of reports, at two widths, light and dark, and stores
// pictures of it if they are requested.
func shots(t *testing.T, name string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{1200, 390} {
				var text string
				var shot []byte
				err := chromedp.Run(ctx, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
					chromedp.EmulateViewport(width, 844), chromedp.Evaluate(inspect, &text))
				if err != nil {
					return err
				}
				require.Regexp(t, `"overflow":(0|-\d+),"empty":\[\],"pictures":\d+,"faint":\[\]`, text, "%s, %s, %d wide", name, scheme, width)
				if dir := os.Getenv(screenshotsVariable); dir != "" {
					if err := chromedp.Run(ctx, chromedp.FullScreenshot(&shot, 100)); err != nil {
						return err
					}
					require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("serve-%s-%s-%d.png", name, scheme, width)), shot, 0o600))
				}
			}
		}
		return nil
	})
}

// On a telephone, with the keyboard alone, a user uploads a table, reads the report of a run,
// starts another run, and compares both.
func TestServeFromUploadToReport(t *testing.T) {
	testkit.Slow(t)
	ctx := browser(t)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	address := serving(t, t.TempDir())
	w := watch(ctx)
	var place, heading, verdict string
	require.NoError(t, chromedp.Run(ctx, chromedp.EmulateViewport(390, 844), chromedp.Navigate(address), chromedp.Location(&place)))
	require.NotContains(t, place, "token")
	askFor := func(target string, look bool) chromedp.Tasks {
		shot := func(name string) chromedp.Action {
			if look {
				return shots(t, name)
			}
			return chromedp.Tasks{}
		}
		return chromedp.Tasks{
			shot("table"),
			tabTo(".questions li:first-child a"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("select[name='f.target']"), shot("form"),
			tabTo("select[name='f.target']"), chromedp.KeyEvent(target), tabTo("button.go"), chromedp.KeyEvent(kb.Enter),
			chromedp.WaitVisible(".downloads"), chromedp.Text("h1", &heading), chromedp.Text(".badge strong", &verdict), shot("report"),
		}
	}
	require.NoError(t, chromedp.Run(ctx, shots(t, "empty"), tabTo("input[type=file]"), chromedp.SetUploadFiles("#file", []string{testdata(t, "diabetes.csv")})))
	start := time.Now()
	require.NoError(t, chromedp.Run(ctx, tabTo("form[enctype] button"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".questions"), askFor("y", false)))
	took := time.Since(start)
	t.Logf("from upload to report in %v", took.Round(10*time.Millisecond))
	require.Equal(t, "What explains y?", heading)
	require.Equal(t, "trusted.", verdict)

	require.NoError(t, chromedp.Run(ctx, tabTo("nav.bar a:first-child"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".runs"),
		tabTo(".names a"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".questions"), askFor("y", true),
		tabTo("nav.bar a:first-child"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".runs"),
		tabTo(".runs li:nth-child(1) input"), chromedp.KeyEvent(" "), tabTo(".runs li:nth-child(2) input"), chromedp.KeyEvent(" "), shots(t, "home"),
		tabTo("form[action$=compare] button"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("article", chromedp.ByQuery), chromedp.Location(&place), shots(t, "compared")))
	require.Contains(t, place, "/compared/varsel-")

	// If the settings of a run are refused, the page shows the error and a link back to the form.
	var text string
	require.NoError(t, chromedp.Run(ctx, tabTo("nav.bar a:first-child"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".runs"),
		tabTo(".names a"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".questions"),
		tabTo(".questions li:first-child a"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("button.go"), tabTo("button.go"), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitVisible(".badge.bad"), chromedp.Text(".badge.bad", &text), shots(t, "failed")))
	require.Contains(t, text, "no target column was given")
	require.Contains(t, text, "exit status 2")
	w.mutex.Lock()
	defer w.mutex.Unlock()
	require.Empty(t, w.messages, "the policy of content and the scripts agree")
	host := regexp.MustCompile(`^http://[^/]*/`).FindString(address)
	for _, request := range w.requests {
		require.True(t, strings.HasPrefix(request, host), "%s is outside", request)
	}
}

// A running run shows its progress, stops with a checkpoint, and can be resumed.
func TestServeStopsAndResumes(t *testing.T) {
	testkit.Slow(t)
	ctx := browser(t)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "tables"), 0o755))
	content, err := os.ReadFile(testdata(t, "hald.csv"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tables", "hald.csv"), content, 0o600))
	address := serving(t, dir)
	var line string
	require.NoError(t, chromedp.Run(ctx, chromedp.EmulateViewport(390, 844), chromedp.Navigate(address), tabTo(".names a"), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitVisible(".questions"), tabTo(".questions a[href$='command=varsel']"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("button.go"),
		chromedp.Evaluate(`for (const d of document.querySelectorAll('details')) d.open = true`, nil),
		chromedp.SetValue("[name='f.target']", "y"), chromedp.SetValue("[name='f.effort']", "fixed"), chromedp.SetValue("[name='f.likelihood']", "student"),
		chromedp.SetValue("[name='f.steps']", "20000"), chromedp.Focus("button.go"), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitVisible("#live[data-state=running]"), chromedp.Poll(`/step \d+/.test(document.querySelector('#live .line')?.textContent)`, nil), chromedp.Text("#live .line", &line), shots(t, "running"),
		tabTo("form[action$=stop] button"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("form[action$=resume]"), shots(t, "stopped"),
		tabTo("form[action$=resume] button"), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitVisible("#live[data-state=running]"),
		tabTo("form[action$=stop] button"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("form[action$=resume]")))
	require.Contains(t, line, "/20000")
}

// Errors when the server starts name a remedy.
func TestServeRefuses(t *testing.T) {
	address := serving(t, t.TempDir())
	port := regexp.MustCompile(`:(\d+)/`).FindStringSubmatch(address)[1]
	got := vtiCommand(t, "serve", t.TempDir(), "--port", port)
	require.Equal(t, shell.StatusUsage, got.status)
	require.Contains(t, got.stderr, "port "+port+" is in use, perhaps by another vti serve: choose another with --port")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	got = vtiCommand(t, "serve", file)
	require.Equal(t, shell.StatusUsage, got.status)
	require.Contains(t, got.stderr, "cannot be a workspace")
	response, err := http.Get(regexp.MustCompile(`^http://[^/]*/`).FindString(address))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusForbidden, response.StatusCode)
}
