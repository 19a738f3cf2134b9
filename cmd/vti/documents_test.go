package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/cmd/internal/shell"
)

// commandLine matches vti and its arguments in a code span or an indented line, also continued by
// \.
var commandLine = regexp.MustCompile("(?:`|(?m:^ {4,}))(vti [a-z](?:[^`\\\\\n]|\\\\\n)*)")

// TestDocumentsNameFlagsThatExist: command lines in the documents name existing commands and flags.
func TestDocumentsNameFlagsThatExist(t *testing.T) {
	paths := []string{"../../README.md", "../../CONTRIBUTING.md", "../../CHANGELOG.md"}
	require.NoError(t, filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			paths = append(paths, path)
		}
		return err
	}))
	flags := 0
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, match := range commandLine.FindAllStringSubmatch(string(content), -1) {
			line, _, _ := strings.Cut(match[1], " # ")
			words := strings.Fields(strings.ReplaceAll(line, "\\\n", " "))
			root := rootCommand(&shell.App{})
			command, _, err := root.Find(words[1:])
			require.NoErrorf(t, err, "%s: %s", path, line)
			require.NotEqualf(t, root, command, "%s: %s", path, line)
			for _, word := range words {
				name, found := strings.CutPrefix(word, "--")
				if !found || name == "help" {
					continue
				}
				flags++
				name, _, _ = strings.Cut(strings.TrimRight(name, ".,;:)"), "=")
				require.NotNilf(t, command.Flags().Lookup(name), "%s: %s has no flag --%s", path, command.CommandPath(), name)
			}
		}
	}
	require.Greater(t, flags, 50)
}
