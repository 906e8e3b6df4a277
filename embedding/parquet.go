package embedding

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/kindred-ml/kindred/internal/budget"
	"github.com/kindred-ml/kindred/mat"
)

// readParquet reads a Parquet file: embeddings as one list column of floats or as
// columns embedding_0, embedding_1, ...; filename (or file, path) names the items;
// columns of integers, booleans and text are labels.
func readParquet(path string) (*Table, error) {
	f, size, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := parseParquet(f, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// parseParquet guards the library: on some malformed files it panics.
func parseParquet(r io.ReaderAt, size int64) (t *Table, err error) {
	defer func() {
		if p := recover(); p != nil {
			t, err = nil, fmt.Errorf("malformed Parquet: %v", p)
		}
	}()
	if err := checkFooter(r, size); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	p, err := newParquetReader(f.Schema())
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
	return p.table()
}

// parquetReader gathers the columns of the rows it is shown.
type parquetReader struct {
	role   []int // by leaf column: coordinate number, or one of the below
	names  []string
	list   bool // embeddings are one list column
	dim    int  // coordinates of a row; of lists -1 until the first is seen
	rows   int
	values []float32
	files  []string
	text   map[int][]string // labels by leaf column
	labels []int            // their leaf columns in order
	used   int64            // bytes gathered
	limit  int64            // of them
}

const (
	roleIgnored = -1 - iota
	roleList
	roleFile
	roleLabel
)

func newParquetReader(s *parquet.Schema) (*parquetReader, error) {
	p := &parquetReader{dim: -1, text: make(map[int][]string), limit: budget.Limit()}
	coords := make(map[int]bool)
	for i, path := range s.Columns() {
		leaf, ok := s.Lookup(path...)
		if !ok {
			return nil, fmt.Errorf("column %s has no leaf", strings.Join(path, "."))
		}
		name, kind := path[0], leaf.Node.Type().Kind()
		isFloat := kind == parquet.Float || kind == parquet.Double
		rest, isCoord := strings.CutPrefix(name, coordinatePrefix)
		number, err := strconv.Atoi(rest)
		role := roleIgnored
		switch {
		case leaf.MaxRepetitionLevel == 1 && isFloat:
			if p.list {
				return nil, fmt.Errorf("two list columns of floats, %s among them: which are the embeddings?", name)
			}
			p.list = true
			role = roleList
		case leaf.MaxRepetitionLevel > 0: // nested data of no use here
		case isCoord && err == nil && number >= 0 && isFloat:
			if coords[number] {
				return nil, fmt.Errorf("coordinate %d appears twice", number)
			}
			coords[number] = true
			role = number
		case isFloat || kind == parquet.Int96:
		case slices.Contains(fileColumns, name):
			role = roleFile
		default:
			role = roleLabel
			p.labels = append(p.labels, i)
		}
		p.role, p.names = append(p.role, role), append(p.names, name)
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

func (p *parquetReader) read(g parquet.RowGroup) error {
	rows := g.Rows()
	defer rows.Close()
	buf := make([]parquet.Row, 256)
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
			return fmt.Errorf("row %d: %w", p.rows, err)
		case n == 0:
			return fmt.Errorf("row %d: no progress", p.rows)
		}
	}
}

func (p *parquetReader) row(row parquet.Row) error {
	start := len(p.values)
	if !p.list && p.dim > 0 {
		p.values = append(p.values, make([]float32, p.dim)...)
	}
	for _, v := range row {
		c := v.Column()
		if c < 0 || c >= len(p.role) {
			return fmt.Errorf("row %d: value in column %d of %d", p.rows, c, len(p.role))
		}
		role := p.role[c]
		if role == roleIgnored {
			continue
		}
		if v.IsNull() {
			return fmt.Errorf("row %d: no value in column %s", p.rows, p.names[c])
		}
		switch {
		case role >= 0:
			p.values[start+role] = float(v)
		case role == roleList:
			p.values = append(p.values, float(v))
		case role == roleFile:
			p.files = append(p.files, p.string(v))
		default:
			p.text[c] = append(p.text[c], p.string(v))
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
		return fmt.Errorf("row %d has %d coordinates, row 0 has %d", p.rows, d, p.dim)
	}
	return nil
}

// string is the text of v, counted.
func (p *parquetReader) string(v parquet.Value) string {
	s := v.String()
	p.used += textSize(len(s))
	return s
}

func float(v parquet.Value) float32 {
	if v.Kind() == parquet.Double {
		return float32(v.Double())
	}
	return v.Float()
}

func (p *parquetReader) table() (*Table, error) {
	t := &Table{Files: p.files}
	if p.dim > 0 {
		t.X = mat.Of(p.rows, p.dim, p.values)
	}
	for _, c := range p.labels {
		t.Columns = append(t.Columns, column(p.names[c], p.text[c]))
	}
	if t.X == nil && len(t.Columns) == 0 {
		return nil, fmt.Errorf("neither embeddings nor labels among the columns %s", some(p.names))
	}
	return t, nil
}
