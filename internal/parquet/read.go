package parquet

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/columns"
	"github.com/kindred-ml/kindred/matrix"
)

// parse reads a table. It recovers from panics of the library, which some malformed files cause.
func parse(r io.ReaderAt, size int64, fractions bool) (t *embedding.Table, err error) {
	defer func() {
		if p := recover(); p != nil {
			t, err = nil, fmt.Errorf("malformed Parquet: %v", p)
		}
	}()
	if err := checkFooter(r, size); err != nil {
		return nil, err
	}
	f, err := pq.OpenFile(r, size, pq.SkipPageIndex(true), pq.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	p, err := newReader(f, fractions)
	if err != nil {
		return nil, err
	}
	if err := p.checkRows(f); err != nil {
		return nil, err
	}
	if err := p.checkPages(r, size, f); err != nil {
		return nil, err
	}
	for _, g := range f.RowGroups() {
		if err := p.read(g); err != nil {
			return nil, err
		}
	}
	t, err = p.table()
	if text, ok := f.Lookup(embedding.MetadataKey); ok && err == nil {
		if t.Network, err = embedding.ParseNetwork([]byte(text)); err != nil {
			return nil, fmt.Errorf("the metadata %s: %w", embedding.MetadataKey, err)
		}
	}
	return t, err
}

// reader gathers the columns of the rows it is shown.
type reader struct {
	fractions bool // see Format

	leaves []leaf
	list   bool // embeddings are one list column
	dim    int  // number of coordinates of a row; for lists -1 until the first is read
	rows   int
	values []float32
	files  []string
	unread []embedding.SkippedColumn
	used   int64 // memory of the gathered values
	limit  int64 // limit of used
}

// leaf is a column of values.
type leaf struct {
	role   int // number of the coordinate, or one of the constants below
	name   string
	half   bool     // its floats are FLOAT16
	time   bool     // brief applies to its labels
	text   textFunc // writes labels and the names of items
	labels []string
}

const (
	roleIgnored = -1 - iota
	roleList
	roleFile
	roleLabel
)

func newReader(f *pq.File, fractions bool) (*reader, error) {
	p := &reader{fractions: fractions, dim: -1, limit: budget.Limit()}
	elements := leafElements(f.Metadata().Schema)
	coords := make(map[int]bool)
	for i, path := range f.Schema().Columns() {
		column, ok := f.Schema().Lookup(path...)
		if !ok || i >= len(elements) {
			return nil, fmt.Errorf("column %s has no leaf", strings.Join(path, "."))
		}
		if err := p.add(path, column, elements[i], coords); err != nil {
			return nil, err
		}
	}
	if len(coords) > 0 {
		if p.list {
			return nil, errors.New("embeddings both as a list and as columns")
		}
		p.dim = len(coords)
		for k := range coords {
			if k >= p.dim {
				return nil, fmt.Errorf("%d coordinates, but one is numbered %d", p.dim, k)
			}
		}
	}
	return p, nil
}

// leafElements returns the elements of a schema that hold values, in the order of the columns.
func leafElements(schema []format.SchemaElement) []*format.SchemaElement {
	var out []*format.SchemaElement
	for i := range schema {
		if schema[i].Type.Valid {
			out = append(out, &schema[i])
		}
	}
	return out
}

// add decides how a column is used. coords are the coordinates so far.
func (p *reader) add(path []string, column pq.LeafColumn, e *format.SchemaElement, coords map[int]bool) error {
	t := column.Node.Type()
	l := leaf{role: roleIgnored, name: path[0], half: isFloat16(e), time: isTime(e, t)}
	isFloat := t.Kind() == pq.Float || t.Kind() == pq.Double || l.half
	number, isCoordinate := columns.Coordinate(l.name)
	switch {
	case column.MaxRepetitionLevel == 1 && isFloat:
		if p.list {
			return fmt.Errorf("two list columns of floats, %s among them: keep the embeddings alone", l.name)
		}
		p.list = true
		l.role = roleList
	case column.MaxRepetitionLevel > 0:
		p.skipColumn(l.name, fmt.Sprintf("a list of %s", t))
	case isCoordinate && isFloat && len(path) == 1:
		if coords[number] {
			return fmt.Errorf("coordinate %d appears twice", number)
		}
		coords[number] = true
		l.role = number
	case isFloat && !p.fractions:
		p.skipColumn(l.name, embedding.ReasonFloats)
	default:
		l.name = strings.Join(path, ".") // a field of a structure has its full path as its name
		text, err := chooseTextFunc(e, t)
		if err != nil {
			p.skipColumn(l.name, err.Error())
			break
		}
		l.role, l.text = roleLabel, text
		isFile := func(c leaf) bool { return c.role == roleFile }
		if columns.IsFile(l.name) && !slices.ContainsFunc(p.leaves, isFile) {
			l.role = roleFile
		}
	}
	p.leaves = append(p.leaves, l)
	return nil
}

// skipColumn notes that a column is not read, and why.
func (p *reader) skipColumn(name, why string) {
	if !slices.ContainsFunc(p.unread, func(u embedding.SkippedColumn) bool { return u.Name == name }) {
		p.unread = append(p.unread, embedding.SkippedColumn{Name: name, Why: why})
	}
}

func (p *reader) read(g pq.RowGroup) error {
	rows := g.Rows()
	defer rows.Close()
	buf := make([]pq.Row, 256)
	for {
		n, err := rows.ReadRows(buf)
		for _, row := range buf[:n] {
			if err := p.row(row); err != nil {
				return err
			}
			p.rows++
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("row %d: %w", p.rows+1, err)
		case n == 0:
			return fmt.Errorf("row %d: no progress", p.rows+1)
		}
	}
}

func (p *reader) row(row pq.Row) error {
	start := len(p.values)
	if !p.list && p.dim > 0 {
		p.values = append(p.values, make([]float32, p.dim)...)
	}
	for _, v := range row {
		if err := p.value(v, start); err != nil {
			return err
		}
	}
	if p.used += 4 * int64(len(p.values)-start); p.used > p.limit {
		return &budget.Error{What: "the table", Limit: p.limit}
	}
	if !p.list {
		return nil
	}
	if p.dim < 0 {
		p.dim = len(p.values) - start
	}
	if d := len(p.values) - start; d != p.dim {
		return fmt.Errorf("row %d has %d coordinates, row 1 has %d", p.rows+1, d, p.dim)
	}
	return nil
}

// value gathers a value of the row whose coordinates begin at start.
func (p *reader) value(v pq.Value, start int) error {
	c := v.Column()
	if c < 0 || c >= len(p.leaves) {
		return fmt.Errorf("row %d: value in column %d of %d", p.rows+1, c, len(p.leaves))
	}
	l := &p.leaves[c]
	switch {
	case l.role == roleIgnored:
		return nil
	case v.IsNull() && l.role == roleLabel && l.name != columns.ID:
		p.used += columns.TextSize(0)
		l.labels = append(l.labels, "")
		return nil
	case v.IsNull():
		return fmt.Errorf("row %d: no value in column %s", p.rows+1, l.name)
	case l.role >= 0:
		p.values[start+l.role] = l.float(v)
		return nil
	case l.role == roleList:
		p.values = append(p.values, l.float(v))
		return nil
	}
	text, err := l.text(v)
	if err != nil && l.role == roleLabel {
		p.skipColumn(l.name, err.Error())
		l.role, l.labels = roleIgnored, nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("row %d: the column %s is %w", p.rows+1, l.name, err)
	}
	if l.role == roleFile {
		p.used += columns.TextSize(len(text))
		p.files = append(p.files, text)
	} else {
		p.used += columns.LabelSize(len(text))
		l.labels = append(l.labels, text)
	}
	return nil
}

// float returns a coordinate.
func (l *leaf) float(v pq.Value) float32 {
	switch {
	case l.half:
		return halfValue(v)
	case v.Kind() == pq.Double:
		return float32(v.Double())
	}
	return v.Float()
}

func (p *reader) table() (*embedding.Table, error) {
	var x *matrix.Dense
	if p.dim > 0 {
		x = matrix.FromSlice(p.rows, p.dim, p.values)
	}
	var labels []embedding.Column
	var names []string
	for i := range p.leaves {
		l := &p.leaves[i]
		names = append(names, l.name)
		if l.role != roleLabel {
			continue
		}
		if l.time {
			shortenFractions(l.labels)
		}
		labels = append(labels, embedding.NewColumn(l.name, l.labels))
	}
	if p.list && p.rows == 0 {
		return nil, errors.New("it has no rows")
	}
	if x == nil && len(labels) == 0 {
		why := ""
		if len(p.unread) > 0 {
			why = fmt.Sprintf(" (%s is %s)", p.unread[0].Name, p.unread[0].Why)
		}
		return nil, fmt.Errorf("neither embeddings nor labels among the columns %s%s", columns.Few(names), why)
	}
	t, err := embedding.NewTable(x, p.files, labels)
	if err != nil {
		return nil, err
	}
	t.Skipped = p.unread
	return t, nil
}
