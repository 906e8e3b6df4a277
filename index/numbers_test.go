package index

import (
	"strings"
	"testing"
)

// Numbers in a segment that somebody made point at texts and rows that there are, to the last
// one, and no further.
func TestNumbersOfSegments(t *testing.T) {
	good := func() *segment {
		s := &segment{n: 5, slots: []uint32{emptySlot, 0, 4}, lists: []uint32{0, 2, 2, 5}}
		s.columns = map[string]*column{"c": {words: []uint32{0, 1, 2}, text: texts{offsets: make([]uint64, 3)}}}
		return s
	}
	for name, c := range map[string]struct {
		change func(s *segment)
		want   string // "" for none
	}{
		"as it is":           {func(*segment) {}, ""},
		"a text too many":    {func(s *segment) { s.columns["c"].words[1] = 3 }, `column "c" names text 3 of 2`},
		"a row too many":     {func(s *segment) { s.slots[2] = 5 }, "its hash table names row 5 of 5"},
		"no lists":           {func(s *segment) { s.lists = nil }, ""},
		"one list":           {func(s *segment) { s.lists = []uint32{0, 5} }, ""},
		"no list":            {func(s *segment) { s.lists = []uint32{5} }, "its lists do not cover its rows"},
		"lists from a row":   {func(s *segment) { s.lists[0] = 1 }, "its lists do not cover its rows"},
		"lists to a row":     {func(s *segment) { s.lists[3] = 4 }, "its lists do not cover its rows"},
		"lists back":         {func(s *segment) { s.lists[1] = 3 }, "its lists do not cover its rows"},
		"the least exponent": {func(s *segment) { s.codes.Exp = -2000 }, ""},
		"the largest":        {func(s *segment) { s.codes.Exp = 2000 }, ""},
		"a smaller one":      {func(s *segment) { s.codes.Exp = -2001 }, "exponent -2001"},
		"a larger one":       {func(s *segment) { s.codes.Exp = 2001 }, "exponent 2001"},
	} {
		s := good()
		c.change(s)
		err := s.checkColumns()
		if err == nil {
			err = s.checkNumbers()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
