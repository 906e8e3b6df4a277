package index

import (
	"cmp"

	"github.com/kindred-ml/kindred/store"
)

// matchingRows returns the rows of a segment that pass a part of a filter, including removed
// rows. The caller may change the result.
func (s *segment) matchingRows(e store.Expr) bitmap {
	switch e := e.(type) {
	case store.And:
		out := s.matchingRows(e[0])
		for _, p := range e[1:] {
			out.and(s.matchingRows(p))
		}
		return out
	case store.Or:
		out := s.matchingRows(e[0])
		for _, p := range e[1:] {
			out.or(s.matchingRows(p))
		}
		return out
	case store.Not:
		out := s.matchingRows(e.Expr)
		out.not(s.allRows)
		return out
	}
	return s.testCondition(e.(*store.Condition))
}

// testCondition returns the rows for which a condition is true.
func (s *segment) testCondition(t *store.Condition) bitmap {
	out := newBitmap(s.n)
	switch t.Column {
	case "id":
		s.testTexts(t, &s.ids, out)
		return out
	case "path":
		s.testTexts(t, &s.paths, out)
		return out
	}
	c := s.columns[t.Column]
	switch {
	case c == nil: // no row has a value
		if t.Matches(nil) {
			copy(out, s.allRows)
		}
	case c.words != nil:
		// Each text is tested once, then the rows by its number.
		holds := make([]bool, len(c.text.offsets))
		holds[0] = t.Matches(nil)
		for k := 1; k < len(holds); k++ {
			holds[k] = t.MatchesText(c.text.at(k - 1))
		}
		for i, w := range c.words {
			if holds[w] {
				out.set(i)
			}
		}
	case c.bools != nil:
		missing, no, yes := t.Matches(nil), t.Matches(false), t.Matches(true)
		for i, v := range c.bools {
			if v > 1 && missing || v == 1 && yes || v == 0 && no {
				out.set(i)
			}
		}
	default:
		s.testNumbers(t, c.numbers, out)
	}
	return out
}

// testNumbers tests numbers; NaN is a missing number.
func (s *segment) testNumbers(t *store.Condition, numbers []float64, out bitmap) {
	if t.Op <= store.AtLeast {
		limit := t.Values[0].(float64) // Check has looked
		for i, v := range numbers {
			if v == v && t.Op.Compare(cmp.Compare(v, limit)) {
				out.set(i)
			}
		}
		return
	}
	missing := t.Matches(nil)
	for i, v := range numbers {
		if v == v && t.MatchesNumber(v) || v != v && missing {
			out.set(i)
		}
	}
}

func (s *segment) testTexts(t *store.Condition, texts *textList, out bitmap) {
	missing := t.Matches(nil)
	for i := range s.n {
		if text := texts.at(i); text != "" && t.MatchesText(text) || text == "" && missing {
			out.set(i)
		}
	}
}
