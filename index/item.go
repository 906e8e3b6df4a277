package index

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kindred-ml/kindred/internal/spell"
)

// Item is what the index keeps of one thing besides its vector.
type Item struct {
	// ID is the item's own: 1 to MaxID bytes of UTF-8 without control characters.
	ID string `json:"id"`
	// Path is the item's file, "" of what is in none.
	Path string `json:"path,omitempty"`
	// Fields holds values by column; a column that is not there, or whose Value is
	// the zero one, is missing. Column names are UTF-8 of up to 256 bytes; id, path
	// and distance are none.
	Fields map[string]Value `json:"fields,omitempty"`
}

// Entry is an item with its vector, which must be finite and have the index's
// dimension.
type Entry struct {
	Item
	Vector []float32 `json:"vector"`
}

// Column is a column of the index.
type Column struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
}

// InputError is the error of an item, query or filter that is itself at fault:
// the same call will fail again.
type InputError struct{ Reason string }

func (e *InputError) Error() string { return e.Reason }

func inputf(format string, args ...any) error { return &InputError{fmt.Sprintf(format, args...)} }

// Bounds of what an item may hold, which are those of package store.
const (
	MaxID   = 512     // bytes of an id
	MaxText = 1 << 16 // bytes of a path or a text
)

// bounds are those of an item's texts.
type bounds struct{ id, text int }

// taken are the bounds of what is added; stored are those of what is read, which an earlier
// version may have taken.
func taken() bounds  { return bounds{MaxID, MaxText} }
func stored() bounds { return bounds{4096, 1 << 20} }

const (
	maxName    = 256
	maxColumns = 256
	maxDim     = 1 << 16
)

// reserved are names that a filter or a result gives a meaning of its own.
var reserved = [...]string{"id", "path", "distance"}

// checkID refuses what cannot be an ID.
func (b bounds) checkID(id string) error {
	switch {
	case id == "":
		return inputf("an item without an id")
	case len(id) > b.id:
		return inputf("an id of %d bytes, %.40q...: at most %d", len(id), id, b.id)
	case !utf8.ValidString(id):
		return inputf("id %.60q is not UTF-8", id)
	case strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return inputf("id %.60q holds a control character", id)
	}
	return nil
}

// checkItem refuses what the index cannot keep, whatever it holds so far.
func (b bounds) checkItem(it *Item) error {
	if err := b.checkID(it.ID); err != nil {
		return err
	}
	if len(it.Path) > b.text || !utf8.ValidString(it.Path) || strings.ContainsRune(it.Path, 0) {
		return inputf("item %q: the path %.60q is longer than %d bytes, no UTF-8 or holds a zero", it.ID, it.Path,
			b.text)
	}
	if len(it.Fields) > maxColumns {
		return inputf("item %q has %d fields: at most %d", it.ID, len(it.Fields), maxColumns)
	}
	for name, v := range it.Fields {
		if err := checkColumn(name); err != nil {
			return inputf("item %q: %v", it.ID, err)
		}
		switch {
		case v.kind == KindNumber && (math.IsInf(v.number, 0) || math.IsNaN(v.number)):
			return inputf("item %q: %s is %v; numbers have to be finite", it.ID, name, v.number)
		case len(v.text) > b.text:
			return inputf("item %q: %s has %d bytes: at most %d", it.ID, name, len(v.text), b.text)
		case !utf8.ValidString(v.text):
			return inputf("item %q: %s is not UTF-8", it.ID, name)
		}
	}
	return nil
}

func checkColumn(name string) error {
	control := func(r rune) bool { return r < ' ' || r == 0x7f || r == '`' }
	switch {
	case name == "" || len(name) > maxName:
		return inputf("a column name of %d bytes: want 1 to %d", len(name), maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, control):
		return inputf("column %q: its name is not UTF-8 or holds a control character or a backquote", name)
	case slices.Contains(reserved[:], name):
		return inputf("a column cannot be called %s", name)
	}
	return nil
}

// checkVector refuses the vector of an item, or of a query, whose id is "".
func checkVector(x []float32, dim int, id string) error {
	whose := func() string {
		if id == "" {
			return "the query"
		}
		return fmt.Sprintf("the vector of item %q", id)
	}
	if len(x) != dim {
		return inputf("%s has %d numbers, and the index holds vectors of %d", whose(), len(x), dim)
	}
	for i, v := range x {
		if v-v != 0 {
			return inputf("%s holds %v (in dimension %d)", whose(), v, i)
		}
	}
	return nil
}

// schema is the columns in the order of their first appearance. It only grows.
type schema struct {
	columns []Column
	at      map[string]int
}

func newSchema(columns []Column) *schema {
	s := &schema{columns: slices.Clone(columns), at: make(map[string]int)}
	for i, c := range columns {
		s.at[c.Name] = i
	}
	return s
}

// names lists the columns, for messages.
func (s *schema) names() []string {
	var out []string
	for _, c := range s.columns {
		out = append(out, c.Name)
	}
	return out
}

// fits refuses an item whose fields are of other kinds than the columns, and tells
// which columns it would add.
func (s *schema) fits(it *Item) (more []Column, err error) {
	names := make([]string, 0, len(it.Fields))
	for name := range it.Fields {
		names = append(names, name)
	}
	slices.Sort(names) // new columns in the same order each time
	for _, name := range names {
		v := it.Fields[name]
		if v.kind == None {
			continue
		}
		i, ok := s.at[name]
		switch {
		case !ok:
			more = append(more, Column{name, v.kind})
		case s.columns[i].Kind != v.kind:
			return nil, inputf("item %q: column %s holds values of kind %v, and %q is of kind %v", it.ID, name,
				s.columns[i].Kind, v.String(), v.kind)
		}
	}
	if n := len(s.columns) + len(more); n > maxColumns {
		return nil, inputf("item %q: with it the index would have %d columns: at most %d", it.ID, n, maxColumns)
	}
	return more, nil
}

// grown is s with more columns; s itself stays as it is, for those who read it.
func (s *schema) grown(more []Column) *schema {
	if len(more) == 0 {
		return s
	}
	return newSchema(append(slices.Clip(s.columns), more...))
}

// unknown is the message about a column that is not there.
func (s *schema) unknown(name string) string {
	known := append([]string{"id", "path"}, s.names()...)
	return fmt.Sprintf("no column called %s%s; there are: %s", name, spell.Suggest(name, known),
		strings.Join(known, ", "))
}
