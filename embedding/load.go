package embedding

import (
	"errors"
	"fmt"
)

// Read reads a file of a Standard format.
func Read(path string) (*Table, error) { return Formats(nil).Read(path) }

// Write writes a file of a Standard format.
func Write(path string, t *Table) error { return Formats(nil).Write(path, t) }

// Load is Formats.Load for the Standard formats.
func Load(embeddings, labels string, names []string) (*Table, error) {
	return Formats(nil).Load(embeddings, labels, names)
}

// Load reads embeddings from one file and their labels from another, or from the
// same one if labels is empty. names selects columns of labels; see
// Table.Select.
func (f Formats) Load(embeddings, labels string, names []string) (*Table, error) {
	t, err := f.labelled(embeddings, labels)
	if err != nil {
		return nil, err
	}
	return t.Select(names...)
}

// labelled reads embeddings with all columns of labels there are, at least one.
func (f Formats) labelled(embeddings, labels string) (*Table, error) {
	t, err := f.Read(embeddings)
	if err != nil {
		return nil, err
	}
	return f.Label(t, labels)
}

// Label returns the embeddings of t with the labels in a file, or with its own if
// labels is empty.
func (f Formats) Label(t *Table, labels string) (*Table, error) {
	switch {
	case labels != "":
		from, err := f.ReadLabels(labels)
		if err != nil {
			return nil, err
		}
		return t.With(from)
	case t.X != nil && len(t.Columns) == 0:
		return nil, fmt.Errorf("%s holds no labels: give a file of labels", t.from())
	}
	return t.With(t)
}

// ReadLabels reads a file that must contain labels.
func (f Formats) ReadLabels(path string) (*Table, error) {
	t, err := f.Read(path)
	if err != nil {
		return nil, err
	}
	if len(t.Columns) == 0 {
		why := errors.New("no column of labels")
		if t.X != nil {
			why = errors.New("floating-point values: labels must be integers, " +
				"for as float32 the ids above 2^24 would merge")
		}
		return nil, fmt.Errorf("%s: %w", path, why)
	}
	return t, nil
}

// ReadAssignments reads a file with a single column of integers or names, such
// as a clustering, as numbers.
func (f Formats) ReadAssignments(path string) ([]int64, error) {
	t, err := f.ReadLabels(path)
	if err != nil {
		return nil, err
	}
	if len(t.Columns) != 1 {
		return nil, fmt.Errorf("%s: %d columns, want one assignment for each row", path, len(t.Columns))
	}
	ids, _ := Unify(&t.Columns[0])
	return ids[0], nil
}

// LoadCoarse reads embeddings with the labels they were trained with as the
// first column and, if there are any, finer ones as the second; see
// Table.Coarse.
func (f Formats) LoadCoarse(embeddings, labels, label, fine string) (*Table, error) {
	t, err := f.labelled(embeddings, labels)
	if err != nil {
		return nil, err
	}
	return t.Coarse(label, fine)
}

// Coarse returns t with the labels it was trained with as the first column and,
// if there are any, finer ones as the second. label and fine name the columns; if
// they are empty, the first is the column coarse, else label, else the only one,
// and the second is the column fine, or label if the first is coarse. A second
// column equal to the first is left out.
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
