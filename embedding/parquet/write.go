package parquet

import (
	"io"
	"slices"

	pq "github.com/parquet-go/parquet-go"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/embedding/internal/columns"
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
	out := pq.NewWriter(w, options...)
	rows := make([]pq.Row, 0, blockRows)
	for i := range t.Rows() {
		row := slices.Grow(rows[:len(rows)+1][len(rows)][:0], len(cols)+dim)
		for k, c := range cols {
			row = append(row, c.value(i).Level(0, 0, k))
		}
		for d := range dim {
			row = append(row, pq.FloatValue(t.X.Row(i)[d]).Level(min(d, 1), 1, len(cols)))
		}
		if rows = append(rows, row); len(rows) < blockRows && i+1 < t.Rows() {
			continue
		}
		if _, err := out.WriteRows(rows); err != nil {
			return err
		}
		rows = rows[:0]
	}
	return out.Close()
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
