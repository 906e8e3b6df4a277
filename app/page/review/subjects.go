package review

import (
	"image"
	"os"
	"path/filepath"
	"strconv"
)

// Subjects are the items of a set, with their names and labels in tables and on pages.
type Subjects struct {
	Labels []int64
	Names  map[int64]string // names of the classes; nil without names
	Paths  []string         // names of the items in the data set; nil without names
	Splits []string         // nil if there are none
	Index  []int            // numbers in the data set; nil if the items are rows of a file
	Root   string           // folder that holds the files

	// Picture returns the picture of item i; nil without pictures.
	Picture func(i int) (image.Image, error)
}

// Shot returns the picture of item i on the page, without an image if it cannot be read.
func (s *Subjects) Shot(i int, caption string) Picture {
	p := Picture{Caption: caption}
	if s.Picture != nil {
		if im, err := s.Picture(i); err == nil {
			p.Image = im
		}
	}
	return p
}

// Name returns the name of item i in tables: its path, or its row.
func (s *Subjects) Name(i int) string {
	if s.Paths == nil {
		return "row " + strconv.Itoa(i)
	}
	return s.Paths[i]
}

// ID returns the number of item i in its data set or file.
func (s *Subjects) ID(i int) int {
	if s.Index == nil {
		return i
	}
	return s.Index[i]
}

// Label returns the name of the class of item i.
func (s *Subjects) Label(i int) string { return s.ClassName(s.Labels[i]) }

// ClassName returns the name of a class, or its number.
func (s *Subjects) ClassName(l int64) string {
	if n, ok := s.Names[l]; ok {
		return n
	}
	return strconv.FormatInt(l, 10)
}

// Split returns the split of item i, "" without one.
func (s *Subjects) Split(i int) string {
	if s.Splits == nil {
		return ""
	}
	return s.Splits[i]
}

// ManifestPath returns the whole path of the file of item i, so that a manifest can be
// in any folder. For an item that is not a regular file it returns the item's name.
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

// Items returns the lines of the manifest, for a Page.
func (s *Subjects) Items() []Item {
	items := make([]Item, len(s.Labels))
	for i := range items {
		items[i] = Item{Path: s.ManifestPath(i), Name: s.Name(i), Label: s.Label(i), Split: s.Split(i)}
	}
	return items
}

// Manifest returns the table for training, with the given labels and, if coarse is not nil,
// the coarse labels. Items for which keep returns false are left out; a nil keep keeps all.
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
