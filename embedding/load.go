package embedding

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/fileinfo"
)

// Read reads a file of a Standard format.
func Read(path string) (*Table, error) { return Formats(nil).Read(path) }

// Write writes a file of a Standard format.
func Write(path string, t *Table) error { return Formats(nil).Write(path, t) }

// Load is Formats.Load for the Standard formats.
func Load(embeddings, labels string, names []string) (*Table, error) {
	return Formats(nil).Load(embeddings, labels, names)
}

// Load reads embeddings from one file and their labels from another. See Label for an empty name of labels.
// names selects columns of labels; see Table.Select.
func (f Formats) Load(embeddings, labels string, names []string) (*Table, error) {
	t, err := f.readLabelled(embeddings, labels)
	if err != nil {
		return nil, err
	}
	return t.Select(names...)
}

// readLabelled reads embeddings with all columns of labels, at least one.
func (f Formats) readLabelled(embeddings, labels string) (*Table, error) {
	t, err := f.Read(embeddings)
	if err != nil {
		return nil, err
	}
	return f.Label(t, labels)
}

// Label returns the embeddings of t with the labels of a file, matched as in With. If labels is empty, the
// labels are those of t itself or of the file of labels beside t's file; see FindLabels.
func (f Formats) Label(t *Table, labels string) (*Table, error) {
	beside := labels == ""
	if beside {
		if t.X == nil || len(t.Columns) > 0 {
			return t.WithLabels(t)
		}
		why := errors.New("it was not read from a file")
		if t.onDisk {
			labels, why = FindLabels(t.source)
		}
		if why != nil {
			if err := t.CheckLabel(); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("%s holds no labels%s: give a file of labels (%w)", t.sourceName(),
				t.skippedNames(), why)
		}
	}
	from, err := f.ReadLabels(labels)
	if err != nil {
		return nil, err
	}
	out, err := t.WithLabels(from)
	if err == nil && beside {
		out.rowPairing = ""
	}
	return out, err
}

// FindLabels finds the file of labels for a file of embeddings without labels. For E.npy it is E.labels.csv
// or E.labels.npy, and for test_embeddings.npy also test_labels.csv or test_labels.npy. If all are missing,
// the error lists the tried names and is fs.ErrNotExist.
func FindLabels(path string) (string, error) {
	stem := strings.TrimSuffix(path, filepath.Ext(path))
	stems := []string{stem + ".labels"}
	if set, ok := strings.CutSuffix(stem, "embeddings"); ok {
		stems = append(stems, set+"labels")
	}
	var tried []string
	for _, s := range stems {
		for _, ext := range []Standard{CSV, NPY} {
			name := s + ext.Extension()
			if _, err := os.Lstat(name); err == nil {
				return name, nil
			} else if !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
			tried = append(tried, filepath.Base(name))
		}
	}
	return "", fmt.Errorf("beside it %w: %s", fs.ErrNotExist, strings.Join(tried, ", "))
}

// ReadLabels reads a file that must contain labels.
func (f Formats) ReadLabels(path string) (*Table, error) {
	t, err := f.Read(path)
	return t.requireLabels(err, path)
}

// ReadLabelsFS is ReadLabels for a file of a file system.
func (f Formats) ReadLabelsFS(fsys fs.FS, name string) (*Table, error) {
	t, err := f.ReadFS(fsys, name)
	return t.requireLabels(err, name)
}

// requireLabels returns t if it contains labels. t was read from the file at path with the error err.
func (t *Table) requireLabels(err error, path string) (*Table, error) {
	if err != nil {
		return nil, fileinfo.WithHint(err, path, "a file of labels")
	}
	if len(t.Columns) == 0 {
		why := errors.New("no column of labels" + t.skippedNames())
		if t.X != nil {
			why = errors.New("floating-point values: labels must be integers, " +
				"for as float32 the ids above 2^24 would merge")
		}
		return nil, fmt.Errorf("%s: %w", path, why)
	}
	return t, nil
}

// ReadAssignments reads a file with a single column of integers or names, such as a clustering, and returns
// numbers.
func (f Formats) ReadAssignments(path string) ([]int64, error) {
	t, err := f.readAssignments(path)
	if err != nil {
		return nil, err
	}
	ids, _ := Unify(&t.Columns[0])
	return ids[0], nil
}

// Assign returns the embeddings of t with the single column of integers or names in a file, such as a
// clustering, matched as in With.
func (f Formats) Assign(t *Table, path string) (*Table, error) {
	of, err := f.readAssignments(path)
	if err != nil {
		return nil, err
	}
	return t.WithLabels(of)
}

func (f Formats) readAssignments(path string) (*Table, error) {
	t, err := f.ReadLabels(path)
	if err != nil {
		return nil, err
	}
	if len(t.Columns) != 1 {
		return nil, fmt.Errorf("%s: %d columns, want one assignment for each row", path, len(t.Columns))
	}
	return t, nil
}

// Coarse returns t with the training labels as the first column and finer labels, if there are any, as the
// second. label and fine name the columns. If label is empty, the first column is coarse, else label, else
// the only one. If fine is empty, the second column is fine, or label if the first is coarse. A second column
// that equals the first is left out.
func (t *Table) Coarse(label, fine string) (*Table, error) {
	if label == "" && t.Column("coarse") != nil {
		label = "coarse"
	}
	if label == "" && t.Column("label") != nil {
		label = "label"
	}
	if fine == "" && label != "fine" && t.Column("fine") != nil {
		fine = "fine"
	}
	if fine == "" && label == "coarse" && t.Column("label") != nil {
		fine = "label"
	}
	var names []string
	if label != "" {
		names = append(names, label)
		if fine != "" {
			names = append(names, fine)
		}
	}
	out, err := t.Select(names...)
	if err != nil {
		return nil, err
	}
	if len(out.Columns) == 2 && out.Columns[0].equal(&out.Columns[1]) || label == "" {
		out.Columns = out.Columns[:1]
	}
	return out, nil
}
