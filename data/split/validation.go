package split

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/lists"
)

// takeValidation takes the validation part from the training part.
func (s *Parts) takeValidation(ctx context.Context, rule string, seed uint64, k *grouper) error {
	s.ValidationSplit = "none"
	if rule == "" || rule == "none" {
		return nil
	}
	kind, arg, _ := strings.Cut(rule, ":")
	f, err := fraction(arg)
	if err != nil || kind != "classes" && kind != "images" && kind != asTest {
		return fmt.Errorf("validation %q: must be none, classes:F, images:F or as-test:F, with F between 0 and 1", rule)
	}
	alike := false // validation is like a test that searches images among each other
	if kind == asTest {
		kind = "classes"
		if s.sharedClasses() > 0 {
			kind, alike = "images", s.Query == s.Gallery
		}
	}
	all := s.Train
	_, members := lists.Group(all.Fine)
	reason := ""
	if kind == "classes" {
		if held := drawClasses(members, f, seed); held != nil && s.countLabelsWithout(held) > 1 {
			s.moveToValidation(held)
			s.ValidationGallery = s.Validation
			s.ValidationSplit = "classes:" + arg
			s.ValidationWhy = fmt.Sprintf("%s of the training part, with %s, are kept for validation",
				formatClasses(len(lists.Set(s.Validation.Fine))), formatImages(s.Validation.Len()))
			return nil
		}
		reason = fmt.Sprintf(", as %s are too few to keep two apart", formatClasses(len(members)))
	}
	groups, err := k.partGroups(ctx, all)
	if err != nil {
		return err
	}
	held, whole, classes := drawFromEachClass(members, all.Len(), groups, f, seed)
	k.noteDivision(whole, classes)
	switch {
	case classes == 0:
		s.ValidationWhy = "nothing is kept for validation: no class has three images or more" + reason
		return nil
	case whole == classes:
		s.ValidationWhy = fmt.Sprintf("nothing is kept for validation: with data.group=%[2]s each of the %[1]s is a "+
			"single group, apart from samples that must stay%[3]s", formatClasses(classes), k.rule, reason)
		return nil
	}
	s.moveToValidation(held)
	s.ValidationGallery, s.ValidationSplit = s.Train, "images:"+arg
	if alike && areMostFindable(s.Validation) {
		s.ValidationGallery, s.ValidationSplit = s.Validation, asTest+":"+arg
	}
	s.ValidationWhy = fmt.Sprintf("%s of the training part, %s %% of each class of three or more, are kept for "+
		"validation%s", formatImages(s.Validation.Len()), percent(arg), reason) + k.keptMessage(whole)
	return nil
}

// asTest is the validation that is like the test.
const asTest = "as-test"

// areMostFindable reports whether most samples of a part have another sample of their class in it.
func areMostFindable(p *data.Part) bool {
	alone := 0
	for _, of := range lists.Count(p.Fine) {
		if of == 1 {
			alone++
		}
	}
	return 2*alone < p.Len()
}

// countLabelsWithout returns the number of training labels that remain without the samples at the marked
// positions.
func (s *Parts) countLabelsWithout(held map[int]bool) int {
	left := map[int64]bool{}
	for pos, y := range s.Train.Label {
		if !held[pos] {
			left[y] = true
		}
	}
	return len(left)
}

// newValidation returns the random generator for a validation part.
func newValidation(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x5eed7a1)) }

// moveToValidation moves the samples at the marked positions from Train to Validation.
func (s *Parts) moveToValidation(held map[int]bool) {
	var keep, off []int
	for pos := range s.Train.Index {
		if held[pos] {
			off = append(off, pos)
		} else {
			keep = append(keep, pos)
		}
	}
	s.Train, s.Validation = s.Train.Subset(keep), s.Train.Subset(off)
}

// drawClasses draws about the fraction f of the classes with two or more images, given the positions of each. It draws
// at least two classes, and at least two stay. It returns the positions of their samples, or nil if there are too
// few classes.
func drawClasses(members [][]int, f float64, seed uint64) map[int]bool {
	pairs := slices.DeleteFunc(slices.Clone(members), func(m []int) bool { return len(m) < 2 })
	if len(pairs) < 4 {
		return nil
	}
	n := min(max(2, int(f*float64(len(members))+0.5)), len(pairs)-2)
	drawn := newValidation(seed).Perm(len(pairs))[:n]
	return lists.Set(slices.Concat(lists.At(pairs, drawn)...))
}

// drawFromEachClass draws round(f * n) of the n images of each class with n > 2, or as near to that as the
// groups allow. It draws at least one image, and at least two stay. members are the positions of each class, size in
// all. It returns the positions, the number of classes that gave none, and the number of classes with n > 2.
func drawFromEachClass(members [][]int, size int, groups []int, f float64, seed uint64) (held map[int]bool, whole,
	classes int) {
	rng := newValidation(seed)
	class, want, order := make([]int, size), make([]int, len(members)), make([][]int, len(members))
	for c, m := range members {
		for _, pos := range m {
			class[pos] = c
		}
		if len(m) < 3 {
			continue
		}
		want[c] = min(max(1, int(f*float64(len(m))+0.5)), len(m)-2)
		classes++
		order[c] = lists.At(m, rng.Perm(len(m)))
	}
	h := newHoldout(class, groups, want, 2)
	whole = h.draw(order)
	held = make(map[int]bool)
	for pos, out := range h.held {
		if out {
			held[pos] = true
		}
	}
	return held, whole, classes
}
