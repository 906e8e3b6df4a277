package clean

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/internal/compute/detection"
	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/matrix"
)

// Fold is an embedding of all items by a network that was trained without some of them.
type Fold struct {
	// X has a row for each item.
	X *matrix.Dense
	// HeldOut are the items that the network was not trained on. They are judged in this embedding. nil
	// means all items, for a network that was trained without these labels.
	HeldOut []int
}

// Options are the options of Labels. The zero value is the default.
type Options struct {
	// Neighbours is the number of nearest items that vote; default 15, or all others if there are
	// fewer.
	Neighbours int
	// Rounds is the number of times that votes are counted, each time with less weight for items with
	// doubtful labels; default 3.
	Rounds int
	Seed   uint64
}

// LabelErrors is the result of Labels.
type LabelErrors struct {
	// Score is the probability that an item's label is wrong, 0 for an item alone in its class.
	Score []float64
	// Raw ranks the items by how clearly the classifiers contradict their labels. It is not a
	// probability, because in overlaps of classes right labels are contradicted too.
	Raw []float64
	// Suggested is the label other than its own that fits an item best. Votes is the number of its
	// Neighbours nearest items with the suggested label, and Against the number with the item's own
	// label.
	Suggested    []int64
	Votes, Agree []int
	Neighbours   int
	// NumSingletons is the number of items with a label that no other item has.
	NumSingletons int
	// WrongShare is the estimated share of wrong labels: the mean of the scores.
	WrongShare float64
	// Confusions lists the labels and classes that are mistaken for each other, with the estimated
	// number of items of the label that belong to the class, the largest first. Only pairs that
	// overlap little are judged, so the list may be empty.
	Confusions []Confusion
}

// Suspects returns the items whose label is wrong with at least the given probability, the most probable
// first. Equally probable items are ordered by Raw.
func (j *LabelErrors) Suspects(least float64) []int {
	var out []int
	for i, s := range j.Score {
		if s >= least {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int {
		return cmp.Or(cmp.Compare(j.Score[b], j.Score[a]), cmp.Compare(j.Raw[b], j.Raw[a]))
	})
	return out
}

// FindLabelErrors computes the probability that each item's label is wrong, in two steps. It ranks the items. Then
// it estimates how many of the highest-ranked labels are right labels of items in a tail of their class or
// in an overlap of classes.
//
// Two classifiers judge each label y of an item. One is a kNN vote: the weighted share of the nearest rows
// that vote for y, where the weight of a vote falls with distance. The other is the head: the prediction
// for y of a ridge regression of the labels' indicators on the embedding. Both leave out the item's own
// label exactly: its vote, and its part of the regression (the predicted residual).
//
// Every item also gets a wrong label, half of the time a random one and half of the time that of one of the
// classes nearest to its own, and the classifiers judge that label too. A logistic regression learns to
// separate these wrong labels from the actual ones. Its output is Raw. Items that score like wrong labels
// (Elkan and Noto 2008; Blanchard, Lee and Scott 2010) have less weight in the votes and the head, which
// are computed three times.
//
// The probability is from a model of labels. The odds of classes at an item follow from the mean squared
// distances d to the nearest members of the classes, for example as d^-steep. The steepness, the tails of
// classes, the share of less certain right labels and the overlap of look-alikes are learned from the
// labels, by the probability that the model gives to all labels together. In addition, a label is wrong
// with probability w, and then label y with probability r(y), independent of the distances. r is the same for
// all labels, except for at most five default labels, which many wrong items share: theirs is learned from the
// labels. With p(y) the probability of a right label y,
//
//	Score = w (1 - p(y)) r(y) / P(y),
//
// averaged over all shapes and all w from 0 to 0.4, weighted by the probability of the labels under each.
// The prior probability of w = 0 is one half. So an outlying item is suspected only if it is among the
// items of another class more closely than the tails of the classes explain. An item between two classes is
// not suspected.
//
// This cannot distinguish the wrong label of a look-alike from an overlap, and does not suspect it. So
// pairs of confused classes (the confident joint of Northcutt, Jiang and Chuang 2021) are also judged
// separately: an item of class b with label a is anywhere among the items of b, while an item of a is not.
// If this finds more wrong labels than random mistakes explain, an item's Score is the larger of the two
// probabilities. It requires a gap between the classes, and at least eight items in each; see
// Judged.Confusions.
//
// So a wrong label means one that could have been given at random, by default, or to a separate look-alike. The label
// of an item alone in its class is not judged.
//
// It returns an error if the numbers of labels and rows differ, for fewer than two classes, if folds do not
// hold every item exactly once, and for rows that are not finite.
func FindLabelErrors(ctx context.Context, labels []int64, opt Options, folds ...Fold) (*LabelErrors, error) {
	y, ids, err := opt.setDefaults(labels)
	if err != nil {
		return nil, err
	}
	n := len(labels)
	parts, err := splitFolds(ctx, folds, n, &opt)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(opt.Seed, 0xc1ea))
	wrong := injectErrors(y, len(ids), detection.ConfusableClasses(parts[0].x, y, len(ids), maxLookAlikes), rng)
	trust := slices.Repeat([]float64{1}, n)
	out := &LabelErrors{Neighbours: opt.Neighbours, Suggested: make([]int64, n), Votes: make([]int, n),
		Agree: make([]int, n)}
	var h *evidence
	var asked confusablePairs
	var defaults []int
	var doubt, paired []float64
	for range opt.Rounds {
		h = &evidence{y: y, wrong: wrong, classes: len(ids), trust: trust, candidates: make([][]candidate, n),
			asIs: make([]margins, n), given: make([]margins, n), confusable: asked, ahead: make([][]candidate, n),
			defaults: defaults, ifDefault: make([][]margins, len(defaults))}
		for k := range defaults {
			h.ifDefault[k] = make([]margins, n)
		}
		for _, p := range parts {
			if err := p.computeEvidence(ctx, h); err != nil {
				return nil, fmt.Errorf("finding wrong labels: %w", err)
			}
		}
		w := fitWeights(h.asIs, h.given)
		out.Raw = make([]float64, n)
		given, sure := make([]float64, n), make([]float64, n)
		for i := range n {
			out.Raw[i], given[i] = w.score(h.asIs[i]), w.score(h.given[i])
			out.Suggested[i] = ids[w.bestCandidate(h.candidates[i], y[i]).class]
			sure[i] = w.certainty(h.candidates[i])
		}
		var share, found float64
		doubt, share = calibrateScores(out.Raw, given, sure, boundDeviations(out.Raw, given, len(ids)))
		share += h.doubtDefaults(w, out.Raw, doubt) / float64(n)
		// Pairs are not needed if random mistakes and default labels explain all wrong labels.
		if paired, found = h.judgePairs(w, share); found <= share {
			clear(paired)
		}
		for i, d := range doubt {
			trust[i] = trustWeight(max(d, paired[i]))
		}
		asked, defaults = findConfusablePairs(h, w), h.findDefaults(out.Raw, given)
	}
	if out.Score, err = probabilities(ctx, parts, y, len(ids), trust, h.defaults); err != nil {
		return nil, fmt.Errorf("finding wrong labels: %w", err)
	}
	h.scoreDistrusted(doubt, out.Score)
	out.Confusions = likelyConfusions(y, ids, out.Suggested, paired)
	for i, p := range paired {
		out.Score[i] = max(out.Score[i], p)
		out.WrongShare += out.Score[i] / float64(n)
	}
	for _, size := range lists.Count(y) {
		if size == 1 {
			out.NumSingletons++
		}
	}
	for _, p := range parts {
		p.countVotes(y, ids, out)
	}
	return out, nil
}

// trustWeight returns the weight of an item whose label is wrong with the given probability. It is above 0
// even for probability 1.
func trustWeight(wrong float64) float64 { return max(1-wrong, 0.01) }

// isTrusted reports whether an item with this weight counts as a member of its class.
func isTrusted(weight float64) bool { return weight >= 0.5 }

// setDefaults fills in defaults and numbers the labels.
func (o *Options) setDefaults(labels []int64) (y []int, ids []int64, err error) {
	if o.Neighbours < 0 || o.Rounds < 0 {
		return nil, nil, fmt.Errorf("%d neighbours, %d rounds", o.Neighbours, o.Rounds)
	}
	o.Neighbours = cmp.Or(o.Neighbours, 15)
	o.Rounds = cmp.Or(o.Rounds, 3)
	y, ids = lists.Rank[int](labels)
	if len(ids) < 2 {
		return nil, nil, errors.New("finding wrong labels needs at least two classes")
	}
	return y, ids, nil
}

// splitFolds checks the folds, and finds the neighbours that vote in each.
func splitFolds(ctx context.Context, folds []Fold, n int, opt *Options) ([]*foldPart, error) {
	if len(folds) == 0 {
		return nil, errors.New("no embedding: give at least one fold")
	}
	seen := make([]bool, n)
	var parts []*foldPart
	for k, f := range folds {
		if f.X == nil || f.X.Rows != n {
			return nil, fmt.Errorf("the number of rows of fold %d differs from the %d labels", k+1, n)
		}
		if err := exact.CheckFinite(f.X, "embeddings"); err != nil {
			return nil, err
		}
		p := &foldPart{x: f.X}
		p.heldOut = f.HeldOut
		if f.HeldOut == nil {
			p.heldOut = lists.Indices(n)
			p.judges = p.heldOut
		}
		for _, i := range p.heldOut {
			if i < 0 || i >= n || seen[i] {
				return nil, fmt.Errorf("fold %d holds item %d, which does not exist or is in two folds", k+1, i)
			}
			seen[i] = true
		}
		parts = append(parts, p)
	}
	if i := slices.Index(seen, false); i >= 0 {
		return nil, fmt.Errorf("item %d is in no fold", i)
	}
	for k, p := range parts {
		if p.judges == nil {
			in := lists.Set(p.heldOut)
			p.judges = slices.DeleteFunc(lists.Indices(n), func(i int) bool { return in[i] })
		}
		others := len(p.judges)
		if p.isWhole() {
			others--
		}
		if others < 1 || len(p.heldOut) == 0 {
			return nil, fmt.Errorf("fold %d holds out %d of %d items: must be some of them, but not all", k+1,
				len(p.heldOut), n)
		}
		opt.Neighbours = min(opt.Neighbours, others)
	}
	for _, p := range parts {
		if err := p.findNeighbours(ctx, opt.Neighbours); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// maxLookAlikes is the largest number of look-alikes of a class.
const maxLookAlikes = 3

// injectErrors draws a wrong label for every item: a look-alike's for even items, a random one for odd items.
func injectErrors(y []int, classes int, alike [][]int, rng *rand.Rand) []int {
	out := make([]int, len(y))
	for i, c := range y {
		if near := alike[c]; i%2 == 0 && len(near) > 0 {
			out[i] = near[rng.IntN(len(near))]
			continue
		}
		for out[i] = rng.IntN(classes); out[i] == c; {
			out[i] = rng.IntN(classes)
		}
	}
	return out
}
