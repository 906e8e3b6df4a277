package parquet

import (
	"fmt"
	"io"
	"iter"

	pq "github.com/parquet-go/parquet-go"
)

// Kind is the type of the values of a field.
type Kind int

// The kinds.
const (
	Text   Kind = iota // string
	Number             // float64
	Bool               // bool
)

// Field is a column of records.
type Field struct {
	Name string
	Kind Kind
}

// Record has a value for each field, of the field's kind or nil for a missing one, and perhaps an embedding.
type Record struct {
	Values []any
	Vector []float32
}

// WriteRecords writes records as they come. dim is the length of their embeddings, which become the column embedding;
// 0 writes none. It returns the number of records and the first error of records or of w.
func WriteRecords(w io.Writer, of []Field, dim int, records iter.Seq2[Record, error]) (n int, err error) {
	schema := fields{Group: pq.Group{}}
	nodes := [...]pq.Node{Text: pq.String(), Number: pq.Leaf(pq.DoubleType), Bool: pq.Leaf(pq.BooleanType)}
	for _, f := range of {
		if schema.Group[f.Name] != nil || dim > 0 && f.Name == listName {
			return 0, fmt.Errorf("two columns would be called %s", f.Name)
		}
		schema.add(f.Name, pq.Optional(pq.Compressed(nodes[f.Kind], &pq.Zstd)))
	}
	if dim > 0 {
		schema.add(listName, pq.List(pq.Leaf(pq.FloatType)))
	}
	out := newBlocks(pq.NewWriter(w, pq.NewSchema("items", schema),
		pq.MaxRowsPerRowGroup(max(1, groupBytes/int64(4*dim+32*len(of)+1)))))
	for r, err := range records {
		if err != nil {
			return n, err
		}
		row := out.row(len(of) + dim)
		for k, v := range r.Values {
			row = append(row, recordValue(v).Level(0, definitionLevel(v), k))
		}
		if err := out.write(appendList(row, r.Vector[:dim], len(of))); err != nil {
			return n, err
		}
		n++
	}
	return n, out.close()
}

// recordValue returns a value of a record for the library; the null value if it is missing.
func recordValue(v any) pq.Value {
	if s, ok := v.(string); ok {
		return text(s)
	}
	return pq.ValueOf(v)
}

// definitionLevel is the definition level of a value of an optional column.
func definitionLevel(v any) int {
	if v == nil {
		return 0
	}
	return 1
}
