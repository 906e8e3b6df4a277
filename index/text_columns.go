package index

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/store"
)

// explainFilterError completes the error of a filter that compares a column of texts with a number.
// It names the first value that is not a number.
func (v *view) explainFilterError(err error) error {
	var f *store.FilterError
	if !errors.As(err, &f) || f.Texts == "" {
		return err
	}
	id, text, found := "", "", false
	for _, p := range v.parts {
		if err := readMapped(p.seg.path, func() { id, text, found = p.seg.firstText(f.Texts, p.live) }); err != nil {
			return err
		}
		if found {
			break
		}
	}
	if !found {
		id, text, found = v.tail.firstText(f.Texts)
	}
	out := *f
	if found {
		out.Reason += fmt.Sprintf("; %s of item %s is not a number, but all values of such a column must be numbers",
			escape.Quote(text), escape.Quote(id))
	} else {
		out.Reason += "; all its values are numbers that were added as texts: put it in quotes, or add them as numbers"
	}
	return &out
}

// firstText finds the first row of a set whose text in a column is not a number.
func (s *segment) firstText(column string, of bitmap) (id, text string, found bool) {
	c := s.columns[column]
	if c == nil || c.words == nil {
		return "", "", false
	}
	number := make([]bool, len(c.text.offsets)) // each text is looked at once
	number[0] = true                            // a missing value
	for k := 1; k < len(number); k++ {
		number[k] = store.IsNumber(c.text.at(k - 1))
	}
	of.visitRows(func(row int) bool {
		if found = !number[c.words[row]]; found {
			id, text = s.id(row), strings.Clone(c.text.at(int(c.words[row])-1))
		}
		return !found
	})
	return id, text, found
}

func (t *tail) firstText(column string) (id, text string, found bool) {
	for i := range t.rows() {
		text, ok := t.items[i].Columns[column].(string)
		if ok && t.live.has(i) && !store.IsNumber(text) {
			return t.items[i].ID, text, true
		}
	}
	return "", "", false
}
