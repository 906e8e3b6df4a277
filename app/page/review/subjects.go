package review

import (
	"image"
	"os"
	"path/filepath"
	"strconv"
)

// Subjects are the items that a page asks about, and what tables call them.
type Subjects struct {
	Labels []int64
	Names  map[int64]string // of the classes; nil if they have none
	Paths  []string         // what the data set calls the items; nil if they have no names
	Splits []string         // nil if there are none
	Index  []int            // in the data set; nil if they are rows of a file
	Root   string           // below which the files lie

	// Picture is the picture of item i; nil where there are none.
	Picture func(i int) (image.Image, error)
}

// Shot is the picture of item i on the page. One that cannot be read has no image.
func (s *Subjects) Shot(i int, caption string) Picture {
	p := Picture{Caption: caption}
	if s.Picture != nil {
		if im, err := s.Picture(i); err == nil {
			p.Image = im
		}
	}
	return p
}

// Name is what tables call item i: its path, or its row.
func (s *Subjects) Name(i int) string {
	if s.Paths == nil {
		return "row " + strconv.Itoa(i)
	}
	return s.Paths[i]
}

// ID is the number of item i in its data set or file.
func (s *Subjects) ID(i int) int {
	if s.Index == nil {
		return i
	}
	return s.Index[i]
}

// Label is the name of the class of item i.
func (s *Subjects) Label(i int) string { return s.ClassName(s.Labels[i]) }

// ClassName is the name of a class, or its number.
func (s *Subjects) ClassName(l int64) string {
	if n, ok := s.Names[l]; ok {
		return n
	}
	return strconv.FormatInt(l, 10)
}

// Split is the split of item i, "" without any.
func (s *Subjects) Split(i int) string {
	if s.Splits == nil {
		return ""
	}
	return s.Splits[i]
}

// ManifestPath is the whole path of the file of item i, so that a manifest can lie
// anywhere. An item that is no regular file has its name.
func (s *Subjects) ManifestPath(i int) string {
	name := s.Name(i)
	path := filepath.FromSlash(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Root, path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return name
	}
	if st, err := os.Stat(abs); err != nil || !st.Mode().IsRegular() {
		return name
	}
	return abs
}

// Items are the lines of the manifest, for a Page.
func (s *Subjects) Items() []Item {
	items := make([]Item, len(s.Labels))
	for i := range items {
		items[i] = Item{Path: s.ManifestPath(i), Name: s.Name(i), Label: s.Label(i), Split: s.Split(i)}
	}
	return items
}

// Manifest is the table that training takes, with the given labels; coarse is nil, or the
// coarser ones. Items for which keep returns false are left out; a nil keep keeps all.
func (s *Subjects) Manifest(label, coarse func(i int) string, keep func(i int) bool) [][]string {
	row := func(path, label, coarseLabel, split string) []string {
		out := []string{path, label}
		if coarse != nil {
			out = append(out, coarseLabel)
		}
		if s.Splits != nil {
			out = append(out, split)
		}
		return out
	}
	rows := [][]string{row("path", "label", "coarse", "split")}
	for i := range s.Labels {
		if keep != nil && !keep(i) {
			continue
		}
		above := ""
		if coarse != nil {
			above = coarse(i)
		}
		rows = append(rows, row(s.ManifestPath(i), label(i), above, s.Split(i)))
	}
	return rows
}
