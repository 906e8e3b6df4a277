package parquet

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	pq "github.com/parquet-go/parquet-go"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/embedding/internal/columns"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/mat"
)

// parse guards the library: on some malformed files it panics.
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
	p, err := newReader(f.Schema(), fractions)
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

// reader gathers the columns of the rows it is shown.
type reader struct {
	fractions bool // see Format

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

func newReader(s *pq.Schema, fractions bool) (*reader, error) {
	p := &reader{fractions: fractions, dim: -1, text: make(map[int][]string), limit: budget.Limit()}
	coords := make(map[int]bool)
	for i, path := range s.Columns() {
		leaf, ok := s.Lookup(path...)
		if !ok {
			return nil, fmt.Errorf("column %s has no leaf", strings.Join(path, "."))
		}
		name, kind := path[0], leaf.Node.Type().Kind()
		isFloat := kind == pq.Float || kind == pq.Double
		number, isCoordinate := columns.Coordinate(name)
		role := roleIgnored
		switch {
		case leaf.MaxRepetitionLevel == 1 && isFloat:
			if p.list {
				return nil, fmt.Errorf("two list columns of floats, %s among them: keep the embeddings "+
					"alone", name)
			}
			p.list = true
			role = roleList
		case leaf.MaxRepetitionLevel > 0: // nested data of no use here
		case isCoordinate && isFloat:
			if coords[number] {
				return nil, fmt.Errorf("coordinate %d appears twice", number)
			}
			coords[number] = true
			role = number
		case isFloat && !fractions || kind == pq.Int96:
		case columns.IsFile(name) && !slices.Contains(p.role, roleFile):
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
			return fmt.Errorf("row %d: %w", p.rows, err)
		case n == 0:
			return fmt.Errorf("row %d: no progress", p.rows)
		}
	}
}

func (p *reader) row(row pq.Row) error {
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
		if v.IsNull() && p.fractions && role == roleLabel && p.names[c] != columns.ID {
			p.text[c] = append(p.text[c], "")
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
func (p *reader) string(v pq.Value) string {
	var s string
	switch v.Kind() {
	case pq.Float:
		s = strconv.FormatFloat(float64(v.Float()), 'g', -1, 32)
	case pq.Double:
		s = strconv.FormatFloat(v.Double(), 'g', -1, 64)
	default:
		s = v.String()
	}
	p.used += columns.TextSize(len(s))
	return s
}

func float(v pq.Value) float32 {
	if v.Kind() == pq.Double {
		return float32(v.Double())
	}
	return v.Float()
}

func (p *reader) table() (*embedding.Table, error) {
	var x *mat.Dense
	if p.dim > 0 {
		x = mat.Of(p.rows, p.dim, p.values)
	}
	var labels []embedding.Column
	for _, c := range p.labels {
		labels = append(labels, embedding.NewColumn(p.names[c], p.text[c]))
	}
	if x == nil && len(labels) == 0 {
		return nil, fmt.Errorf("neither embeddings nor labels among the columns %s", columns.Few(p.names))
	}
	return embedding.NewTable(x, p.files, labels)
}
