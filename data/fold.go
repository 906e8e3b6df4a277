package data

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/spell"
)

// parseFold reads K/N with 1 <= K <= N and N >= 2.
func parseFold(text string) (k, n int, ok bool) {
	c, err := fmt.Sscanf(text, "%d/%d", &k, &n)
	ok = err == nil && c == 2 && n >= 2 && k >= 1 && k <= n && fmt.Sprintf("%d/%d", k, n) == text
	return k, n, ok
}

// fold puts a fold of the training part in the place of the test. What was the
// test before is in neither part, so that settings can be chosen by the scores of
// the folds. why says how the samples were divided then.
func (s *Selected) fold(ctx context.Context, rule string, seed uint64, kept *keeper) (
	why func() string, err error) {
	kind, arg, named := strings.Cut(rule, ":")
	if !named {
		kind, arg = "", rule
	}
	k, n, ok := parseFold(arg)
	if !ok || named && kind != "images" {
		return nil, fmt.Errorf("fold %q: write K/N, a fold of classes, or images:K/N, with 1 <= K <= N and N >= 2",
			rule)
	}
	unit := "classes"
	var of []int // the fold of every position
	switch {
	case kind == "images":
		groups, err := kept.within(ctx, s.Train)
		if err != nil {
			return nil, err
		}
		unit, of = "images of every class", s.dealImages(n, seed, groups)
	case s.labelsShared():
		of = s.dealClasses(n, seed)
	default:
		unit, of = "labels", dealt(s.Train.Label, nil, n, seed)
	}
	if err := s.checkFolds(of, n, unit); err != nil {
		more := ""
		if kept.kept.Groups > 0 {
			more = fmt.Sprintf("; data.group=%s, which keeps %s in %s together, may be in the way", kept.rule,
				inImages(kept.kept.Samples), spell.Count(kept.kept.Groups, "group"))
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
		return fmt.Sprintf("fold %d of %d of the training part, dealt by %s, stands in for the test (%s of %s), "+
			"which is not used; the rest trains (%s of %s)", k, n, unit, inImages(s.Query.Len()),
			inClasses(len(s.Query.classes())), inImages(s.Train.Len()), inClasses(len(s.Train.classes())))
	}, nil
}

// labelsShared reports whether the test has labels that are trained with, as where
// digits are trained by their parity: then what training does not see are classes
// and not labels.
func (s *Selected) labelsShared() bool {
	trained := map[int64]bool{}
	for _, y := range s.Train.Label {
		trained[y] = true
	}
	return slices.ContainsFunc(s.Query.Label, func(y int64) bool { return trained[y] })
}

// dealClasses deals fine classes, those of a label among the folds alike.
func (s *Selected) dealClasses(n int, seed uint64) []int {
	label := map[int64]int64{}
	for pos, id := range s.Train.Fine {
		label[id] = s.Train.Label[pos]
	}
	return dealt(s.Train.Fine, label, n, seed)
}

// dealt deals the different values at random into n folds whose sizes differ by at
// most one, those with the same mark after each other.
func dealt(values []int64, mark map[int64]int64, n int, seed uint64) []int {
	ids := slices.Clone(values)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	rng := rand.New(rand.NewPCG(seed, 0xf01dc1a55))
	rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	slices.SortStableFunc(ids, func(a, b int64) int { return int(mark[a] - mark[b]) })
	in := make(map[int64]int, len(ids))
	for i, id := range ids {
		in[id] = i % n
	}
	of := make([]int, len(values))
	for pos, id := range values {
		of[pos] = in[id]
	}
	return of
}

// dealImages deals the images of every class, a group to the fold that has the fewest
// of its classes.
func (s *Selected) dealImages(n int, seed uint64, groups []int) []int {
	members := map[int64][]int{}
	var ids []int64
	for pos, id := range s.Train.Fine {
		if members[id] == nil {
			ids = append(ids, id)
		}
		members[id] = append(members[id], pos)
	}
	if groups == nil {
		groups = make([]int, s.Train.Len())
		for pos := range groups {
			groups[pos] = pos
		}
	}
	together := membersOf(groups)
	rng := rand.New(rand.NewPCG(seed, 0xf01d1a6e))
	of := make([]int, s.Train.Len())
	for pos := range of {
		of[pos] = -1
	}
	dealt := map[int64][]int{} // to each fold, of each class
	for _, id := range ids {
		dealt[id] = make([]int, n)
	}
	next := 0
	for _, id := range ids {
		m := members[id]
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

// checkFolds says why the folds are no good to choose settings by: in a fold of one
// class every neighbour is right, whatever the network.
func (s *Selected) checkFolds(of []int, n int, unit string) error {
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
		have := inClasses(len(s.Train.classes()))
		switch {
		case len(classes) < 2:
			return fmt.Errorf("fold %d has %s, and needs two or more: with one class every neighbour is right; there "+
				"are %s in all: take fewer folds", f+1, inClasses(len(classes)), have)
		case pairs == 0:
			return fmt.Errorf("fold %d has no class with two images, so that none finds another: take fewer folds", f+1)
		case len(rest) < 2:
			return fmt.Errorf("without fold %d there is one label left to train with, and two are needed; there are "+
				"%s in all", f+1, have)
		}
	}
	return nil
}
