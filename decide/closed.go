package decide

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/matrix"
)

const (
	// MinKnownPhotos is the least number of photos of known classes for calibrating a closed set.
	MinKnownPhotos = 20
	// maxKnownPhotos is the largest number of photos for calibrating. If there are more, the seed draws some.
	maxKnownPhotos = 2000
)

// Closed answers which of the known classes a photo shows, for classes that a network was trained on. Without a gate
// it cannot recognise strangers, so every photo gets a label.
type Closed struct {
	// Photos photos were searched among Items items of Classes classes. Right is the share with the right label.
	Photos  int     `json:"photos"`
	Items   int     `json:"items"`
	Classes int     `json:"classes"`
	Right   float64 `json:"right"`
	// Curve and Vote are as in Calibration, learned from photos of the known classes. The reliability of the
	// vote is cross-fitted: probabilities of a class's photos come from photos of other classes.
	Curve Curve `json:"curve"`
	Vote  Vote  `json:"vote"`
	// ClassDistances has the distances of the photos to the nearest item of their class. Nearest has their distances to
	// the nearest of all items. Both are in ascending order.
	ClassDistances   []float64 `json:"own"`
	NearestDistances []float64 `json:"nearest"`
	// Names are the classes. Gate, if set, recognises strangers.
	Names []string      `json:"names,omitempty"`
	Gate  *StrangerGate `json:"gate,omitempty"`
}

// LabelledEmbeddings holds embeddings with labels. Row i of X has the label Labels[i].
type LabelledEmbeddings struct {
	X      *matrix.Dense
	Labels []int64
	// SelfRows has the row of each photo among the items, which its search leaves out, or -1 if it is not among
	// them. Nil means that no photo is among the items.
	SelfRows []int
}

// CalibrateClosed learns the probability that a label is right from the share of the vote, by searching photos among
// items of the same classes. The network must not have been trained on the photos, but it may have been trained on the
// items. The result has no thresholds. Calibration.Closed is set, and methods about new classes return an error.
//
// It returns an error for fewer than 20 photos, fewer than two classes, a photo whose class has no item, rows of
// different lengths and NaN, and ctx.Err(), wrapped.
func CalibrateClosed(ctx context.Context, photos, items LabelledEmbeddings, opt Options) (*Calibration, error) {
	k, err := newKnownPhotos(photos, items, &opt)
	if err != nil {
		return nil, err
	}
	if err := k.countPairs(ctx); err != nil {
		return nil, err
	}
	if err := k.measure(ctx); err != nil {
		return nil, err
	}
	closed := k.fitClosed()
	return &Calibration{Format: format, Source: opt.Source, Distance: opt.Distance, Dim: items.X.Cols, Seed: opt.Seed,
		Classes: closed.Classes, Photos: closed.Photos, InputPhotos: photos.X.Rows,
		PerClass: float64(closed.Items) / float64(closed.Classes), Curve: closed.Curve, Closed: closed}, nil
}

// knownPhotos holds measurements of photos of known classes.
type knownPhotos struct {
	distance   eval.Distance
	photos     *matrix.Dense
	items      *matrix.Dense
	selfItem   []int   // the item that is the photo, or -1; nil if no photo is an item
	photoClass []int32 // the class of each photo, as a number among the classes of the items
	itemClass  []int32 // the class of each item
	classes    int
	fold       []int // the fold of each class

	counts          *pairCounts
	levels          *levels
	same, different [foldCount][]float64 // pairs by level, by the fold of the photo's class
	voters          [][]votingItem       // the items that vote for each photo, nearest first
	sameDistance    []float64            // the distance of each photo to the nearest item of its class
}

// votingItem is an item that votes.
type votingItem struct {
	class int32
	d     float32
}

func newKnownPhotos(photos, items LabelledEmbeddings, opt *Options) (*knownPhotos, error) {
	for _, e := range []struct {
		LabelledEmbeddings
		what string
	}{{photos, "photos"}, {items, "items"}} {
		switch {
		case e.X == nil || e.X.Rows == 0:
			return nil, fmt.Errorf("there are no embeddings of %s of known classes", e.what)
		case len(e.Labels) != e.X.Rows:
			return nil, fmt.Errorf("there are %d embeddings of %s, but %d labels", e.X.Rows, e.what, len(e.Labels))
		}
		if err := exact.CheckFinite(e.X, "embeddings of "+e.what); err != nil {
			return nil, err
		}
	}
	if photos.X.Cols != items.X.Cols {
		return nil, fmt.Errorf("the embeddings of the photos have %d numbers, but those of the items have %d",
			photos.X.Cols,
			items.X.Cols)
	}
	if err := opt.Distance.Check(); err != nil {
		return nil, err
	}
	k := &knownPhotos{distance: opt.Distance, items: items.X, photos: photos.X, selfItem: photos.SelfRows}
	number := make(map[int64]int32)
	for _, l := range items.Labels {
		if _, ok := number[l]; !ok {
			number[l] = int32(len(number))
		}
		k.itemClass = append(k.itemClass, number[l])
	}
	if k.classes = len(number); k.classes < 2 {
		return nil, fmt.Errorf("the items are of %d class: at least two are needed", k.classes)
	}
	for _, l := range photos.Labels {
		c, ok := number[l]
		if !ok {
			return nil, fmt.Errorf("a photo has the label %d, which no item has", l)
		}
		k.photoClass = append(k.photoClass, c)
	}
	if n := photos.X.Rows; n < MinKnownPhotos {
		return nil,
			fmt.Errorf("%d photos of known classes are too few to learn probabilities from: at least %d are needed", n,
				MinKnownPhotos)
	}
	k.subsample(opt.Seed)
	if k.distance == eval.Cosine {
		k.photos, k.items = eval.NormalizeRows(k.photos), eval.NormalizeRows(k.items)
	}
	k.fold = assignFolds(k.classes, opt.Seed)
	return k, nil
}

// subsample draws some of the photos if there are too many.
func (k *knownPhotos) subsample(seed uint64) {
	n := k.photos.Rows
	if n <= maxKnownPhotos {
		return
	}
	kept := rand.New(rand.NewPCG(seed, 4)).Perm(n)[:maxKnownPhotos]
	slices.Sort(kept)
	of, itself := make([]int32, maxKnownPhotos), k.selfItem
	if itself != nil {
		k.selfItem = make([]int, maxKnownPhotos)
	}
	for i, q := range kept {
		of[i] = k.photoClass[q]
		if itself != nil {
			k.selfItem[i] = itself[q]
		}
	}
	k.photos, k.photoClass = copyRows(k.photos, kept), of
}

// scan calls visit for each photo, in order, with its values to all items. The values have the order of distances.
func (k *knownPhotos) scan(ctx context.Context, visit func(q int, values []float32)) error {
	values := matrix.New(min(tileRows, k.photos.Rows), k.items.Rows)
	for lo := 0; lo < k.photos.Rows; lo += tileRows {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("comparing photos with items: %w", err)
		}
		hi := min(lo+tileRows, k.photos.Rows)
		out := values.RowRange(0, hi-lo)
		if rows := k.photos.RowRange(lo, hi); k.distance == eval.Dot {
			matrix.Gemm(false, true, -1, rows, k.items, 0, out)
		} else {
			matrix.SquaredDistances(rows, k.items, out)
		}
		for q := lo; q < hi; q++ {
			visit(q, out.Row(q-lo))
		}
	}
	return nil
}

// isSameItem reports whether a photo is an item.
func (k *knownPhotos) isSameItem(photo, item int) bool {
	return k.selfItem != nil && k.selfItem[photo] == item
}

// countPairs chooses the distances at which pairs are counted.
func (k *knownPhotos) countPairs(ctx context.Context) error {
	k.counts = &pairCounts{make([]int64, 1<<keyBits), make([]int64, 1<<keyBits)}
	err := k.scan(ctx, func(q int, values []float32) {
		for i, v := range values {
			if k.isSameItem(q, i) {
				continue
			}
			if k.itemClass[i] == k.photoClass[q] {
				k.counts.same[orderKey(v)]++
			} else {
				k.counts.different[orderKey(v)]++
			}
		}
	})
	if err != nil {
		return err
	}
	k.levels = k.counts.chooseLevels(k.distance)
	if far := k.levels.end[len(k.levels.end)-1]; math.IsInf(far, 0) || math.IsNaN(far) {
		return fmt.Errorf("distances are too large for 32-bit numbers: scale the embeddings down")
	}
	return nil
}

// measure counts pairs by the fold of the photo's class, and finds the items that vote.
func (k *knownPhotos) measure(ctx context.Context) error {
	for f := range foldCount {
		k.same[f], k.different[f] = make([]float64, len(k.levels.end)), make([]float64, len(k.levels.end))
	}
	return k.scan(ctx, func(q int, values []float32) {
		f := k.fold[k.photoClass[q]]
		own := float32(math.Inf(1))
		var near []votingItem
		for i, v := range values {
			if k.isSameItem(q, i) {
				continue
			}
			if k.itemClass[i] == k.photoClass[q] {
				k.same[f][k.levels.levelOf(v)]++
				own = min(own, v)
			} else {
				k.different[f][k.levels.levelOf(v)]++
			}
			if len(near) == maxVoters && v >= near[maxVoters-1].d {
				continue
			}
			at, _ := slices.BinarySearchFunc(near, v, func(e votingItem, v float32) int {
				if e.d <= v { // ties keep their order
					return -1
				}
				return 1
			})
			near = slices.Insert(near, at, votingItem{k.itemClass[i], v})
			near = near[:min(len(near), maxVoters)]
		}
		k.voters = append(k.voters, near)
		if math.IsInf(float64(own), 1) { // the only item of its class is the photo itself
			own = slices.Max(values)
		}
		k.sameDistance = append(k.sameDistance, toDistance(k.distance, float64(own)))
	})
}

// fitClosed fits a Closed to the measurements.
func (k *knownPhotos) fitClosed() *Closed {
	c := &Closed{Photos: k.photos.Rows, Items: k.items.Rows, Classes: k.classes, Curve: k.fitCurve(-1),
		ClassDistances: slices.Sorted(slices.Values(k.sameDistance))}
	all := k.voteProbes(c.Curve)
	c.Vote = fitVote(all)
	for q, near := range k.voters {
		c.NearestDistances = append(c.NearestDistances, toDistance(k.distance, float64(near[0].d)))
		if all[q].right {
			c.Right += 1 / float64(c.Photos)
		}
	}
	slices.Sort(c.NearestDistances)
	c.Vote.Reliability = k.crossValidateVote()
	return c
}

// fitCurve returns the curve of the photos of all folds except one, or of all folds if without is -1.
func (k *knownPhotos) fitCurve(without int) Curve {
	same, different := make([]float64, len(k.levels.end)), make([]float64, len(k.levels.end))
	for f := range foldCount {
		if f == without {
			continue
		}
		for e := range same {
			same[e] += k.same[f][e]
			different[e] += k.different[f][e]
		}
	}
	// In a closed set the unit is the photo, so the pair that may have been missed is one photo's.
	photos := float64(k.photos.Rows)
	return fitCurve(k.levels.end, same, different, photos, photos*float64(k.classes-1))
}

// voteProbes returns the votes for all photos.
func (k *knownPhotos) voteProbes(by Curve) []voteProbe {
	count := make([]float64, k.classes)
	for _, i := range k.itemClass {
		count[i]++
	}
	var out []voteProbe
	for q, near := range k.voters {
		var class []int32
		var odds, items []float64
		for _, e := range near {
			class, odds = append(class, e.class), append(odds, by.LogOddsAt(toDistance(k.distance, float64(e.d))))
			items = append(items, count[e.class])
		}
		won := countVotes(class, odds, items, k.classes, 0)
		out = append(out, voteProbe{odds: logit(won[0].share), right: won[0].class == k.photoClass[q]})
	}
	return out
}

// crossValidateVote fits the vote to the photos of four fifths of the classes and tests it on the others, five times.
// Chance is computed by leaving one class out, as in set.computeChance.
func (k *knownPhotos) crossValidateVote() Reliability {
	type said struct {
		class int32
		p     float64
		right float64
	}
	var all []said
	for out := range foldCount {
		var fitted []voteProbe
		var other []int
		for q, c := range k.photoClass {
			if k.fold[c] == out {
				other = append(other, q)
			}
		}
		if len(other) == 0 || len(other) == len(k.photoClass) {
			continue
		}
		probes := k.voteProbes(k.fitCurve(out))
		for q, c := range k.photoClass {
			if k.fold[c] != out {
				fitted = append(fitted, probes[q])
			}
		}
		v := fitVote(fitted)
		for _, q := range other {
			e := said{k.photoClass[q], logistic(v.A + v.B*probes[q].odds), 0}
			if probes[q].right {
				e.right = 1
			}
			all = append(all, e)
		}
	}
	r := computeReliability(func(yield func(p, right, wrong float64)) {
		for _, e := range all {
			yield(e.p, e.right, 1-e.right)
		}
	})
	apart := make([][reliabilityBins]float64, k.classes)
	for _, e := range all {
		apart[e.class][min(int(e.p*reliabilityBins), reliabilityBins-1)] += (e.right - e.p) / float64(len(all))
	}
	n := float64(k.classes)
	for b := range reliabilityBins {
		var d, squares float64
		for i := range apart {
			d += apart[i][b]
			squares += apart[i][b] * apart[i][b]
		}
		wide := math.Sqrt(squares * n / (n - 1))
		r.Chance += meanAbsNormal(0, wide)
		r.Debiased += 2*math.Abs(d) - meanAbsNormal(math.Abs(d), wide)
	}
	return r
}

// coverageDistance returns the distance within which a photo of a known class has an item of its class, with
// at least the given probability. It is the ceil(coverage (n + 1))-th smallest of the n photos' distances
// (split conformal prediction). The unit is the photo, because the classes stay the same.
func (c *Closed) coverageDistance(coverage float64) (float64, error) {
	if !(coverage > 0 && coverage < 1) {
		return 0, fmt.Errorf("the coverage is %v: must be above 0 and below 1", coverage)
	}
	k := int(math.Ceil(coverage*float64(len(c.ClassDistances)+1) - 1e-9))
	if k > len(c.ClassDistances) {
		return 0, fmt.Errorf("a coverage of %v needs %d photos of known classes, but the calibration has %d", coverage,
			int(math.Ceil(coverage/(1-coverage)-1e-9)), len(c.ClassDistances))
	}
	return c.ClassDistances[k-1], nil
}

// sameClassQuantiles returns the distances within which the given shares of the photos have an item of their class, in
// ascending order and without repetitions.
func (c *Closed) sameClassQuantiles(shares []float64) []float64 {
	var out []float64
	for _, p := range shares {
		d := c.ClassDistances[min(int(p*float64(len(c.ClassDistances))), len(c.ClassDistances)-1)]
		if len(out) == 0 || d > out[len(out)-1] {
			out = append(out, d)
		}
	}
	return out
}

// KnownRate returns the share of the calibration's photos that have an item within a distance.
func (c *Closed) KnownRate(distance float64) float64 {
	n, found := slices.BinarySearch(c.NearestDistances, distance)
	for found && n < len(c.NearestDistances) && c.NearestDistances[n] == distance {
		n++
	}
	return float64(n) / float64(len(c.NearestDistances))
}

// isGallery reports whether a gallery has the known classes and no others.
func (c *Closed) isGallery(g Gallery) bool {
	if g.Photos == nil || len(c.Names) == 0 {
		return g.Classes <= c.Classes
	}
	n := 0
	for _, name := range c.Names {
		if g.Photos(name) > 0 {
			n++
		}
	}
	return n == g.Classes
}

// IsClosed reports whether the calibration was learned only from photos of the classes of training. Such a calibration
// cannot be used for galleries of other classes, and recognises strangers only by Closed.Gate.
func (c *Calibration) IsClosed() bool { return c.Closed != nil && len(c.Distances) == 0 }

// ClosedError is the error of asking a closed set about strangers or new classes.
type ClosedError struct {
	What    string // name of the question
	Classes int
}

func (e *ClosedError) Error() string {
	return fmt.Sprintf("%s is not available: the calibration is closed, learned from photos of the %d classes of "+
		"training; kindred calibrate makes an open one from photos of other classes, or with folds",
		e.What, e.Classes)
}

// requireOpen returns an error if the calibration is closed.
func (c *Calibration) requireOpen(what string) error {
	if c.IsClosed() {
		return &ClosedError{what, c.Classes}
	}
	return nil
}
