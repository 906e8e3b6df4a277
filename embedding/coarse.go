package embedding

import "slices"

// LoadCoarse reads embeddings with the labels they were trained with as the
// first column and, if there are any, finer ones as the second. label and fine
// name the columns; if they are empty, the first is the column coarse, else
// label, else the only one, and the second is the column fine, or label if the
// first is coarse. A second column equal to the first is left out.
func LoadCoarse(embeddings, labels, label, fine string) (*Labelled, error) {
	t, err := Read(embeddings)
	if err != nil {
		return nil, err
	}
	from, source, err := t.labels(embeddings, labels)
	if err != nil {
		return nil, err
	}
	if label == "" && from.Column("coarse") != nil {
		label = "coarse"
	}
	if label == "" && from.Column("label") != nil {
		label = "label"
	}
	if fine == "" && label != "fine" && from.Column("fine") != nil {
		fine = "fine"
	}
	if fine == "" && label == "coarse" && from.Column("label") != nil {
		fine = "label"
	}
	var names []string
	if label != "" {
		names = append(names, label)
		if fine != "" {
			names = append(names, fine)
		}
	}
	l, err := t.labelled(from, source, names)
	if err != nil {
		return nil, err
	}
	if len(l.Columns) == 2 && slices.Equal(l.Columns[0].IDs, l.Columns[1].IDs) &&
		slices.Equal(l.Columns[0].Text, l.Columns[1].Text) {
		l.Columns = l.Columns[:1]
	}
	if label == "" {
		l.Columns = l.Columns[:1]
	}
	return l, nil
}
