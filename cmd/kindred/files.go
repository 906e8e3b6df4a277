package main

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/cli/items"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/parquet"
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

// formats returns the formats in which commands read and write embeddings.
func formats() embedding.Formats { return embedding.Formats{parquet.Format{}} }

// isEmbeddings reports by a file's name whether it holds embeddings.
func isEmbeddings(path string) bool {
	return slices.Contains(formats().Extensions(), strings.ToLower(filepath.Ext(path)))
}

// label returns the embeddings of t with the labels in a file, as
// embedding.Formats.Label does, and prints a remark if they are paired by row.
func (a *app) label(t *embedding.Table, labels string) (*embedding.Table, error) {
	return a.sayByRow(formats().Label(t, labels))
}

// assigned is label for a file of one column, such as a clustering.
func (a *app) assigned(t *embedding.Table, path string) ([]int64, error) {
	of, err := a.sayByRow(formats().Assign(t, path))
	if err != nil {
		return nil, err
	}
	return of.Labels()[0], nil
}

func (a *app) sayByRow(t *embedding.Table, err error) (*embedding.Table, error) {
	if err == nil && t.ByRow() != "" {
		fmt.Fprintf(a.err, "kindred: paired by row: %s\n", escape.Name(t.ByRow()))
	}
	return t, err
}

// read reads embeddings and their labels.
func (a *app) read(embeddings, labels string) (*embedding.Table, error) {
	t, err := formats().Read(embeddings)
	if err != nil {
		return nil, err
	}
	return a.label(t, labels)
}

// selected is read for some columns of the labels.
func (a *app) selected(embeddings, labels string, columns []string) (*embedding.Table, error) {
	t, err := a.read(embeddings, labels)
	if err != nil {
		return nil, err
	}
	return t.Select(columns...)
}

// labelled is selected for rows that have labels. Rows without a label are left out with a remark; with
// strict they are an error.
func (a *app) labelled(embeddings, labels string, columns []string, strict bool) (*embedding.Table, error) {
	t, err := a.selected(embeddings, labels, columns)
	if err != nil {
		return nil, err
	}
	t, _, err = a.known(t, embeddings, strict)
	return t, err
}

// known leaves out the rows without a label of a table that was read from a file. It returns
// the numbers of these rows.
func (a *app) known(t *embedding.Table, file string, strict bool) (*embedding.Table, []int, error) {
	t, rows, left, err := items.Labelled(t, strict)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	a.sayLeftOut(left)
	for _, c := range t.Columns {
		if note := data.LookAlikes(c.Name, c.Text); note != "" {
			fmt.Fprintln(a.err, "note: "+note)
		}
	}
	return t, rows, nil
}

// The things that arguments name, for stat.
const (
	aRun        = "the folder of a run, as kindred train writes it"
	anIndex     = "the folder of an index, as kindred index create makes it"
	someVectors = "a file of embeddings, as kindred embed writes it"
)

// stat returns the file or folder that an argument names. It must be one of the things wanted.
func stat(arg string, want ...string) (fs.FileInfo, error) {
	st, err := os.Stat(arg)
	if n := len(want); n > 1 {
		want = []string{strings.Join(want[:n-1], ", ") + " or " + want[n-1]}
	}
	return st, fileinfo.Want(err, arg, want[0])
}

// oneColumn returns the column that a flag names, as a list; nil without a name.
func oneColumn(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// measured describes a file of embeddings: as a set of a run, if training wrote the
// file, else by its name.
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

// dataHome returns the folder of data sets by name, or "" if the system has no such folder: a
// path needs no such folder.
func dataHome(flag string) string {
	home, err := data.Home(flag)
	if err != nil {
		return ""
	}
	return home
}
