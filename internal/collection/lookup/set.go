package lookup

import (
	"path/filepath"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/embedding"
)

// Set has photos with their embeddings: queries, or the items of a Table.
type Set struct {
	Table   *embedding.Table
	Data    *data.Dataset // nil for embeddings without known photos
	Root    string        // folder of the names
	LeftOut []data.LeftOut
}

// Close closes the photos.
func (s *Set) Close() {
	if s.Data != nil {
		s.Data.Close() // its error does not matter after reading
	}
}

// Sample returns the name of photo i in its data set; "" without a name.
func (s *Set) Sample(i int) string {
	if s.Table.Files == nil {
		return ""
	}
	return s.Table.Item(i).Name()
}

// Region returns the part of the picture that item i is; "" for the whole picture.
func (s *Set) Region(i int) string {
	if s.Table.Regions == nil {
		return ""
	}
	return s.Table.Regions[i]
}

// WholePath is Path for an item that is a whole picture; "" for a part of one.
func (s *Set) WholePath(i int) string {
	if s.Region(i) != "" {
		return ""
	}
	return s.Path(i)
}

// Path returns the file of photo i, below the folder of the set; "" without a name.
func (s *Set) Path(i int) string {
	if s.Table.Files == nil {
		return ""
	}
	name := filepath.FromSlash(s.Table.Files[i])
	if name == "" || s.Root == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.Root, name)
}

// Label returns the class of photo i by the first column; "" if unknown.
func (s *Set) Label(i int) string {
	if len(s.Table.Columns) == 0 {
		return ""
	}
	return s.Table.Columns[0].At(i)
}

// Picture is the place of a photo's picture: in a data set if there is one, else in a file.
type Picture struct {
	Name, Label string
	Region      string // the part of the picture; "" for all of it
	Data        *data.Dataset
	Sample      string // its name in the data set
}

// Picture returns the picture of photo i.
func (s *Set) Picture(i int) Picture {
	p := Picture{Name: s.Path(i), Label: s.Label(i), Region: s.Region(i)}
	if name := s.Sample(i); name != "" && s.Data != nil {
		p.Data, p.Sample = s.Data, name
	}
	return p
}
