// Package inputs opens what the arguments and flags of commands name: photos, networks, files of embeddings, galleries,
// indexes and stores of databases.
package inputs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/items"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/run"
)

// HasEmbeddingsName reports by a file's name whether it holds embeddings.
func HasEmbeddingsName(path string) bool {
	return slices.Contains(cli.EmbeddingFormats().Extensions(), strings.ToLower(filepath.Ext(path)))
}

// AddLabels returns the embeddings of t with the labels in a file, as
// embedding.Formats.Label does, and prints a remark if they are paired by row.
func AddLabels(a *console.Console, t *embedding.Table, labels string) (*embedding.Table, error) {
	t, err := cli.EmbeddingFormats().Label(t, labels)
	noteLabelsByRow(a, t)
	return t, err
}

// AddAssignments is AddLabels for a file of one column, such as a clustering.
func AddAssignments(a *console.Console, t *embedding.Table, path string) ([]int64, error) {
	of, err := cli.EmbeddingFormats().Assign(t, path)
	if err != nil {
		return nil, err
	}
	noteLabelsByRow(a, of)
	return of.Labels()[0], nil
}

// noteLabelsByRow prints a remark if the labels of t, which may be nil, are paired by row.
func noteLabelsByRow(a *console.Console, t *embedding.Table) {
	if t != nil && t.RowPairingReason() != "" {
		fmt.Fprintf(a.Err, "kindred: paired by row: %s\n", escape.Name(t.RowPairingReason()))
	}
}

// ReadTable reads embeddings and their labels.
func ReadTable(a *console.Console, embeddings, labels string) (*embedding.Table, error) {
	t, err := cli.EmbeddingFormats().Read(embeddings)
	if err != nil {
		return nil, err
	}
	return AddLabels(a, t, labels)
}

// ReadColumns is ReadTable for some columns of the labels.
func ReadColumns(a *console.Console, embeddings, labels string, columns []string) (*embedding.Table, error) {
	t, err := ReadTable(a, embeddings, labels)
	if err != nil {
		return nil, err
	}
	return t.Select(columns...)
}

// ReadLabelled is ReadColumns for rows that have labels. Rows without a label are left out with a remark; with
// strict they are an error.
func ReadLabelled(a *console.Console, embeddings, labels string, columns []string, strict bool) (*embedding.Table,
	error) {
	t, err := ReadColumns(a, embeddings, labels, columns)
	if err != nil {
		return nil, err
	}
	t, _, err = KeepLabelled(a, t, embeddings, strict)
	return t, err
}

// KeepLabelled leaves out the rows without a label of a table that was read from a file. It returns
// the numbers of these rows.
func KeepLabelled(a *console.Console, t *embedding.Table, file string, strict bool) (*embedding.Table, []int, error) {
	t, rows, left, err := items.KeepLabelled(t, strict)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	PrintLeftOut(a, left)
	for _, c := range t.Columns {
		if note := data.ConfusableNames(c.Name, c.Text); note != "" {
			fmt.Fprintln(a.Err, "note: "+note)
		}
	}
	return t, rows, nil
}

// The things that arguments name, for stat.
const (
	WantRun     = "the folder of a run, as kindred train writes it"
	WantIndex   = "the folder of an index, as kindred index create makes it"
	WantVectors = "a file of embeddings, as kindred embed writes it"
)

// StatArg returns the file or folder that an argument names. It must be one of the things wanted.
func StatArg(arg string, want ...string) (fs.FileInfo, error) {
	st, err := os.Stat(arg)
	if n := len(want); n > 1 {
		want = []string{strings.Join(want[:n-1], ", ") + " or " + want[n-1]}
	}
	return st, fileinfo.WithHint(err, arg, want[0])
}

// ColumnList returns the column that a flag names, as a list; nil without a name.
func ColumnList(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// DescribeEmbeddings describes a file of embeddings: as a set of a run, if training wrote the
// file, else by its name.
func DescribeEmbeddings(path string) string {
	dir := filepath.Dir(path)
	if f, err := run.Open(dir); err == nil {
		for _, s := range run.Sets() {
			if e, _ := f.EmbeddingFiles(s); filepath.Base(e) == filepath.Base(path) {
				return fmt.Sprintf("the %s set of run %s", s, BaseName(dir))
			}
		}
	}
	return filepath.Base(path)
}

// DataFolder returns the folder of data sets by name, or "" if the system has no such folder: a
// path needs no such folder.
func DataFolder(flag string) string {
	home, err := data.Home(flag)
	if err != nil {
		return ""
	}
	return home
}

// BaseName heads table columns: the file's or folder's name.
func BaseName(path string) string {
	base := filepath.Base(filepath.Clean(path))
	return strings.TrimSuffix(base, filepath.Ext(base))
}
