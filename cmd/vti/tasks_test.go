package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
)

// words splits a command line as a shell would that knows only double quotes.
func words(line string) (list []string) {
	for _, match := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		list = append(list, match[1]+match[2])
	}
	return list
}

// TestTasks runs the commands of docs/tasks.md, at most two for each task, and checks the line that
// they must print.
func TestTasks(t *testing.T) {
	testkit.Long(t)
	page, err := os.ReadFile(filepath.Join(sourceDir, "..", "..", "docs", "tasks.md"))
	require.NoError(t, err)
	var tables [][2]string
	for _, name := range []string{"diabetes.csv", "hald.csv", "sleepstudy.csv"} {
		content, err := os.ReadFile(testdata(t, name))
		require.NoError(t, err)
		tables = append(tables, [2]string{name, string(content)})
	}
	patients := strings.Join(strings.SplitAfterN(tables[0][1], "\n", 5)[:4], "")
	emptyDir(t, "nights.csv", "Days,Subject\n5,308\n5,999\n")
	for _, file := range append(tables, [2]string{"patients.csv", patients}) {
		require.NoError(t, os.WriteFile(file[0], []byte(file[1]), 0o600))
	}
	tasks := strings.Split(string(page), "\n## ")[1:]
	assert.GreaterOrEqual(t, len(tasks), 10)
	spaces := regexp.MustCompile(`\s+`)
	for _, task := range tasks {
		title, body, _ := strings.Cut(task, "\n")
		t.Run(title, func(t *testing.T) {
			commands, printed, promised := 0, "", 0
			for line := range strings.Lines(body) {
				if command, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "    vti "); ok {
					commands++
					printed += " " + mustRun(t, words(command)...).stdout
				}
				if promise, ok := strings.CutPrefix(strings.TrimSpace(line), "> "); ok {
					promised++
					assert.Contains(t, spaces.ReplaceAllString(printed, " "), promise)
				}
			}
			assert.Contains(t, []int{1, 2}, commands)
			assert.Positive(t, promised)
		})
	}
}
