package split

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/lists"
)

// parseFold reads K/N with 1 <= K <= N and N >= 2.
func parseFold(text string) (k, n int, ok bool) {
	c, err := fmt.Sscanf(text, "%d/%d", &k, &n)
	ok = err == nil && c == 2 && n >= 2 && k >= 1 && k <= n && fmt.Sprintf("%d/%d", k, n) == text
	return k, n, ok
}

// applyFold makes a fold of the training part the test. The original test is in neither part, so that
// settings can be chosen by the scores of folds. why explains the division.
func (s *Parts) applyFold(ctx context.Context, rule string, seed uint64, kept *grouper) (
	why func() string, err error) {
	kind, arg, named := strings.Cut(rule, ":")
	if !named {
		kind, arg = "", rule
	}
	k, n, ok := parseFold(arg)
	if !ok || named && kind != "images" {
		return nil, fmt.Errorf("fold %q: must be K/N (classes) or images:K/N, with 1 <= K <= N and N >= 2", rule)
	}
	unit := "classes"
	var of []int // the fold of every position
	switch {
	case kind == "images":
		groups, err := kept.partGroups(ctx, s.Train)
		if err != nil {
			return nil, err
		}
		unit, of = "images of every class", s.dealImages(n, seed, groups)
	case s.sharesLabels():
		of = s.dealClasses(n, seed)
	default:
		unit, of = "labels", dealValues(s.Train.Label, nil, n, seed)
	}
	if err := s.checkFolds(of, n, unit); err != nil {
		more := ""
		if kept.counts.Groups > 0 {
			more = fmt.Sprintf("; data.group=%s, which keeps %s in %s together, may be the reason", kept.rule,
				formatImages(kept.counts.Samples), enum.Count(kept.counts.Groups, "group"))
		}
		return nil, fmt.Errorf("fold %q of the training part, by %s: %w%s", rule, unit, err, more)
	}
	var train, test []int
	for pos, f := range of {
		if f == k-1 {
			test = append(test, pos)
		} else {
			train = append(train, pos)
		}
	}
	all := s.Train
	s.Train, s.Query, s.Seen = all.Subset(train), all.Subset(test), nil
	s.Gallery = s.Query
	return func() string {
		return fmt.Sprintf("fold %d of %d of the training part, dealt by %s, replaces the test (%s of %s), "+
			"which is not used; the rest trains (%s of %s)", k, n, unit, formatImages(s.Query.Len()),
			formatClasses(len(lists.Set(s.Query.Fine))), formatImages(s.Train.Len()),
			formatClasses(len(lists.Set(s.Train.Fine))))
	}, nil
}

// sharesLabels reports whether the test has training labels, as with digits trained by parity.
// Then training has not seen some classes, but has seen all labels.
func (s *Parts) sharesLabels() bool {
	trained := lists.Set(s.Train.Label)
	return slices.ContainsFunc(s.Query.Label, func(y int64) bool { return trained[y] })
}

// dealClasses deals fine classes to the folds, and spreads the classes of each label evenly.
func (s *Parts) dealClasses(n int, seed uint64) []int {
	label := map[int64]int64{}
	for pos, id := range s.Train.Fine {
		label[id] = s.Train.Label[pos]
	}
	return dealValues(s.Train.Fine, label, n, seed)
}

// dealValues deals the different values at random into n folds whose sizes differ by at most one.
// Values with the same mark are dealt one after the other.
func dealValues(values []int64, mark map[int64]int64, n int, seed uint64) []int {
	of, different := lists.Rank[int](values)
	order := lists.Indices(len(different))
	rng := rand.New(rand.NewPCG(seed, 0xf01dc1a55))
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	slices.SortStableFunc(order, func(a, b int) int { return int(mark[different[a]] - mark[different[b]]) })
	fold := make([]int, len(order))
	for i, k := range order {
		fold[k] = i % n
	}
	out := make([]int, len(of))
	for pos, k := range of {
		out[pos] = fold[k]
	}
	return out
}

// dealImages deals the images of every class. A group goes to the fold with the fewest images of
// the group's classes.
func (s *Parts) dealImages(n int, seed uint64, groups []int) []int {
	ids, members := lists.Group(s.Train.Fine)
	if groups == nil {
		groups = lists.Indices(s.Train.Len())
	}
	together := lists.Places(groups, len(groups))
	rng := rand.New(rand.NewPCG(seed, 0xf01d1a6e))
	of := make([]int, s.Train.Len())
	for pos := range of {
		of[pos] = -1
	}
	dealt := map[int64][]int{} // number of images dealt to each fold, by class
	for _, id := range ids {
		dealt[id] = make([]int, n)
	}
	next := 0
	for _, m := range members {
		for _, k := range rng.Perm(len(m)) {
			if of[m[k]] >= 0 {
				continue
			}
			group := together[groups[m[k]]]
			load := func(f int) (sum int) {
				for _, pos := range group {
					sum += dealt[s.Train.Fine[pos]][f]
				}
				return sum
			}
			best := next % n
			for i := range n {
				if f := (next + i) % n; load(f) < load(best) {
					best = f
				}
			}
			for _, pos := range group {
				of[pos] = best
				dealt[s.Train.Fine[pos]][best]++
			}
			next++
		}
	}
	return of
}

// checkFolds returns an error if the folds cannot be used to choose settings: in a fold of one
// class every neighbour is right for every network.
func (s *Parts) checkFolds(of []int, n int, unit string) error {
	for f := range n {
		classes, pairs := map[int64]int{}, 0
		rest := map[int64]bool{}
		for pos, g := range of {
			if g != f {
				rest[s.Train.Label[pos]] = true
				continue
			}
			if classes[s.Train.Fine[pos]]++; classes[s.Train.Fine[pos]] == 2 {
				pairs++
			}
		}
		have := formatClasses(len(lists.Set(s.Train.Fine)))
		switch {
		case len(classes) < 2:
			return fmt.Errorf("fold %d has %s, but needs two or more, because with one class every neighbour is "+
				"right; there are %s in all: take fewer folds", f+1, formatClasses(len(classes)), have)
		case pairs == 0:
			return fmt.Errorf("fold %d has no class with two images, so no image has a right neighbour: take fewer "+
				"folds", f+1)
		case len(rest) < 2:
			return fmt.Errorf("without fold %d only one label is left for training, but two are needed; there are "+
				"%s in all", f+1, have)
		}
	}
	return nil
}
