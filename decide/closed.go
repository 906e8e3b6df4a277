package decide

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/matrix"
)

const (
	// FewestKnown is the least number of photos of known classes for calibrating a closed set.
	FewestKnown = 20
	// mostKnown is the largest number of photos for calibrating. If there are more, the seed draws some.
	mostKnown = 2000
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
	// Own has the distances of the photos to the nearest item of their class. Nearest has their distances to
	// the nearest of all items. Both are in ascending order.
	Own     []float64 `json:"own"`
	Nearest []float64 `json:"nearest"`
	// Names are the classes. Gate, if set, recognises strangers.
	Names []string `json:"names,omitempty"`
	Gate  *Gate    `json:"gate,omitempty"`
}

// Labelled holds embeddings with labels. Row i of X has the label Labels[i].
type Labelled struct {
	X      *matrix.Dense
	Labels []int64
	// Itself has the row of each photo among the items, which its search leaves out, or -1 if it is not among
	// them. Nil means that no photo is among the items.
	Itself []int
}

// CalibrateClosed learns the probability that a label is right from the share of the vote, by searching photos among
// items of the same classes. The network must not have been trained on the photos, but it may have been trained on the
// items. The result has no thresholds. Calibration.Closed is set, and methods about new classes return an error.
//
// It returns an error for fewer than 20 photos, fewer than two classes, a photo whose class has no item, rows of
// different lengths and NaN, and ctx.Err(), wrapped.
func CalibrateClosed(ctx context.Context, photos, items Labelled, opt Options) (*Calibration, error) {
	k, err := newKnown(photos, items, &opt)
	if err != nil {
		return nil, err
	}
	if err := k.count(ctx); err != nil {
		return nil, err
	}
	if err := k.measure(ctx); err != nil {
		return nil, err
	}
	closed := k.closed()
	return &Calibration{Format: format, Source: opt.Source, Distance: opt.Distance, Dim: items.X.Cols, Seed: opt.Seed,
		Classes: closed.Classes, Photos: closed.Photos, Given: photos.X.Rows,
		PerClass: float64(closed.Items) / float64(closed.Classes), Curve: closed.Curve, Closed: closed}, nil
}

// known holds measurements of photos of known classes.
type known struct {
	by      rank.Distance
	photos  *matrix.Dense
	items   *matrix.Dense
	itself  []int   // the item that is the photo, or -1; nil if no photo is an item
	of      []int32 // the class of each photo, as a number among the classes of the items
	among   []int32 // the class of each item
	classes int
	fold    []int // the fold of each class

	fine            *fineCount
	l               *levels
	same, different [foldCount][]float64 // pairs by level, by the fold of the photo's class
	near            [][]votingItem       // the items that vote for each photo, nearest first
	own             []float64            // the distance of each photo to the nearest item of its class
}

// votingItem is an item that votes.
type votingItem struct {
	class int32
	d     float32
}

func newKnown(photos, items Labelled, opt *Options) (*known, error) {
	for _, e := range []struct {
		Labelled
		what string
	}{{photos, "photos"}, {items, "items"}} {
		switch {
		case e.X == nil || e.X.Rows == 0:
			return nil, fmt.Errorf("no embeddings of %s of known classes", e.what)
		case len(e.Labels) != e.X.Rows:
			return nil, fmt.Errorf("%d embeddings of %s with %d labels", e.X.Rows, e.what, len(e.Labels))
		}
		if err := rank.Finite(e.X, "embeddings of "+e.what); err != nil {
			return nil, err
		}
	}
	if photos.X.Cols != items.X.Cols {
		return nil, fmt.Errorf("embeddings of %d numbers are looked up among embeddings of %d", photos.X.Cols,
			items.X.Cols)
	}
	if err := opt.Distance.Check(); err != nil {
		return nil, err
	}
	k := &known{by: opt.Distance, items: items.X, photos: photos.X, itself: photos.Itself}
	number := make(map[int64]int32)
	for _, l := range items.Labels {
		if _, ok := number[l]; !ok {
			number[l] = int32(len(number))
		}
		k.among = append(k.among, number[l])
	}
	if k.classes = len(number); k.classes < 2 {
		return nil, fmt.Errorf("%d class: two or more are needed", k.classes)
	}
	for _, l := range photos.Labels {
		c, ok := number[l]
		if !ok {
			return nil, fmt.Errorf("a photo is of a class (label %d) that no item is of", l)
		}
		k.of = append(k.of, c)
	}
	if n := photos.X.Rows; n < FewestKnown {
		return nil, fmt.Errorf("%d photos of known classes are too few to learn probabilities from: it takes %d", n,
			FewestKnown)
	}
	k.thin(opt.Seed)
	if k.by == rank.Cosine {
		k.photos, k.items = rank.Normalized(k.photos), rank.Normalized(k.items)
	}
	k.fold = folds(k.classes, opt.Seed)
	return k, nil
}

// thin draws some of the photos if there are too many.
func (k *known) thin(seed uint64) {
	n := k.photos.Rows
	if n <= mostKnown {
		return
	}
	kept := rand.New(rand.NewPCG(seed, 4)).Perm(n)[:mostKnown]
	slices.Sort(kept)
	of, itself := make([]int32, mostKnown), k.itself
	if itself != nil {
		k.itself = make([]int, mostKnown)
	}
	for i, q := range kept {
		of[i] = k.of[q]
		if itself != nil {
			k.itself[i] = itself[q]
		}
	}
	k.photos, k.of = taken(k.photos, kept), of
}

// scan calls visit for each photo, in order, with its values to all items. The values have the order of distances.
func (k *known) scan(ctx context.Context, visit func(q int, values []float32)) error {
	values := matrix.New(min(tileRows, k.photos.Rows), k.items.Rows)
	for lo := 0; lo < k.photos.Rows; lo += tileRows {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("comparing photos with items: %w", err)
		}
		hi := min(lo+tileRows, k.photos.Rows)
		out := values.RowRange(0, hi-lo)
		if rows := k.photos.RowRange(lo, hi); k.by == rank.Dot {
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

// is reports whether a photo is an item.
func (k *known) is(photo, item int) bool { return k.itself != nil && k.itself[photo] == item }

// count chooses the distances at which pairs are counted.
func (k *known) count(ctx context.Context) error {
	k.fine = &fineCount{make([]int64, 1<<keyBits), make([]int64, 1<<keyBits)}
	err := k.scan(ctx, func(q int, values []float32) {
		for i, v := range values {
			if k.is(q, i) {
				continue
			}
			if k.among[i] == k.of[q] {
				k.fine.same[key(v)]++
			} else {
				k.fine.different[key(v)]++
			}
		}
	})
	if err != nil {
		return err
	}
	k.l = k.fine.levels(k.by)
	if far := k.l.end[len(k.l.end)-1]; math.IsInf(far, 0) || math.IsNaN(far) {
		return fmt.Errorf("distances are too large for 32-bit numbers: scale the embeddings down")
	}
	return nil
}

// measure counts pairs by the fold of the photo's class, and finds the items that vote.
func (k *known) measure(ctx context.Context) error {
	for f := range foldCount {
		k.same[f], k.different[f] = make([]float64, len(k.l.end)), make([]float64, len(k.l.end))
	}
	return k.scan(ctx, func(q int, values []float32) {
		f := k.fold[k.of[q]]
		own := float32(math.Inf(1))
		var near []votingItem
		for i, v := range values {
			if k.is(q, i) {
				continue
			}
			if k.among[i] == k.of[q] {
				k.same[f][k.l.of(v)]++
				own = min(own, v)
			} else {
				k.different[f][k.l.of(v)]++
			}
			if len(near) == voters && v >= near[voters-1].d {
				continue
			}
			at, _ := slices.BinarySearchFunc(near, v, func(e votingItem, v float32) int {
				if e.d <= v { // ties keep their order
					return -1
				}
				return 1
			})
			near = slices.Insert(near, at, votingItem{k.among[i], v})
			near = near[:min(len(near), voters)]
		}
		k.near = append(k.near, near)
		if math.IsInf(float64(own), 1) { // the only item of its class is the photo itself
			own = slices.Max(values)
		}
		k.own = append(k.own, outward(k.by, float64(own)))
	})
}

// closed fits a Closed to the measurements.
func (k *known) closed() *Closed {
	c := &Closed{Photos: k.photos.Rows, Items: k.items.Rows, Classes: k.classes, Curve: k.curve(-1),
		Own: slices.Sorted(slices.Values(k.own))}
	all := k.probes(c.Curve)
	c.Vote = fitVote(all)
	for q, near := range k.near {
		c.Nearest = append(c.Nearest, outward(k.by, float64(near[0].d)))
		if all[q].right {
			c.Right += 1 / float64(c.Photos)
		}
	}
	slices.Sort(c.Nearest)
	c.Vote.Reliability = k.reliability()
	return c
}

// curve returns the curve of the photos of all folds except one, or of all folds if without is -1.
func (k *known) curve(without int) Curve {
	same, different := make([]float64, len(k.l.end)), make([]float64, len(k.l.end))
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
	return fitSame(k.l.end, same, different, photos, photos*float64(k.classes-1))
}

// probes returns the votes for all photos.
func (k *known) probes(by Curve) []probe {
	count := make([]float64, k.classes)
	for _, i := range k.among {
		count[i]++
	}
	var out []probe
	for q, near := range k.near {
		var class []int32
		var odds, items []float64
		for _, e := range near {
			class, odds = append(class, e.class), append(odds, by.At(outward(k.by, float64(e.d))))
			items = append(items, count[e.class])
		}
		won := votes(class, odds, items, k.classes, 0)
		out = append(out, probe{odds: logit(won[0].share), right: won[0].class == k.of[q]})
	}
	return out
}

// reliability fits the vote to the photos of four fifths of the classes and tests it on the others, five times.
// Chance is computed by leaving one class out, as in set.chance.
func (k *known) reliability() Reliability {
	type said struct {
		class int32
		p     float64
		right float64
	}
	var all []said
	for out := range foldCount {
		var fitted []probe
		var other []int
		for q, c := range k.of {
			if k.fold[c] == out {
				other = append(other, q)
			}
		}
		if len(other) == 0 || len(other) == len(k.of) {
			continue
		}
		probes := k.probes(k.curve(out))
		for q, c := range k.of {
			if k.fold[c] != out {
				fitted = append(fitted, probes[q])
			}
		}
		v := fitVote(fitted)
		for _, q := range other {
			e := said{k.of[q], logistic(v.A + v.B*probes[q].odds), 0}
			if probes[q].right {
				e.right = 1
			}
			all = append(all, e)
		}
	}
	r := reliability(func(yield func(p, right, wrong float64)) {
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
		r.Chance += folded(0, wide)
		r.Debiased += 2*math.Abs(d) - folded(math.Abs(d), wide)
	}
	return r
}

// within returns the distance within which a photo of a known class has an item of its class, with at least the
// given probability. It is the ceil(coverage (n + 1))-th smallest of the n photos' distances (split conformal
// prediction). The unit is the photo, because the classes stay the same.
func (c *Closed) within(coverage float64) (float64, error) {
	if !(coverage > 0 && coverage < 1) {
		return 0, fmt.Errorf("a coverage of %v: it lies between 0 and 1", coverage)
	}
	k := int(math.Ceil(coverage*float64(len(c.Own)+1) - 1e-9))
	if k > len(c.Own) {
		return 0, fmt.Errorf("a coverage of %v takes %d photos of known classes, and the calibration had %d", coverage,
			int(math.Ceil(coverage/(1-coverage)-1e-9)), len(c.Own))
	}
	return c.Own[k-1], nil
}

// quantiles returns the distances within which the given shares of the photos have an item of their class, in
// ascending order and without repetitions.
func (c *Closed) quantiles(shares []float64) []float64 {
	var out []float64
	for _, p := range shares {
		d := c.Own[min(int(p*float64(len(c.Own))), len(c.Own)-1)]
		if len(out) == 0 || d > out[len(out)-1] {
			out = append(out, d)
		}
	}
	return out
}

// Named returns the share of the calibration's photos that have an item within a distance.
func (c *Closed) Named(distance float64) float64 {
	n, found := slices.BinarySearch(c.Nearest, distance)
	for found && n < len(c.Nearest) && c.Nearest[n] == distance {
		n++
	}
	return float64(n) / float64(len(c.Nearest))
}

// holds reports whether a gallery has the known classes and no others.
func (c *Closed) holds(g Gallery) bool {
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

// open returns an error if the calibration is closed.
func (c *Calibration) open(what string) error {
	if c.IsClosed() {
		return &ClosedError{what, c.Classes}
	}
	return nil
}
