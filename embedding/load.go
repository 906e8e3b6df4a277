package embedding

import (
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/mat"
)

// Labelled is a set of embeddings with the columns of labels to use.
type Labelled struct {
	X       *mat.Dense
	Columns []Column
	Files   []string // nil if no file names them
}

// Load reads embeddings from one file and their labels from another, or from the
// same one if labels is empty. names selects columns of labels; see
// Table.Select.
func Load(embeddings, labels string, names []string) (*Labelled, error) {
	t, err := Read(embeddings)
	if err != nil {
		return nil, err
	}
	return t.Load(embeddings, labels, names)
}

// Load is the function Load for the table that was read from embeddings.
func (t *Table) Load(embeddings, labels string, names []string) (*Labelled, error) {
	from, source, err := t.labels(embeddings, labels)
	if err != nil {
		return nil, err
	}
	return t.labelled(from, source, names)
}

// labels returns the table that holds the labels of the rows of t, and its path.
func (t *Table) labels(embeddings, labels string) (from *Table, source string, err error) {
	switch {
	case t.X == nil:
		return nil, "", fmt.Errorf("%s holds labels but no embeddings", embeddings)
	case labels == "" && len(t.Columns) == 0:
		return nil, "", fmt.Errorf("%s holds no labels: give a file of labels", embeddings)
	case labels == "":
		return t, embeddings, nil
	}
	if from, err = ReadLabels(labels); err != nil {
		return nil, "", err
	}
	if from.Rows() != t.X.Rows {
		return nil, "", fmt.Errorf("%d labels in %s for %d embeddings in %s", from.Rows(), labels, t.X.Rows, embeddings)
	}
	return from, labels, nil
}

// labelled joins the embeddings of t with columns of from.
func (t *Table) labelled(from *Table, source string, names []string) (*Labelled, error) {
	out := &Labelled{X: t.X, Files: t.Files}
	if out.Files == nil {
		out.Files = from.Files
	}
	var err error
	if out.Columns, err = from.Select(names); err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return out, nil
}

// ReadLabels reads a file that must contain labels.
func ReadLabels(path string) (*Table, error) {
	t, err := Read(path)
	if err != nil {
		return nil, err
	}
	if len(t.Columns) == 0 {
		why := errors.New("no column of labels")
		if t.X != nil {
			why = errors.New("floating-point values: labels must be integers, for as float32 the ids above 2^24 " +
				"would merge")
		}
		return nil, fmt.Errorf("%s: %w", path, why)
	}
	return t, nil
}

// ReadAssignments reads a file with a single column of integers or names, such
// as a clustering, as numbers.
func ReadAssignments(path string) ([]int64, error) {
	t, err := ReadLabels(path)
	if err != nil {
		return nil, err
	}
	if len(t.Columns) != 1 {
		return nil, fmt.Errorf("%s: %d columns, want one assignment for each row", path, len(t.Columns))
	}
	ids, _ := Unify(&t.Columns[0])
	return ids[0], nil
}

// Labels returns the labels of all columns as numbers.
func (l *Labelled) Labels() [][]int64 {
	labels, _ := l.NamedLabels()
	return labels
}

// NamedLabels returns the labels of all columns as numbers, and the names of those
// that were text.
func (l *Labelled) NamedLabels() (labels [][]int64, names []map[int64]string) {
	for i := range l.Columns {
		ids, text := Unify(&l.Columns[i])
		labels, names = append(labels, ids[0]), append(names, nameMap(text))
	}
	return labels, names
}

// LabelsWith returns the labels of queries and gallery as numbers with the same
// meaning in both, and the names of those that were text; columns are matched
// by position.
func (l *Labelled) LabelsWith(gallery *Labelled) (queries, galleryLabels [][]int64, names []map[int64]string,
	err error) {
	if len(l.Columns) != len(gallery.Columns) {
		return nil, nil, nil, fmt.Errorf("%d columns of labels for the queries, %d for the gallery", len(l.Columns),
			len(gallery.Columns))
	}
	for i := range l.Columns {
		ids, text := Unify(&l.Columns[i], &gallery.Columns[i])
		queries, galleryLabels = append(queries, ids[0]), append(galleryLabels, ids[1])
		names = append(names, nameMap(text))
	}
	return queries, galleryLabels, names, nil
}

func nameMap(text []string) map[int64]string {
	if text == nil {
		return nil
	}
	m := make(map[int64]string, len(text))
	for i, n := range text {
		m[int64(i)] = n
	}
	return m
}

// ColumnNames returns the names of the columns of labels.
func (l *Labelled) ColumnNames() []string {
	var names []string
	for _, c := range l.Columns {
		names = append(names, c.Name)
	}
	return names
}
