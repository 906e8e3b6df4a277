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

// embeddingFormats returns the formats in which commands read and write embeddings.
func embeddingFormats() embedding.Formats { return embedding.Formats{parquet.Format{}} }

// hasEmbeddingsName reports by a file's name whether it holds embeddings.
func hasEmbeddingsName(path string) bool {
	return slices.Contains(embeddingFormats().Extensions(), strings.ToLower(filepath.Ext(path)))
}

// addLabels returns the embeddings of t with the labels in a file, as
// embedding.Formats.Label does, and prints a remark if they are paired by row.
func (a *app) addLabels(t *embedding.Table, labels string) (*embedding.Table, error) {
	return a.noteLabelsByRow(embeddingFormats().Label(t, labels))
}

// addAssignments is label for a file of one column, such as a clustering.
func (a *app) addAssignments(t *embedding.Table, path string) ([]int64, error) {
	of, err := a.noteLabelsByRow(embeddingFormats().Assign(t, path))
	if err != nil {
		return nil, err
	}
	return of.Labels()[0], nil
}

func (a *app) noteLabelsByRow(t *embedding.Table, err error) (*embedding.Table, error) {
	if err == nil && t.RowPairingReason() != "" {
		fmt.Fprintf(a.err, "kindred: paired by row: %s\n", escape.Name(t.RowPairingReason()))
	}
	return t, err
}

// readTable reads embeddings and their labels.
func (a *app) readTable(embeddings, labels string) (*embedding.Table, error) {
	t, err := embeddingFormats().Read(embeddings)
	if err != nil {
		return nil, err
	}
	return a.addLabels(t, labels)
}

// readColumns is read for some columns of the labels.
func (a *app) readColumns(embeddings, labels string, columns []string) (*embedding.Table, error) {
	t, err := a.readTable(embeddings, labels)
	if err != nil {
		return nil, err
	}
	return t.Select(columns...)
}

// readLabelled is selected for rows that have labels. Rows without a label are left out with a remark; with
// strict they are an error.
func (a *app) readLabelled(embeddings, labels string, columns []string, strict bool) (*embedding.Table, error) {
	t, err := a.readColumns(embeddings, labels, columns)
	if err != nil {
		return nil, err
	}
	t, _, err = a.keepLabelled(t, embeddings, strict)
	return t, err
}

// keepLabelled leaves out the rows without a label of a table that was read from a file. It returns
// the numbers of these rows.
func (a *app) keepLabelled(t *embedding.Table, file string, strict bool) (*embedding.Table, []int, error) {
	t, rows, left, err := items.KeepLabelled(t, strict)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	a.printLeftOut(left)
	for _, c := range t.Columns {
		if note := data.ConfusableNames(c.Name, c.Text); note != "" {
			fmt.Fprintln(a.err, "note: "+note)
		}
	}
	return t, rows, nil
}

// The things that arguments name, for stat.
const (
	wantRun     = "the folder of a run, as kindred train writes it"
	wantIndex   = "the folder of an index, as kindred index create makes it"
	wantVectors = "a file of embeddings, as kindred embed writes it"
)

// statArg returns the file or folder that an argument names. It must be one of the things wanted.
func statArg(arg string, want ...string) (fs.FileInfo, error) {
	st, err := os.Stat(arg)
	if n := len(want); n > 1 {
		want = []string{strings.Join(want[:n-1], ", ") + " or " + want[n-1]}
	}
	return st, fileinfo.WithHint(err, arg, want[0])
}

// columnList returns the column that a flag names, as a list; nil without a name.
func columnList(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// describeEmbeddings describes a file of embeddings: as a set of a run, if training wrote the
// file, else by its name.
func describeEmbeddings(path string) string {
	dir := filepath.Dir(path)
	if f, err := run.Open(dir); err == nil {
		for _, s := range run.Sets() {
			if e, _ := f.EmbeddingFiles(s); filepath.Base(e) == filepath.Base(path) {
				return fmt.Sprintf("the %s set of run %s", s, baseName(dir))
			}
		}
	}
	return filepath.Base(path)
}

// dataFolder returns the folder of data sets by name, or "" if the system has no such folder: a
// path needs no such folder.
func dataFolder(flag string) string {
	home, err := data.Home(flag)
	if err != nil {
		return ""
	}
	return home
}
