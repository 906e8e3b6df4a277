package main

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/embedding/parquet"
	"github.com/kindred-ml/kindred/internal/atomic"
	"github.com/kindred-ml/kindred/run"
)

// writeFile writes the file that a flag names; "-" and /dev/stdout are standard
// output, which a shell may have sent anywhere.
func (a *app) writeFile(path string, write func(io.Writer) error) error {
	if !isStdout(path) {
		return atomic.WriteFile(path, write)
	}
	w := bufio.NewWriter(a.raw)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

func isStdout(path string) bool { return path == "-" || path == "/dev/stdout" }

// formats are those that commands read and write embeddings in.
func formats() embedding.Formats { return embedding.Formats{parquet.Format{}} }

// measured says what a file of embeddings holds: a set of a run, if it is a file
// that training wrote, else the file by its name.
func measured(path string) string {
	dir := filepath.Dir(path)
	if f, err := run.Open(dir); err == nil {
		for _, s := range run.Sets() {
			if e, _ := f.Files(s); filepath.Base(e) == filepath.Base(path) {
				return fmt.Sprintf("the %s set of run %s", s, shortName(dir))
			}
		}
	}
	return filepath.Base(path)
}

// dataHome returns the folder of data sets by name, or "" if there is none: a
// path needs no such folder.
func dataHome(flag string) string {
	home, err := data.Home(flag)
	if err != nil {
		return ""
	}
	return home
}

// commandLine spells out a command for a shell.
func commandLine(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if w == "" ||
			strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_") != "" {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		quoted[i] = w
	}
	return strings.Join(quoted, " ")
}
