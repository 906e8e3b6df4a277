package run

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/spell"
)

// beside explains why validation and test scores cannot be compared where their galleries
// differ in size; "" where they can. Every image in a gallery can be mistaken for the right
// one, so a larger gallery gives lower scores.
func beside(sets []*scored) string {
	var test, validation *scored
	for _, s := range sets {
		switch s.set {
		case TestSet:
			test = s
		case ValidationSet:
			validation = s
		}
	}
	if test == nil || validation == nil {
		return ""
	}
	item := "image"
	if test.query.Data.Features != nil {
		item = "row"
	}
	v, vc := validation.among()
	t, tc := test.among()
	if alike(v, t) && alike(vc, tc) {
		return ""
	}
	return fmt.Sprintf("validation is looked up among %s of %s and the test among %d of %d: a larger gallery gives "+
		"lower scores, so compare validation with validation and test with test", spell.Count(v, item),
		spell.Count(vc, "class"), t, tc)
}

// among is how many samples of how many classes a query is compared with.
func (s *scored) among() (samples, classes int) {
	p := s.query
	if s.gallery != nil {
		p = s.gallery
	}
	return p.Len(), distinct(p.Fine)
}

// alike tells whether neither of two numbers is more than a tenth above the other.
func alike(a, b int) bool { return 10*a <= 11*b && 10*b <= 11*a }
