package index

import "cmp"

// passing returns the rows of a segment that pass a part of a filter, those that
// were removed among them, in memory of its own.
func (s *segment) passing(n node) bitmap {
	switch n := n.(type) {
	case *allOf:
		out := s.passing(n.parts[0])
		for _, p := range n.parts[1:] {
			out.and(s.passing(p))
		}
		return out
	case *anyOf:
		out := s.passing(n.parts[0])
		for _, p := range n.parts[1:] {
			out.or(s.passing(p))
		}
		return out
	case *notOf:
		out := s.passing(n.part)
		out.not(s.all)
		return out
	}
	return s.tested(n.(*test))
}

// tested returns the rows of which a test is true.
func (s *segment) tested(t *test) bitmap {
	out := newBitmap(s.n)
	switch t.column {
	case "id":
		s.testTexts(t, &s.ids, out)
		return out
	case "path":
		s.testTexts(t, &s.paths, out)
		return out
	}
	c := s.columns[t.column]
	switch {
	case c == nil: // no row has a value
		if t.holds(Value{}) {
			copy(out, s.all)
		}
	case c.words != nil:
		// Each text is tested once, then the rows by its number.
		holds := make([]bool, len(c.text.offsets))
		holds[0] = t.holds(Value{})
		for k := 1; k < len(holds); k++ {
			holds[k] = t.holds(Text(c.text.at(k - 1)))
		}
		for i, w := range c.words {
			if holds[w] {
				out.set(i)
			}
		}
	case c.numbers != nil && len(t.values) == 1 && t.op <= opAtLeast:
		for i, v := range c.numbers {
			if v == v && t.ordered(cmp.Compare(v, t.values[0].number)) {
				out.set(i)
			}
		}
	default:
		for i := range s.n {
			if t.holds(c.value(i)) {
				out.set(i)
			}
		}
	}
	return out
}

func (s *segment) testTexts(t *test, texts *texts, out bitmap) {
	for i := range s.n {
		if t.holds(textOrMissing(texts.at(i))) {
			out.set(i)
		}
	}
}
