package clean

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/compute/detection"
	"github.com/kindred-ml/kindred/mat"
)

// Fold is an embedding of all items by a network that was trained without some of them.
type Fold struct {
	// X has a row for each item.
	X *mat.Dense
	// Held are the items that the network was not trained on; they are judged in this
	// embedding. nil: all items, for a network trained without these labels.
	Held []int
}

// Options say how to judge. The zero value is the default.
type Options struct {
	// Neighbours is how many of the nearest items vote; default 15, or all others if there
	// are fewer.
	Neighbours int
	// Rounds is how often the votes are counted, each time with less weight for items with
	// doubtful labels; default 3.
	Rounds int
	Seed   uint64
}

// Judged is the result of Labels.
type Judged struct {
	// Score is the probability that an item's label is wrong.
	Score []float64
	// Raw orders the items as Score does, without its ties.
	Raw []float64
	// Suggested is the label that fits an item best, other than its own. Votes is how many
	// of its Neighbours nearest have the suggested label, Against how many have the item's
	// own.
	Suggested    []int64
	Votes, Agree []int
	Neighbours   int
	// Wrong is the estimated share of wrong labels.
	Wrong float64
	// Confused lists the labels and classes that are mistaken for each other, with the
	// number of items of the label that are likely to be of the class, the most first.
	// Only pairs that overlap little are judged, so the list may be empty.
	Confused []Confusion
}

// Suspects lists the items whose label is wrong with at least the given probability, the
// most probable first.
func (j *Judged) Suspects(least float64) []int {
	var out []int
	for i, s := range j.Score {
		if s >= least {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(j.Raw[b], j.Raw[a]) })
	return out
}

// Labels computes for each item the probability that its label is wrong.
//
// Two classifiers judge each label y of an item. One is a kNN vote: the weighted share of
// the nearest rows that vote for y, where the weight of a vote falls with its distance.
// The other is the head: the prediction for y of a ridge regression of the labels'
// indicators on the embedding. Both leave out the item's own label exactly: its vote, and
// its part of the regression (the predicted residual).
//
// Every item is then also given a wrong label, half of the time a random one and half of
// the time that of one of the classes nearest to its own, and the classifiers judge that
// too. A logistic regression learns to tell these wrong labels from the actual ones. Its
// output is pooled into a monotone ratio f1(s) / f(s) of the densities of the wrong and of
// the actual labels. With the share w of wrong labels
//
//	Score = w f1(s) / f(s),
//
// where w is the largest share for which no probability is negative: the least f / f1 over
// scores that are not rare among wrong labels (Elkan and Noto 2008; Blanchard, Lee and
// Scott 2010). This is computed for all items and for up to five parts of them, divided by
// how certain the classifiers are of the class, and w is the least: in a weak embedding
// the classifiers reject right labels as clearly as wrong ones, except where they are
// certain. All of it is repeated with votes and items weighted by 1 - Score.
//
// If wrong labels are those of look-alikes, hardly any of them scores like a random wrong
// label, and w is close to 0. So pairs of confused classes (the confident joint of
// Northcutt, Jiang and Chuang 2021) are also judged separately, from the second round on:
// an item of class b with label a lies anywhere among the items of b, an item of a does
// not. If this finds more wrong labels than the random ones account for, an item's Score
// is the larger of the two probabilities. The classes must overlap little and have eight
// items or more; see Judged.Confused. In sets of classes smaller than twelve items w is
// bounded more closely, the less sharply scores tell wrong labels.
//
// So a wrong label means one that could have been given at random or to a look-alike; an
// item that is rare for its class scores high as well.
//
// Errors: numbers of labels and rows that differ, fewer than two classes, folds that do
// not hold every item exactly once, rows that are not finite.
func Labels(ctx context.Context, labels []int64, opt Options, folds ...Fold) (*Judged, error) {
	y, ids, err := opt.settle(labels)
	if err != nil {
		return nil, err
	}
	n := len(labels)
	parts, err := split(ctx, folds, n, &opt)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(opt.Seed, 0xc1ea))
	wrong := injected(y, len(ids), detection.LookAlikes(parts[0].x, y, len(ids), alikes), rng)
	trust := slices.Repeat([]float64{1}, n)
	out := &Judged{Neighbours: opt.Neighbours, Suggested: make([]int64, n), Votes: make([]int, n),
		Agree: make([]int, n)}
	var asked confused
	for range opt.Rounds {
		h := &evidence{y: y, wrong: wrong, classes: len(ids), trust: trust, best: make([][]candidate, n),
			asIs: make([]margins, n), given: make([]margins, n), asked: asked, ahead: make([][]candidate, n)}
		for _, p := range parts {
			if err := p.judge(ctx, h); err != nil {
				return nil, fmt.Errorf("finding wrong labels: %w", err)
			}
		}
		w := learn(h.asIs, h.given)
		out.Raw = make([]float64, n)
		given, sure := make([]float64, n), make([]float64, n)
		for i := range n {
			out.Raw[i], given[i] = w.score(h.asIs[i]), w.score(h.given[i])
			out.Suggested[i] = ids[w.candidate(h.best[i], y[i]).class]
			sure[i] = w.certainty(h.best[i])
		}
		out.Score, out.Wrong = calibrate(out.Raw, given, sure, caution(out.Raw, given, len(ids)))
		paired, share := h.judgePairs(w, out.Wrong)
		// What labels given at random account for needs no pairs.
		if out.Confused = nil; share > out.Wrong {
			out.Confused, out.Wrong = likely(y, ids, out.Suggested, paired), share
			for i, p := range paired {
				out.Score[i] = max(out.Score[i], p)
			}
		}
		for i, s := range out.Score {
			trust[i] = trusted(s)
		}
		asked = mistakes(h, w)
	}
	number := map[int64]int{}
	for k, id := range ids {
		number[id] = k
	}
	for _, p := range parts {
		p.count(y, out, number)
	}
	return out, nil
}

// trusted is how much an item counts whose label is wrong with a probability: a little even
// where that is 1.
func trusted(wrong float64) float64 { return max(1-wrong, 0.01) }

// settle fills in defaults and numbers the labels.
func (o *Options) settle(labels []int64) (y []int, ids []int64, err error) {
	if o.Neighbours < 0 || o.Rounds < 0 {
		return nil, nil, fmt.Errorf("clean: %d neighbours, %d rounds", o.Neighbours, o.Rounds)
	}
	if o.Neighbours == 0 {
		o.Neighbours = 15
	}
	if o.Rounds == 0 {
		o.Rounds = 3
	}
	y, ids = dense(labels)
	if len(ids) < 2 {
		return nil, nil, errors.New("clean: labels of at least two classes are needed to find wrong ones")
	}
	return y, ids, nil
}

// dense numbers labels from 0 in their order, and returns the label behind each.
func dense(labels []int64) (y []int, ids []int64) {
	ids = slices.Clone(labels)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	y = make([]int, len(labels))
	for i, l := range labels {
		y[i], _ = slices.BinarySearch(ids, l)
	}
	return y, ids
}

// split checks the folds, and finds the neighbours that may vote in each.
func split(ctx context.Context, folds []Fold, n int, opt *Options) ([]*part, error) {
	if len(folds) == 0 {
		return nil, errors.New("clean: no embedding to judge in")
	}
	seen := make([]bool, n)
	var parts []*part
	for k, f := range folds {
		if f.X == nil || f.X.Rows != n {
			return nil, fmt.Errorf("clean: fold %d has another number of rows than the %d labels", k+1, n)
		}
		if err := rank.Finite(f.X, "embeddings"); err != nil {
			return nil, err
		}
		p := &part{x: f.X}
		p.held = f.Held
		if f.Held == nil {
			for i := range n {
				p.held = append(p.held, i)
			}
			p.rest = p.held
		}
		for _, i := range p.held {
			if i < 0 || i >= n || seen[i] {
				return nil, fmt.Errorf("clean: fold %d holds item %d, which does not exist or is in two folds", k+1, i)
			}
			seen[i] = true
		}
		parts = append(parts, p)
	}
	if i := slices.Index(seen, false); i >= 0 {
		return nil, fmt.Errorf("clean: item %d is in no fold", i)
	}
	for k, p := range parts {
		if p.rest == nil {
			in := make([]bool, n)
			for _, i := range p.held {
				in[i] = true
			}
			for i := range n {
				if !in[i] {
					p.rest = append(p.rest, i)
				}
			}
		}
		others := len(p.rest)
		if p.whole() {
			others--
		}
		if others < 1 || len(p.held) == 0 {
			return nil, fmt.Errorf("clean: fold %d holds %d of %d items, and leaves none to judge them by", k+1,
				len(p.held), n)
		}
		opt.Neighbours = min(opt.Neighbours, others)
	}
	for _, p := range parts {
		if err := p.search(ctx, opt.Neighbours); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// alikes is how many classes may stand for a look-alike of one.
const alikes = 3

// injected draws a wrong label for every item: a look-alike for even ones, a random
// one for odd ones.
func injected(y []int, classes int, alike [][]int, rng *rand.Rand) []int {
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
