package embedding

import (
	"fmt"
	"slices"
	"strconv"
)

// Column holds a label for every row. Exactly one of IDs and Text is set; a column without rows may have
// neither. Two labels are equal if their texts are equal: the number 7 equals the text 7 in another file,
// but not the text 07.
type Column struct {
	Name string
	IDs  []int64
	Text []string
}

// NewColumn makes a column from labels in text form. If every label is a whole number that fits in int64 in
// the usual form, the column holds numbers. If one label is 00, +1 or -0, all stay text, so that nothing is
// lost.
func NewColumn(name string, text []string) Column {
	ids := make([]int64, len(text))
	for i, s := range text {
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil || strconv.FormatInt(v, 10) != s {
			return Column{Name: name, Text: text}
		}
		ids[i] = v
	}
	return Column{Name: name, IDs: ids}
}

// Len returns the number of labels.
func (c *Column) Len() int { return max(len(c.IDs), len(c.Text)) }

// At returns the label of row i as text.
func (c *Column) At(i int) string {
	if c.IDs != nil {
		return strconv.FormatInt(c.IDs[i], 10)
	}
	return c.Text[i]
}

// check returns an error for a column that cannot be written for n rows.
func (c *Column) check(n int) error {
	switch {
	case c.IDs != nil && c.Text != nil:
		return fmt.Errorf("the column %q holds both numbers and text", c.Name)
	case c.Len() != n:
		return fmt.Errorf("%d labels in %q for %d rows", c.Len(), c.Name, n)
	}
	return checkText(c.Name, c.Text)
}

// isDistinct reports whether no label occurs twice.
func (c *Column) isDistinct() bool {
	if c.IDs != nil {
		return isDistinct(c.IDs)
	}
	return isDistinct(c.Text)
}

func isDistinct[T comparable](values []T) bool {
	seen := make(map[T]struct{}, len(values))
	for _, v := range values {
		if _, twice := seen[v]; twice {
			return false
		}
		seen[v] = struct{}{}
	}
	return true
}

// equal reports whether two columns hold the same labels.
func (c *Column) equal(d *Column) bool {
	return slices.Equal(c.IDs, d.IDs) && slices.Equal(c.Text, d.Text)
}

// Unify numbers the labels of columns in the same way. The columns must describe the same classes. If all
// labels are numbers, it keeps them and names is nil. Otherwise it numbers labels in the order of their
// texts, and returns the texts in names. A number among texts counts as its decimal digits.
func Unify(columns ...*Column) (ids [][]int64, names []string) {
	text := false
	for _, c := range columns {
		text = text || len(c.Text) > 0
	}
	if !text {
		for _, c := range columns {
			ids = append(ids, c.IDs)
		}
		return ids, nil
	}
	texts := make([][]string, len(columns))
	for i, c := range columns {
		texts[i] = slices.Clip(c.Text)
		for _, v := range c.IDs {
			texts[i] = append(texts[i], strconv.FormatInt(v, 10))
		}
		names = append(names, texts[i]...)
	}
	slices.Sort(names)
	names = slices.Clone(slices.Compact(names))
	number := make(map[string]int64, len(names))
	for i, n := range names {
		number[n] = int64(i)
	}
	for _, t := range texts {
		col := make([]int64, len(t))
		for i, s := range t {
			col[i] = number[s]
		}
		ids = append(ids, col)
	}
	return ids, names
}
