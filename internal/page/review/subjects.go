package review

import (
	"image"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/embedding"
)

// Subjects are the items of a set, with their names and labels in tables and on pages.
type Subjects struct {
	IDs    []string         // own ids of the items; nil if their names are their ids
	Items  []embedding.Item // nil if the items have no paths, so that they must have IDs
	Labels []int64
	Names  map[int64]string // names of the classes; nil without names
	Finer  []string         // labels finer than Labels; nil without them
	Splits []string         // nil if there are none
	Index  []int            // numbers in the data set; nil if the items are rows of a file
	Rows   []int            // numbers of the rows of a file, from 0; nil if they are in Index
	Root   string           // folder that holds the files
	// Others are the other columns of the table that the items were read from. A manifest keeps them.
	Others []embedding.Column

	// Picture returns the picture of item i; nil without pictures.
	Picture func(i int) (image.Image, error)
}

// PictureOf returns the picture of item i on the page, without an image if it cannot be read.
func (s *Subjects) PictureOf(i int, caption string) Picture {
	p := Picture{Caption: caption}
	if s.Picture != nil {
		if im, err := s.Picture(i); err == nil {
			p.Image = im
		}
	}
	return p
}

// ID returns the id of item i.
func (s *Subjects) ID(i int) string {
	if s.IDs == nil {
		return s.Name(i)
	}
	return s.IDs[i]
}

// Row returns the number of item i in its file or data set, from 0.
func (s *Subjects) Row(i int) int {
	switch {
	case s.Rows != nil:
		return s.Rows[i]
	case s.Index != nil:
		return s.Index[i]
	}
	return i
}

// Name returns the name of item i in tables: that of its picture, or its id.
func (s *Subjects) Name(i int) string {
	if s.Items == nil {
		return s.IDs[i]
	}
	return s.Items[i].Name()
}

// Paths returns the names of the items by which a data set finds their pictures; nil without paths.
func (s *Subjects) Paths() []string {
	if s.Items == nil {
		return nil
	}
	out := make([]string, len(s.Items))
	for i := range out {
		out[i] = s.Name(i)
	}
	return out
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
// in any folder. For an item that is not a regular file it returns the item's path.
func (s *Subjects) ManifestPath(i int) string {
	if s.Items == nil {
		return s.IDs[i]
	}
	name := s.Items[i].Path
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

// manifestItems returns the lines of the manifest, for a Page.
func (s *Subjects) manifestItems() []Item {
	list := make([]Item, len(s.Labels))
	for i := range list {
		list[i] = Item{Path: s.ManifestPath(i), Name: s.Name(i), Label: s.Label(i), Split: s.Split(i)}
	}
	return list
}

// Page returns a page about the items, without cards.
func (s *Subjects) Page(title string) *Page {
	return &Page{Title: title, Items: s.manifestItems(), Finer: s.Finer, Others: s.furtherColumns()}
}

// furtherColumns returns the columns of a manifest after path, labels and split: the boxes, and the other columns.
func (s *Subjects) furtherColumns() []embedding.Column {
	names := embedding.BoxColumns()
	out := make([]embedding.Column, len(names))
	some := false
	for _, it := range s.Items {
		box, _ := embedding.ParseRegion(it.Region)
		for k, v := range []int{box.Min.X, box.Min.Y, box.Max.X, box.Max.Y} {
			text := ""
			if !box.Empty() {
				text, some = strconv.Itoa(v), true
			}
			out[k].Name, out[k].Text = names[k], append(out[k].Text, text)
		}
	}
	if !some {
		out = nil
	}
	return append(out, s.Others...)
}

// Manifest returns the table for training, with the given labels and, if coarse is not nil, the coarse labels. Items
// for which keep returns false are left out; a nil keep keeps all. It keeps every column that was read: finer labels
// are the column label beside the given ones as coarse, or the column fine if coarse is given. A column whose name is
// taken gets the suffix _read.
func (s *Subjects) Manifest(label, coarse func(i int) string, keep func(i int) bool) [][]string {
	type column struct {
		name string
		at   func(i int) string
	}
	finer := func(i int) string { return s.Finer[i] }
	table := []column{{"path", s.ManifestPath}, {"label", label}}
	switch {
	case s.Finer != nil && coarse == nil:
		table = []column{{"path", s.ManifestPath}, {"label", finer}, {"coarse", label}}
	case coarse != nil:
		table = append(table, column{"coarse", coarse})
		if s.Finer != nil {
			table = append(table, column{"fine", finer})
		}
	}
	if s.Splits != nil {
		table = append(table, column{"split", s.Split})
	}
	for _, c := range s.furtherColumns() {
		at := c.At
		if c.Name == "labels" && coarse == nil {
			at = func(i int) string { return replaceLabel(c.At(i), s.Label(i), label(i)) }
		}
		name := c.Name
		if slices.ContainsFunc(table, func(o column) bool { return o.name == name }) {
			name += "_read"
		}
		table = append(table, column{name, at})
	}
	head := make([]string, len(table))
	for k, c := range table {
		head[k] = c.name
	}
	rows := [][]string{head}
	for i := range s.Labels {
		if keep != nil && !keep(i) {
			continue
		}
		row := make([]string, len(table))
		for k, c := range table {
			row[k] = c.at(i)
		}
		rows = append(rows, row)
	}
	return rows
}

// replaceLabel returns a list of labels, such as red|round, with another label in the place of one.
func replaceLabel(list, from, to string) string {
	all := strings.Split(list, "|")
	if k := slices.Index(all, from); k >= 0 {
		all[k] = to
	}
	return strings.Join(all, "|")
}
