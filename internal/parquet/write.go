package parquet

import (
	"io"
	"slices"

	pq "github.com/parquet-go/parquet-go"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/format/columns"
)

// listName is the name of the column of embeddings in written files.
const listName = "embedding"

// groupBytes is the approximate size of a row group, which is held in memory before it is written.
const groupBytes = 64 << 20

// blockRows is the number of rows that are passed to the library at a time.
const blockRows = 64

// write writes t, which has been checked.
func write(w io.Writer, t *embedding.Table) error {
	var cols []column
	if t.ID != nil {
		cols = append(cols, columnOf(columns.ID, t.ID))
	}
	if t.Files != nil {
		cols = append(cols, column{columns.File, pq.String(), func(i int) pq.Value { return text(t.Files[i]) }})
	}
	for i := range t.Columns {
		cols = append(cols, columnOf(t.Columns[i].Name, &t.Columns[i]))
	}
	schema := fields{Group: pq.Group{}}
	for _, c := range cols {
		schema.add(c.name, pq.Compressed(c.node, &pq.Zstd))
	}
	dim := 0
	if t.X != nil {
		dim = t.X.Cols
		schema.add(listName, pq.List(pq.Leaf(pq.FloatType)))
	}
	rowBytes := int64(4*dim + 32*len(cols))
	options := []pq.WriterOption{pq.NewSchema("embeddings", schema), pq.MaxRowsPerRowGroup(max(1, groupBytes/rowBytes))}
	if t.Network.Fingerprint != "" {
		network, err := t.Network.JSON()
		if err != nil {
			return err
		}
		options = append(options, pq.KeyValueMetadata(embedding.MetadataKey, string(network)))
	}
	out := newBlocks(pq.NewWriter(w, options...))
	for i := range t.Rows() {
		row := out.row(len(cols) + dim)
		for k, c := range cols {
			row = append(row, c.value(i).Level(0, 0, k))
		}
		if dim > 0 {
			row = appendList(row, t.X.Row(i), len(cols))
		}
		if err := out.write(row); err != nil {
			return err
		}
	}
	return out.close()
}

// appendList appends the values of the column of embeddings, whose number is given.
func appendList(row pq.Row, vector []float32, column int) pq.Row {
	for d, v := range vector {
		row = append(row, pq.FloatValue(v).Level(min(d, 1), 1, column))
	}
	return row
}

// blocks passes rows to the library, some at a time.
type blocks struct {
	out  rowWriter
	rows []pq.Row
}

// rowWriter is the writer of the library.
type rowWriter interface {
	WriteRows(rows []pq.Row) (int, error)
	Close() error
}

func newBlocks(out rowWriter) *blocks { return &blocks{out, make([]pq.Row, 0, blockRows)} }

// row returns an empty row with room for n values, in the memory of an earlier row if it can.
func (b *blocks) row(n int) pq.Row { return slices.Grow(b.rows[:len(b.rows)+1][len(b.rows)][:0], n) }

// write takes a row that begins as row returned it.
func (b *blocks) write(row pq.Row) error {
	if b.rows = append(b.rows, row); len(b.rows) < blockRows {
		return nil
	}
	return b.flush()
}

func (b *blocks) flush() error {
	_, err := b.out.WriteRows(b.rows)
	b.rows = b.rows[:0]
	return err
}

// close writes the last rows and the end of the file.
func (b *blocks) close() error {
	if err := b.flush(); err != nil {
		return err
	}
	return b.out.Close()
}

// column is a column other than the embeddings.
type column struct {
	name  string
	node  pq.Node
	value func(i int) pq.Value
}

func columnOf(name string, c *embedding.Column) column {
	if c.Text != nil {
		return column{name, pq.String(), func(i int) pq.Value { return text(c.Text[i]) }}
	}
	return column{name, pq.Int(64), func(i int) pq.Value { return pq.Int64Value(c.IDs[i]) }}
}

func text(s string) pq.Value { return pq.ByteArrayValue([]byte(s)) }

// fields is a group that keeps the order of its fields. The groups of the library sort theirs by name.
type fields struct {
	pq.Group
	names []string
}

func (f *fields) add(name string, n pq.Node) {
	f.Group[name] = n
	f.names = append(f.names, name)
}

// Fields returns the fields in their order.
func (f fields) Fields() []pq.Field {
	all := f.Group.Fields()
	slices.SortFunc(all, func(a, b pq.Field) int {
		return slices.Index(f.names, a.Name()) - slices.Index(f.names, b.Name())
	})
	return all
}
