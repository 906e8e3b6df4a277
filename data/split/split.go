package split

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/internal/base/enum"
)

// defaultSplit resolves a split that leaves the choice to the set, and returns the reason for the choice;
// "" if the selection names the split.
func defaultSplit(d *data.Dataset, fine *data.Column, s Selection) (split, reason string) {
	ranged := s.TrainClasses != "" || s.TestClasses != ""
	switch {
	case s.Split != "" && s.Split != "benchmark":
		return s.Split, ""
	case d.Splits != nil && d.Disjoint && ranged:
		return "classes", "as classes are listed for one side"
	case d.Splits != nil:
		return "official", "as the set's own split says"
	case ranged:
		return "classes", "as listed"
	case s.Split == "benchmark" && len(fine.Classes) >= minDisjointClasses:
		return "classes", "as papers compare, on classes that training does not see"
	}
	typical := medianClassSize(fine)
	if typical < minHeldOutSize && len(fine.Classes) >= minDisjointClasses {
		return "classes", fmt.Sprintf("as half of the classes have %s or fewer, too few to hold some out",
			formatImages(typical))
	}
	share := heldOutShare(typical)
	reason = "as the set has no split of its own"
	if len(fine.Classes) < minDisjointClasses {
		reason = fmt.Sprintf("as %s too few to keep any for the test alone",
			enum.Number(len(fine.Classes), "class is", "classes are"))
	}
	if share > defaultShare {
		reason += fmt.Sprintf(", and classes are small: two images are held out of %d, one to find the other", typical)
	}
	if len(fine.Classes) >= minDisjointClasses {
		reason += " (data.split=classes keeps whole classes for the test)"
	}
	return "images:" + strconv.FormatFloat(share, 'g', -1, 64), reason
}

// minDisjointClasses is the least number of classes for a division by classes: two that train and two that
// test.
const minDisjointClasses = 4

// minHeldOutSize is the least size of a class from which two images can be held out, so that one can
// find the other, with two left for training.
const minHeldOutSize = 4

// medianClassSize returns the median size of the classes with more than one image.
func medianClassSize(c *data.Column) int {
	sizes := slices.DeleteFunc(c.Counts(), func(n int) bool { return n < 2 })
	if len(sizes) == 0 {
		return 1
	}
	slices.Sort(sizes)
	return sizes[(len(sizes)-1)/2]
}

// heldOutShare returns the share of each class's images to hold out: a fifth, or the share that gives
// two images for a class of the given size, if it is large enough.
func heldOutShare(size int) float64 {
	if size < minHeldOutSize {
		return defaultShare
	}
	return max(defaultShare, math.Ceil(150/float64(size))/100) // 1.5 images round to two
}

const defaultShare = 0.2

// fraction reads F of images:F and classes:F.
func fraction(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f > 0 && f < 1) {
		return 0, errors.New("must lie between 0 and 1")
	}
	return f, nil
}

// roles returns the roles of every sample. It narrows trainIn and testIn if the split separates
// classes.
func roles(ctx context.Context, d *data.Dataset, split string, s Selection, k *grouper, trainIn, testIn []bool) (
	[]data.Split, error) {
	fine := k.fine
	kind, arg, _ := strings.Cut(split, ":")
	switch kind {
	case "official":
		if d.Splits == nil {
			return nil, fmt.Errorf("split %q: data set %s has no official split; use classes, images:0.2 or fold:1/4",
				split, d.Name)
		}
		return d.Splits, nil
	case "classes":
		separateClasses(s, trainIn, testIn)
		return allRoles(d.Len()), nil
	case "both":
		f, err := fraction(arg)
		if err != nil {
			return nil, fmt.Errorf("split %q: the fraction of the training classes' images to test on %w", split, err)
		}
		separateClasses(s, trainIn, testIn)
		roles, err := k.holdOutImages(ctx, f, s.Seed)
		if err != nil {
			return nil, err
		}
		for i, id := range fine.IDs {
			if testIn[id] && !trainIn[id] {
				roles[i] = data.Test
			}
		}
		return roles, nil
	case "images":
		if arg == "" && split == "images" {
			if d.ImageSplits == nil {
				return nil, fmt.Errorf("split %q: data set %s has no official split of images; use images:0.2 for a "+
					"random one", split, d.Name)
			}
			return d.ImageSplits, nil
		}
		f, err := fraction(arg)
		if err != nil {
			return nil, fmt.Errorf("split %q: the fraction of images to test on %w", split, err)
		}
		return k.holdOutImages(ctx, f, s.Seed)
	case "fold":
		at, n, ok := parseFold(arg)
		if !ok {
			return nil, fmt.Errorf("split %q: write fold:K/N with 1 <= K <= N and N >= 2", split)
		}
		for i, f := range dealFolds(len(fine.Classes), n, s.Seed) {
			trainIn[i] = trainIn[i] && f != at-1
			testIn[i] = testIn[i] && f == at-1
		}
		return allRoles(d.Len()), nil
	}
	return nil, fmt.Errorf("unknown split %q; known: official, images, images:F, classes, both:F, "+
		"fold:K/N, benchmark", split)
}

// separateClasses narrows trainIn and testIn for split classes. A list that is not given is the complement
// of the other. If neither is given, the first half trains.
func separateClasses(s Selection, trainIn, testIn []bool) {
	switch {
	case s.TrainClasses == "" && s.TestClasses == "":
		for i := range trainIn {
			trainIn[i] = i < len(trainIn)/2
			testIn[i] = !trainIn[i]
		}
	case s.TrainClasses == "":
		for i := range trainIn {
			trainIn[i] = !testIn[i]
		}
	case s.TestClasses == "":
		for i := range testIn {
			testIn[i] = !trainIn[i]
		}
	}
}

func allRoles(n int) []data.Split {
	r := make([]data.Split, n)
	for i := range r {
		r[i] = data.Train | data.Test
	}
	return r
}

// holdOutImages marks round(f * n) images of each class of n as test, at least one if n > 1, or as near
// to that as its groups allow.
func (k *grouper) holdOutImages(ctx context.Context, f float64, seed uint64) ([]data.Split, error) {
	all := make([]int, k.d.Len())
	class := make([]int, len(all))
	byClass := make([][]int, len(k.fine.Classes))
	for i, id := range k.fine.IDs {
		all[i], class[i] = i, int(id)
		byClass[id] = append(byClass[id], i)
	}
	groups, err := k.groups(ctx, all)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 0x5eed0f01))
	want := make([]int, len(byClass))
	classes := 0
	for id, members := range byClass {
		rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		if len(members) > 1 { // the only image of a class could not be found
			want[id] = min(max(int(f*float64(len(members))+0.5), 1), len(members)-1)
			classes++
		}
	}
	h := newHoldout(class, groups, want, 1)
	whole := h.draw(byClass)
	k.noteDivision(whole, classes)
	if whole == classes && classes > 0 {
		return nil, fmt.Errorf("data set %s: %w", k.d.Name, k.inseparableError(classes))
	}
	roles := make([]data.Split, len(all))
	for i, held := range h.held {
		roles[i] = data.Train
		if held {
			roles[i] = data.Test
		}
	}
	return roles, nil
}

// dealFolds deals classes 0..c-1 into n folds whose sizes differ by at most one.
func dealFolds(c, n int, seed uint64) []int {
	rng := rand.New(rand.NewPCG(seed, 0xf01d))
	out := make([]int, c)
	for i, id := range rng.Perm(c) {
		out[id] = i % n
	}
	return out
}
