package data

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/data/internal/layout"
	"github.com/kindred-ml/kindred/internal/base/classname"
	"github.com/kindred-ml/kindred/internal/base/lists"
)

// Column holds one label for every sample.
type Column struct {
	Name string
	// IDs has one id per sample, 0 <= id < len(Classes).
	IDs []int64
	// Classes names the classes by id.
	Classes []string
	// Numbers has the number that users and papers use for each class: a digit's value, or a
	// benchmark's official class number. nil means id+1.
	Numbers []int64
}

// Number returns the number of class id in class ranges.
func (c *Column) Number(id int64) int64 {
	if c.Numbers == nil {
		return id + 1
	}
	return c.Numbers[id]
}

// Counts returns the number of samples per class.
func (c *Column) Counts() []int {
	n := make([]int, len(c.Classes))
	for _, id := range c.IDs {
		n[id]++
	}
	return n
}

// NewColumn makes a column from one class name per sample. Ids follow the
// natural order of the names ("class2" before "class10"), numbers start at 1.
func NewColumn(name string, classes []string) Column {
	c := Column{Name: name, IDs: make([]int64, len(classes))}
	id := make(map[string]int64)
	for _, s := range classes {
		if _, ok := id[s]; !ok {
			id[s] = 0
			c.Classes = append(c.Classes, s)
		}
	}
	slices.SortFunc(c.Classes, classname.Compare)
	for i, s := range c.Classes {
		id[s] = int64(i)
	}
	for i, s := range classes {
		c.IDs[i] = id[s]
	}
	return c
}

// newNumberColumn makes a column from arbitrary integer labels. The value of a class is its name
// and its number.
func newNumberColumn(name string, values []int64) Column {
	c := Column{Name: name}
	c.IDs, c.Numbers = lists.Rank[int64](values)
	for _, v := range c.Numbers {
		c.Classes = append(c.Classes, strconv.FormatInt(v, 10))
	}
	return c
}

// splitClassesInHalf returns the papers' class-disjoint split: the first half of the classes (rounded down)
// trains, and the rest tests.
func splitClassesInHalf(c *Column) []Split {
	out := make([]Split, len(c.IDs))
	for i, id := range c.IDs {
		out[i] = Test
		if int(id) < len(c.Classes)/2 {
			out[i] = Train
		}
	}
	return out
}

// columnOf makes a column from the labels that a layout lists.
func columnOf(c layout.Column) Column {
	if c.Numbers == nil {
		return NewColumn(c.Name, c.Text)
	}
	out := newNumberColumn(c.Name, c.Numbers)
	for id, n := range out.Numbers {
		if name, ok := c.Names[n]; ok {
			out.Classes[id] = name
		}
	}
	return out
}

// MultiLabel holds the labels of samples that may have any number of labels.
type MultiLabel struct {
	// Sets has the ids of every sample's labels, in ascending order, 0 <= id < len(Classes). A sample
	// may have no labels.
	Sets [][]int64
	// Classes names the labels by id.
	Classes []string
}

// Text returns all labels of a sample as in a manifest: "red|round".
func (s *MultiLabel) Text(sample int) string {
	var names []string
	for _, id := range s.Sets[sample] {
		names = append(names, s.Classes[id])
	}
	return strings.Join(names, "|")
}

// newMultiLabel numbers labels in the natural order of their names.
func newMultiLabel(lists [][]string) *MultiLabel {
	var all []string
	for _, list := range lists {
		all = append(all, list...)
	}
	column := NewColumn("labels", all)
	s := &MultiLabel{Sets: make([][]int64, len(lists)), Classes: column.Classes}
	at := 0
	for i, list := range lists {
		s.Sets[i] = slices.Sorted(slices.Values(column.IDs[at : at+len(list)]))
		at += len(list)
	}
	return s
}
