package gallery

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
)

// Set is photos with their embeddings: what is looked up, or the items of a Table.
type Set struct {
	Table   *embedding.Table
	Data    *data.Dataset // nil of embeddings whose photos are not known
	Root    string        // of the names
	LeftOut []data.LeftOut
}

// Close closes the photos.
func (s *Set) Close() {
	if s.Data != nil {
		s.Data.Close() // what was read from it is there
	}
}

// Sample is what photo i is called in its data set, "" if it has no name.
func (s *Set) Sample(i int) string {
	if s.Table.Files == nil {
		return ""
	}
	return s.Table.Files[i]
}

// Path is the file of photo i: its name below the folder of the set, "" if it has none.
func (s *Set) Path(i int) string {
	name := filepath.FromSlash(s.Sample(i))
	if name == "" || s.Root == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.Root, name)
}

// Label is the class of photo i by the first column, "" if it is not known.
func (s *Set) Label(i int) string {
	if len(s.Table.Columns) == 0 {
		return ""
	}
	return s.Table.Columns[0].At(i)
}

// Queries asks for the neighbours of every photo. Those without a name are called by their row in a file.
func (s *Set) Queries(file string) []Query {
	list := make([]Query, s.Table.Rows())
	for i := range list {
		path := s.Path(i)
		list[i] = Query{Name: cmp.Or(path, rowName(file, i)), Path: path, Vector: s.Table.X.Row(i)}
	}
	return list
}

// ByVector are the queries for the embeddings of a file, which must have dim numbers, without their paths.
func ByVector(t *embedding.Table, file string, dim int) ([]Query, error) {
	if t.X == nil || t.X.Cols != dim {
		return nil, fmt.Errorf("%s holds no embeddings of %d numbers, as the index does", file, dim)
	}
	list := make([]Query, t.X.Rows)
	for i := range list {
		list[i] = Query{Name: rowName(file, i), Vector: t.X.Row(i)}
	}
	return list, nil
}

func rowName(file string, i int) string { return fmt.Sprintf("%s, row %d", file, i+1) }

// Picture is where the picture of a photo is: in a data set, if there is one, or else in the file of its name.
type Picture struct {
	Name, Label string
	Data        *data.Dataset
	Sample      string // its name in the data set
}

// Picture is that of photo i.
func (s *Set) Picture(i int) Picture {
	p := Picture{Name: s.Path(i), Label: s.Label(i)}
	if name := s.Sample(i); name != "" && s.Data != nil {
		p.Data, p.Sample = s.Data, name
	}
	return p
}
