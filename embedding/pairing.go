package embedding

import (
	"cmp"
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/internal/format/columns"
)

// WithLabels returns the embeddings of t with the labels of another table of the same rows. If t lacks names or ids,
// it takes them from that table too.
//
// If both tables have a column id, or else both have the names of the items, each
// row gets the labels of the row with the same id or name, in any order. The error
// names the first row that only one table has, the first name that two rows have,
// or the first row whose id has another name in the other table. Repeated names are
// no error if both tables list the same names in the same order. Tables that share
// neither ids nor names are paired row by row; see RowPairingReason.
func (t *Table) WithLabels(labels *Table) (*Table, error) {
	if t.X == nil {
		return nil, t.NoEmbeddingsError()
	}
	out := &Table{X: t.X, ID: t.ID, Files: t.Files, Regions: t.Regions, Digests: t.Digests, Columns: labels.Columns,
		Skipped: labels.Skipped, Network: t.Network, networkNote: t.networkNote, source: labels.source,
		vectors: cmp.Or(t.vectors, t.source), rows: t.rows}
	if labels != t {
		p := pairing{t, labels}
		order, byRow, err := p.order()
		if err != nil {
			return nil, err
		}
		out.rowPairing = byRow
		labels = labels.reorder(order)
		out.Columns = labels.Columns
	}
	if out.Files == nil {
		out.Files, out.Regions, out.Digests = labels.Files, labels.Regions, labels.Digests
	}
	if out.ID == nil {
		out.ID = labels.ID
	}
	return out, nil
}

// RowPairingReason returns the reason why labels from another file were paired with the embeddings row by
// row although one of the files names its rows. It is empty if names decided, and if neither file has names.
func (t *Table) RowPairingReason() string { return t.rowPairing }

// pairing finds the rows of labels that belong to the rows of a table.
type pairing struct{ t, labels *Table }

// order returns the row of the labels for each row of the table, or nil if they have the same order, and the
// result of RowPairingReason.
func (p pairing) order() (order []int, byRow string, err error) {
	t, l := p.t, p.labels
	if err := p.repeatedID(); err != nil {
		return nil, "", err
	}
	n := t.X.Rows
	switch {
	case t.ID != nil && l.ID != nil:
		if order, err = p.match(columns.ID, t.ID.At, l.ID.At); err != nil {
			return nil, "", err
		}
		return order, "", p.checkNames(order)
	case t.Files != nil && l.Files != nil:
		names, labelled := t.Files, l.Files
		if t.Regions != nil && l.Regions != nil {
			names, labelled = t.ItemNames(), l.ItemNames()
		}
		order, err = p.match(columns.File, nameAt(names), nameAt(labelled))
		return order, "", err
	case l.Rows() != n:
		return nil, "", fmt.Errorf("%d labels in %s for %d embeddings in %s", l.Rows(), l.sourceName(), n,
			t.sourceName())
	}
	return nil, p.rowReason(), nil
}

func nameAt(names []string) func(int) string { return func(i int) string { return names[i] } }

// match finds for each row of the table the row of the labels with the same key.
func (p pairing) match(what string, key, labelled func(int) string) ([]int, error) {
	n, m := p.t.X.Rows, p.labels.Rows()
	same := n == m
	for i := 0; same && i < n; i++ {
		same = key(i) == labelled(i)
	}
	if same {
		return nil, nil
	}
	rows := make(map[string]int, m)
	for i := range m {
		k := labelled(i)
		if j, twice := rows[k]; twice {
			return nil, duplicateError(p.labels, what, k, j, i)
		}
		rows[k] = i
	}
	order, taken := make([]int, n), make(map[int]int, n)
	for i := range n {
		j, ok := rows[key(i)]
		if !ok {
			return nil, missingError(p.labels, p.t, what, key(i), i)
		}
		if before, twice := taken[j]; twice {
			return nil, duplicateError(p.t, what, key(i), before, i)
		}
		order[i], taken[j] = j, i
	}
	for j := range m {
		if _, ok := taken[j]; !ok {
			return nil, missingError(p.t, p.labels, what, labelled(j), j)
		}
	}
	return order, nil
}

func duplicateError(in *Table, what, key string, first, second int) error {
	return fmt.Errorf("%s: rows %d and %d both have the %s %q, by which labels are matched with embeddings: "+
		"give each row one of its own, or leave that column out", in.sourceName(), first+1, second+1, what, key)
}

func missingError(from, in *Table, what, key string, row int) error {
	return fmt.Errorf("%s has no row with the %s %q of row %d of %s: embeddings and labels are matched by %s, and "+
		"must have the same rows", from.sourceName(), what, key, row+1, in.sourceName(), what)
}

// checkNames returns an error for the first row whose name differs in the labels.
func (p pairing) checkNames(order []int) error {
	t, l := p.t, p.labels
	if t.Files == nil || l.Files == nil {
		return nil
	}
	for i, name := range t.Files {
		j := i
		if order != nil {
			j = order[i]
		}
		if l.Files[j] != name {
			return fmt.Errorf("id %q is %q in row %d of %s but %q in row %d of %s: the files are of different items, "+
				"or one of them has other ids", t.ID.At(i), name, i+1, t.sourceName(), l.Files[j], j+1, l.sourceName())
		}
	}
	return nil
}

// repeatedID returns an error if one table has ids and the column id of the other has a value twice, so that it
// became a label. It does not if that is the only column of labels.
func (p pairing) repeatedID() error {
	t, l := p.t, p.labels
	for _, pair := range [][2]*Table{{t, l}, {l, t}} {
		c := pair[1].Column(columns.ID)
		if pair[0].ID == nil || c == nil || pair[1] == l && len(l.Columns) == 1 {
			continue
		}
		if j, i, twice := c.firstDuplicate(); twice {
			return duplicateError(pair[1], columns.ID, c.At(i), j, i)
		}
	}
	return nil
}

// CheckIDs returns an error if the table has a column id that was read as labels because two rows have the same
// value.
func (t *Table) CheckIDs() error {
	c := t.Column(columns.ID)
	if c == nil || t.ID != nil {
		return nil
	}
	if j, i, twice := c.firstDuplicate(); twice {
		return fmt.Errorf("%s: rows %d and %d both have the id %q: give each row one of its own, or call that "+
			"column something else", t.sourceName(), j+1, i+1, c.At(i))
	}
	return nil
}

// firstDuplicate returns the first two rows with the same value, if there are any.
func (c *Column) firstDuplicate() (first, second int, ok bool) {
	seen := make(map[string]int)
	for i := range c.Len() {
		if j, ok := seen[c.At(i)]; ok {
			return j, i, true
		}
		seen[c.At(i)] = i
	}
	return 0, 0, false
}

// rowReason returns the reason why rows are paired by their place, if one of the tables has names.
func (p pairing) rowReason() string {
	named, labelled := p.t.nameColumn(), p.labels.nameColumn()
	switch {
	case named == labelled: // neither has names
		return ""
	case named == "":
		return fmt.Sprintf("%s names no rows: row i of %s labels its row i, whatever %s it has", p.t.sourceName(),
			p.labels.sourceName(), labelled)
	case labelled == "":
		return fmt.Sprintf("%s names no rows: its row i labels row i of %s", p.labels.sourceName(), p.t.sourceName())
	}
	return fmt.Sprintf("%s names its rows by %s and %s by %s: row i of the one labels row i of the other",
		p.t.sourceName(), named, p.labels.sourceName(), labelled)
}

// nameColumn returns the column that names the rows, or "" without such a column.
func (t *Table) nameColumn() string {
	switch {
	case t.ID != nil:
		return columns.ID
	case t.Files != nil:
		return columns.File
	}
	return ""
}

// reorder returns the rows of t in an order; nil means the present order.
func (t *Table) reorder(order []int) *Table {
	if order == nil {
		return t
	}
	out := &Table{Files: lists.At(t.Files, order), Regions: lists.At(t.Regions, order),
		Digests: lists.At(t.Digests, order),
		Skipped: t.Skipped, Network: t.Network, networkNote: t.networkNote, source: t.source, vectors: t.vectors}
	for _, i := range order {
		out.rows = append(out.rows, t.Row(i))
	}
	if t.ID != nil {
		id := t.ID.takeRows(order)
		out.ID = &id
	}
	for i := range t.Columns {
		out.Columns = append(out.Columns, t.Columns[i].takeRows(order))
	}
	return out
}

// takeRows returns the labels of the rows of a list, in its order.
func (c *Column) takeRows(rows []int) Column {
	return Column{Name: c.Name, IDs: lists.At(c.IDs, rows), Text: lists.At(c.Text, rows)}
}
