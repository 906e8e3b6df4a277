package split

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/kindred-ml/kindred/data"
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
		return fmt.Errorf("validation %q: must be none, classes:F, images:F or as-test:F, with F between 0 and 1",
			rule)
	}
	alike := false // validation is like a test that searches images among each other
	if kind == asTest {
		kind = "classes"
		if s.sharedClasses() > 0 {
			kind, alike = "images", s.Query == s.Gallery
		}
	}
	all := s.Train
	members := make(map[int64][]int)
	var ids []int64 // in the order of the samples
	for pos, id := range all.Fine {
		if members[id] == nil {
			ids = append(ids, id)
		}
		members[id] = append(members[id], pos)
	}
	reason := ""
	if kind == "classes" {
		if held := drawClasses(ids, members, f, seed); held != nil && s.countLabelsWithout(held) > 1 {
			s.moveToValidation(held)
			s.ValidationGallery = s.Validation
			s.ValidationSplit = "classes:" + arg
			s.ValidationWhy = fmt.Sprintf("%s of the training part, with %s, are kept for validation",
				formatClasses(len(fineClassSet(s.Validation))), formatImages(s.Validation.Len()))
			return nil
		}
		reason = fmt.Sprintf(", as %s are too few to keep two apart", formatClasses(len(ids)))
	}
	groups, err := k.partGroups(ctx, all)
	if err != nil {
		return err
	}
	held, whole, classes := drawFromEachClass(ids, all.Fine, groups, f, seed)
	k.noteDivision(whole, classes)
	switch {
	case classes == 0:
		s.ValidationWhy = "nothing is kept for validation: no class has three images or more" + reason
		return nil
	case whole == classes:
		s.ValidationWhy = fmt.Sprintf("nothing is kept for validation: with data.group=%[2]s each of the %[1]s is a "+
			"single group, "+
			"apart from samples that must stay%[3]s", formatClasses(classes), k.rule, reason)
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
	n := make(map[int64]int)
	for _, id := range p.Fine {
		n[id]++
	}
	alone := 0
	for _, of := range n {
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

// drawClasses draws about the fraction f of the classes with two or more images. It draws at least
// two classes, and at least two stay. It returns the positions of their samples, or nil if there are too
// few classes.
func drawClasses(ids []int64, members map[int64][]int, f float64, seed uint64) map[int]bool {
	var pairs []int64
	for _, id := range ids {
		if len(members[id]) > 1 {
			pairs = append(pairs, id)
		}
	}
	if len(pairs) < 4 {
		return nil
	}
	n := min(max(2, int(f*float64(len(ids))+0.5)), len(pairs)-2)
	held := make(map[int]bool)
	for _, k := range newValidation(seed).Perm(len(pairs))[:n] {
		for _, pos := range members[pairs[k]] {
			held[pos] = true
		}
	}
	return held
}

// drawFromEachClass draws round(f * n) of the n images of each class with n > 2, or as near to that as the
// groups allow. It draws at least one image, and at least two stay. fine is the class of every position.
// It returns the positions, the number of classes that gave none, and the number of classes with n > 2.
func drawFromEachClass(ids, fine []int64, groups []int, f float64, seed uint64) (held map[int]bool, whole,
	classes int) {
	number := make(map[int64]int, len(ids))
	for c, id := range ids {
		number[id] = c
	}
	class, members := make([]int, len(fine)), make([][]int, len(ids))
	for pos, id := range fine {
		c := number[id]
		class[pos] = c
		members[c] = append(members[c], pos)
	}
	rng := newValidation(seed)
	want, order := make([]int, len(ids)), make([][]int, len(ids))
	for c, m := range members {
		if len(m) < 3 {
			continue
		}
		want[c] = min(max(1, int(f*float64(len(m))+0.5)), len(m)-2)
		classes++
		for _, k := range rng.Perm(len(m)) {
			order[c] = append(order[c], m[k])
		}
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
