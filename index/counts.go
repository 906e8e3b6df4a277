package index

import (
	"strings"

	"github.com/kindred-ml/kindred/store"
)

// Counts returns the number of items with each value of a column, as text by store.FormatValue. It leaves out
// items without a value, so a column that no item has gives an empty map. It reads only that column, and no
// vectors.
func (x *Index) Counts(column string) (map[string]int, error) {
	v, err := x.acquire()
	if err != nil {
		return nil, err
	}
	defer v.release()
	out := make(map[string]int)
	for _, p := range v.parts {
		if err := readMapped(p.seg.path, func() { p.seg.countValues(column, p.live, out) }); err != nil {
			return nil, err
		}
	}
	for i := range v.tail.rows() {
		if text := store.FormatValue(v.tail.items[i].Columns[column]); text != "" && v.tail.live.has(i) {
			out[text]++
		}
	}
	return out, nil
}

// countValues adds the values of the rows of a set.
func (s *segment) countValues(column string, of bitmap, out map[string]int) {
	c := s.columns[column]
	switch {
	case c == nil:
	case c.words != nil: // look up each text once
		rows := make([]int, len(c.text.offsets))
		of.visitRows(func(row int) bool {
			rows[c.words[row]]++
			return true
		})
		for k, n := range rows[1:] {
			if n > 0 {
				out[strings.Clone(c.text.at(k))] += n
			}
		}
	default:
		of.visitRows(func(row int) bool {
			if v := c.value(row); v != nil {
				out[store.FormatValue(v)]++
			}
			return true
		})
	}
}
