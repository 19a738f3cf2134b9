package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/report"
)

// screenshotsVariable is an environment variable with a folder for pictures of the tested pages.
const screenshotsVariable = "VTI_SCREENSHOTS"

// browser starts a headless browser. It skips the test if there is none.
func browser(t *testing.T) context.Context {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WSURLReadTimeout(2*time.Minute))
		allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
		t.Cleanup(cancel)
		ctx, stop := chromedp.NewContext(allocator)
		t.Cleanup(stop)
		return ctx
	}
	t.Skip("there is no chromium to open a report with")
	return nil
}

// watched collects the error messages and the network requests of a page.
type watched struct {
	mutex    sync.Mutex
	messages []string
	requests []string
}

func watch(ctx context.Context) *watched {
	w := &watched{}
	chromedp.ListenTarget(ctx, func(event any) {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			w.messages = append(w.messages, fmt.Sprint(e.Type))
		case *runtime.EventExceptionThrown:
			w.messages = append(w.messages, e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			w.messages = append(w.messages, e.Entry.Text)
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, "data:") {
				w.requests = append(w.requests, e.Request.URL)
			}
		}
	})
	return w
}

// seen is the result of the script inspect on a page.
type seen struct {
	Overflow float64  `json:"overflow"` // width of the page minus width of the screen, in points
	Empty    []string `json:"empty"`    // pictures without content or without a text for screen readers
	Pictures int      `json:"pictures"`
	Faint    []string `json:"faint"` // texts with too little contrast
	Texts    int      `json:"texts"`
}

// inspect reads a page as it is shown.
const inspect = `(() => {
  const rgb = text => text.match(/[\d.]+/g).map(Number);
  const luminance = c => c.slice(0, 3).map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const contrast = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const out = {overflow: document.documentElement.scrollWidth - innerWidth, empty: [], pictures: 0, faint: [], texts: 0};
  for (const svg of document.querySelectorAll('svg.picture')) {
    const box = svg.getBoundingClientRect();
    if (svg.closest('[hidden]')) continue;
    out.pictures++;
    const label = svg.getAttribute('aria-label');
    if (box.width < 50 || box.height < 20 || svg.querySelectorAll('path').length < 2 || !/\. \S/.test(label)) out.empty.push(label);
  }
  for (const e of document.querySelectorAll('body *')) {
    if (!e.checkVisibility() || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    if (['SCRIPT', 'STYLE', 'title'].includes(e.tagName)) continue;
    const style = getComputedStyle(e);
    let ink = rgb(style.color), back = behind(e);
    if (e.tagName === 'text') {
      ink = rgb(style.fill);
      const same = e.closest('svg').querySelectorAll('path.fill');
      const at = e.getBoundingClientRect(), x = (at.left + at.right) / 2, y = (at.top + at.bottom) / 2;
      for (const path of same) {
        const box = path.getBoundingClientRect();
        if (path.checkVisibility() && box.left <= x && box.right >= x && box.top <= y && box.bottom >= y && !(e.compareDocumentPosition(path) & Node.DOCUMENT_POSITION_FOLLOWING)) {
          const alpha = parseFloat(path.getAttribute('opacity') || 1), fill = rgb(getComputedStyle(path).fill);
          back = back.slice(0, 3).map((v, k) => v * (1 - alpha) + fill[k] * alpha);
        }
      }
    }
    out.texts++;
    const c = contrast(ink, back);
    if (c < 4.5) out.faint.push(e.tagName + ' ' + c.toFixed(2) + ' ' + e.textContent.trim().slice(0, 40));
  }
  return JSON.stringify(out);
})()`

// openReport loads a page and returns the time that this took.
func openReport(ctx context.Context, t *testing.T, path string) time.Duration {
	t.Helper()
	address := url.URL{Scheme: "file", Path: path}
	var timing float64
	require.NoError(t, chromedp.Run(ctx, network.Enable(), log.Enable(), chromedp.Navigate(address.String()),
		chromedp.Evaluate(`performance.getEntriesByType('navigation')[0].loadEventEnd`, &timing)))
	return time.Duration(timing * float64(time.Millisecond))
}

// mostReport is the largest size of a page in bytes, with which it can be sent as an attachment.
const mostReport = 2 << 20

// The pages of all kinds of runs, in a real browser, need no network and cause no error messages.
// Every picture has content and a name, texts have the contrast of WCAG 2.2 (4.5), in light and
// dark, and nothing is wider than the screen of a telephone or a desk.
func TestReportInABrowser(t *testing.T) {
	testkit.Slow(t)
	ctx := browser(t)
	emptyDir(t, "graph.csv", chainTable())
	mustRun(t, "exact", testdata(t, "diabetes.csv"), "--target", "y", "--out", "exact", "-q")
	mustRun(t, tiny("varsel", testdata(t, "hald.csv"), "--target", "y", "--out", "varsel", "-q")...)
	mustRun(t, "exact", "dag", "graph.csv", "--out", "dag", "-q")
	for _, name := range []string{"exact", "varsel", "dag", "hbm"} {
		t.Run(name, func(t *testing.T) {
			if name == "hbm" {
				testkit.Long(t)
				mustRun(t, append([]string{"hbm", testdata(t, "sleepstudy.csv"), "-f", "Reaction ~ Days + (1 + Days | Subject)", "--out", "hbm"}, quickHbm...)...)
			}
			path, err := filepath.Abs(filepath.Join(name, report.File))
			require.NoError(t, err)
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Less(t, info.Size(), int64(mostReport))
			w := watch(ctx)
			t.Logf("%s: %d bytes, opened in %v", name, info.Size(), openReport(ctx, t, path))
			for _, scheme := range []string{"light", "dark"} {
				for _, width := range []int64{375, 1440} {
					checkPage(ctx, t, name, scheme, width)
				}
			}
			w.mutex.Lock()
			defer w.mutex.Unlock()
			require.Empty(t, w.messages)
			require.Len(t, w.requests, 1, "%v", w.requests)
		})
	}
}

// checkPage checks the open page on a screen of the given width.
func checkPage(ctx context.Context, t *testing.T, name, scheme string, width int64) {
	t.Helper()
	var text string
	var shot []byte
	require.NoError(t, chromedp.Run(ctx,
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.EmulateViewport(width, 900),
		chromedp.Evaluate(inspect, &text), chromedp.FullScreenshot(&shot, 90)))
	var found seen
	require.NoError(t, json.Unmarshal([]byte(text), &found))
	require.LessOrEqual(t, found.Overflow, 0.0, "%s, %d wide", scheme, width)
	require.Empty(t, found.Empty)
	require.Empty(t, found.Faint, "%s, %d wide", scheme, width)
	require.GreaterOrEqual(t, found.Pictures, 2)
	require.Greater(t, found.Texts, 50)
	if dir := os.Getenv(screenshotsVariable); dir != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%s-%d.jpg", name, scheme, width)), shot, 0o644))
	}
}

// Tables sort on a click and on a key, and can be filtered; the slider of a graph shows more pairs.
func TestReportIsInteractive(t *testing.T) {
	testkit.Slow(t)
	ctx := browser(t)
	// in 40 rows no edge is certain, so that the slider hides all edges at its end
	emptyDir(t, "graph.csv", strings.Join(strings.SplitAfter(chainTable(), "\n")[:41], ""))
	mustRun(t, "exact", testdata(t, "diabetes.csv"), "--target", "y", "--out", "exact", "-q")
	mustRun(t, "exact", "dag", "graph.csv", "--out", "dag", "-q")
	path, err := filepath.Abs(filepath.Join("exact", report.File))
	require.NoError(t, err)
	openReport(ctx, t, path)
	const first = `document.querySelector('[id$=coefficients-0] tbody tr td').textContent`
	const click = `[...document.querySelectorAll('[id$=coefficients-0] th button')].find(b => b.textContent === %q)`
	var order [3]string
	require.NoError(t, chromedp.Run(ctx,
		chromedp.Evaluate(fmt.Sprintf(click, "mean")+".click()", nil), chromedp.Evaluate(first, &order[0]),
		chromedp.Evaluate(fmt.Sprintf(click, "mean")+".focus()", nil), chromedp.KeyEvent("\r"), chromedp.Evaluate(first, &order[1]),
		chromedp.Evaluate(fmt.Sprintf(click, "coefficient")+".click()", nil), chromedp.Evaluate(first, &order[2])))
	require.Equal(t, [3]string{"ltg", "tc", "(Intercept)"}, order, "largest mean, smallest, first name")

	var shown, all int
	const count = `[...document.querySelectorAll('[id$=models-0] tbody tr')].filter(r => !r.hidden).length`
	require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(count, &all),
		chromedp.Evaluate(`(() => { const i = document.querySelector('[aria-controls$=models-0]'); i.value = 'glu'; i.dispatchEvent(new Event('input')); })()`, nil),
		chromedp.Evaluate(count, &shown)))
	require.Less(t, shown, all)
	require.Positive(t, shown)

	path, err = filepath.Abs(filepath.Join("dag", report.File))
	require.NoError(t, err)
	openReport(ctx, t, path)
	const links = `[...document.querySelectorAll('.graph .item')].filter(e => e.checkVisibility()).length`
	const slide = `(() => { const i = document.querySelector('.graph input'); i.value = %g; i.dispatchEvent(new Event('input')); })()`
	var counts [3]int
	require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(links, &counts[0]),
		chromedp.Evaluate(fmt.Sprintf(slide, 0.1), nil), chromedp.Evaluate(links, &counts[1]),
		chromedp.Evaluate(fmt.Sprintf(slide, 1.0), nil), chromedp.Evaluate(links, &counts[2])))
	require.GreaterOrEqual(t, counts[1], counts[0])
	require.Positive(t, counts[0])
	require.Less(t, counts[2], counts[0])
}

// chainTable returns a table whose columns form a causal chain with one weak edge, and in which one
// column has two causes.
func chainTable() string {
	random := rand.New(rand.NewPCG(5, 6))
	text := "a,b,c,d,weak\n"
	for range 300 {
		a, d := random.NormFloat64(), random.NormFloat64()
		b := 0.8*a + random.NormFloat64()
		c := 0.8*b - 0.7*d + random.NormFloat64()
		text += fmt.Sprintf("%g,%g,%g,%g,%g\n", a, b, c, d, 0.1*c+random.NormFloat64())
	}
	return text
}

// An error of vti report names the directory and its fault.
func TestReportRefuses(t *testing.T) {
	emptyDir(t, "", "")
	got := vtiCommand(t, "report", "nothing")
	require.Equal(t, shell.StatusUsage, got.status)
	require.Contains(t, got.stderr, "nothing is not a run directory: it holds no run.json")
	require.Equal(t, shell.StatusUsage, vtiCommand(t, "report").status)
	require.NoError(t, os.Mkdir("begun", 0o755))
	require.NoError(t, os.WriteFile(filepath.Join("begun", "run.json"), []byte(`{"command": "varsel", "data": "x.csv", "fingerprint": "ab"}`), 0o644))
	require.Equal(t, "vti: begun holds no result.json: the run has not finished\n", vtiCommand(t, "report", "begun").stderr)
}

// timedRunsVariable is an environment variable with directories of runs whose reports are timed.
const timedRunsVariable = "VTI_TIMED_RUNS"

// TestTimesOfReports logs the times to write and open the pages of runs, each a median of three.
func TestTimesOfReports(t *testing.T) {
	dirs := filepath.SplitList(os.Getenv(timedRunsVariable))
	if len(dirs) == 0 {
		t.Skip("no runs to time: " + timedRunsVariable + " names none")
	}
	ctx := browser(t)
	for _, dir := range dirs {
		var written, opened []time.Duration
		run, err := applications.Read(dir)
		require.NoError(t, err)
		for range 3 {
			start := time.Now()
			require.NoError(t, run.Page.Finish(context.Background(), dir))
			written = append(written, time.Since(start))
			path, err := filepath.Abs(filepath.Join(dir, report.File))
			require.NoError(t, err)
			opened = append(opened, openReport(ctx, t, path))
		}
		slices.Sort(written)
		slices.Sort(opened)
		t.Logf("%s: written in %v, opened in %v", dir, written[1].Round(time.Millisecond), opened[1].Round(time.Millisecond))
	}
}
