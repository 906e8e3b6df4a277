package decide

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/matrix"
)

// StrangerTrial has the scores of photos whose class is not in a gallery, by class. Strangers has those of
// photos of the calibration. Own has those of items of the gallery among its other classes, which show
// whether the gallery's photos are like those of the calibration: they may be of another camera, or cut in another way.
//
// Strangers of this gallery may have look-alikes in it, as its classes have among themselves, which the calibration's
// classes have not. Drawn therefore has the scores of the same photos in galleries of the calibration.
type StrangerTrial struct {
	Strangers []ClassScores `json:"strangers"`
	OwnItems  []ClassScores `json:"own"`
}

// ClassScores has the scores of the photos of a class, ascending, and the number of its group of look-alike classes.
type ClassScores struct {
	Scores []float64 `json:"scores"`
	Group  int       `json:"group,omitzero"`
}

// maxOwnLookups is the approximate number of items of a gallery that are tried.
const maxOwnLookups = 1000

// lookups searches photos among items that arrive in blocks.
type lookups struct {
	distance      eval.Distance
	photos        *matrix.Dense
	excludedClass []int // class of items that a photo is not compared with, or -1
	nearest       [][]nearItem
}

type nearItem struct {
	class int
	d     float32
}

func newLookups(photos *matrix.Dense, without []int, by eval.Distance) *lookups {
	return &lookups{by, photos, without, make([][]nearItem, photos.Rows)}
}

// add compares all photos with items of the given classes.
func (l *lookups) add(items *matrix.Dense, class []int) {
	if l.distance == eval.Dot {
		return
	}
	d := matrix.New(l.photos.Rows, items.Rows)
	matrix.SquaredDistances(l.photos, items, d)
	par.For(l.photos.Rows, 8, func(a, b int) {
		for i := a; i < b; i++ {
			near := l.nearest[i]
			for k, v := range d.Row(i) {
				if class[k] != l.excludedClass[i] {
					near = insertNearest(near, nearItem{class[k], v})
				}
			}
			l.nearest[i] = near
		}
	})
}

// insertNearest adds an item to the nearest ones, which are ascending and at most as many as voters.
func insertNearest(near []nearItem, e nearItem) []nearItem {
	if len(near) == maxVoters && e.d >= near[maxVoters-1].d {
		return near
	}
	if len(near) < maxVoters {
		near = append(near, nearItem{})
	}
	at := len(near) - 1
	for ; at > 0 && near[at-1].d > e.d; at-- {
		near[at] = near[at-1]
	}
	near[at] = e
	return near
}

// nearestByClass returns the squared distance to the nearest item of each class among neighbours, and that of the last.
func nearestByClass(items []nearItem) (near map[int]float64, far float64) {
	near = make(map[int]float64, len(items))
	for _, e := range items {
		if _, ok := near[e.class]; !ok {
			near[e.class] = float64(e.d)
		}
		far = float64(e.d)
	}
	return near, far
}

// score returns the scores of the photos in a gallery, or -Inf for a photo without other classes. cohort has their
// distances to the cohort, and w returns the weights for a photo.
func (s *Score) computeScores(ctx context.Context, m *Means, l *lookups, cohort []float64,
	w func(i int) *weights) ([]float64,
	error) {
	out := make([]float64, l.photos.Rows)
	step := max(1, min(len(out), (1<<22)/max(1, m.numClasses())))
	for lo := 0; lo < len(out); lo += step {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("trying strangers in the gallery: %w", err)
		}
		means := m.squaredDistances(l.photos.RowRange(lo, min(lo+step, len(out))))
		par.For(means.Rows, 8, func(a, b int) {
			for k := a; k < b; k++ {
				near, far := nearestByClass(l.nearest[lo+k])
				of := s.nearestRivals(means.Row(k), m.count, m.sumSquares, near, far, l.excludedClass[lo+k])
				if out[lo+k] = math.Inf(-1); len(of) > 0 {
					s.sortRivals(of)
					out[lo+k] = w(lo + k).logOdds(s.computeTerms(of, 0, cohort[lo+k], m.numClasses()))
				}
			}
		})
	}
	return out, nil
}

// groupByClass groups scores by class. group has the group of each photo's class.
func groupByClass(scores []float64, class, group []int) (out []ClassScores) {
	at := make(map[int]int)
	for i, v := range scores {
		if math.IsInf(v, -1) {
			continue
		}
		k, ok := at[class[i]]
		if !ok {
			k = len(out)
			at[class[i]] = k
			out = append(out, ClassScores{Group: group[i]})
		}
		out[k].Scores = append(out[k].Scores, v)
	}
	for k := range out {
		slices.Sort(out[k].Scores)
	}
	return out
}

// strangerScores returns the scores of strangers in galleries of the calibration's classes, by class or
// group, for two numbers of classes around that of a gallery, and the weight of the second.
func (s *Score) strangerScores(classes int) (of [2][]ClassScores, second float64) {
	at := math.Log(float64(classes))
	k := 0 // from the largest galleries to the smallest
	for k < len(s.StrangerScores)-1 && math.Log(float64(s.StrangerScores[k].Classes)) > at {
		k++
	}
	pick := [2]*StrangerScores{&s.StrangerScores[max(0, k-1)], &s.StrangerScores[k]}
	for i, d := range pick {
		var scores []float64
		var class, group []int
		for photo, v := range d.Scores {
			for _, about := range v {
				scores = append(scores, about+s.Folds[s.SampleFold[photo]][sizeTerm]*at)
				class, group = append(class, s.SampleClass[photo]), append(group, s.SampleGroup[photo])
			}
		}
		of[i] = groupByClass(scores, class, group)
	}
	if large, small := math.Log(float64(pick[0].Classes)), math.Log(float64(pick[1].Classes)); large > small {
		second = min(1, max(0, (large-at)/(large-small)))
	}
	return of, second
}

// shareEstimate is a mean share of photos over classes, the variance of this mean and the largest share of a class.
type shareEstimate struct{ mean, variance, largest float64 }

// shareAtScore returns the share of photos with at least a score. The variance is the larger of those by
// leaving out one class, and one group, after the other.
func shareAtScore(classes []ClassScores, score float64) (out shareEstimate) {
	n := float64(len(classes))
	each := make([]float64, len(classes))
	for k, c := range classes {
		each[k] = 1 - float64(firstAtLeast(c.Scores, score))/float64(len(c.Scores))
		out.mean += each[k] / n
		out.largest = max(out.largest, each[k])
	}
	var squares float64
	off := make(map[int]float64)
	for k, in := range each {
		d := (in - out.mean) / n
		squares += d * d
		off[classes[k].Group] += d
	}
	var byGroup float64
	for _, group := range slices.Sorted(maps.Keys(off)) {
		byGroup += off[group] * off[group]
	}
	g := float64(len(off))
	out.variance = max(squares*smallSampleFactor(n), byGroup*smallSampleFactor(g))
	return out
}

// smallSampleFactor is the factor for a variance that is estimated from n units: n / (n - 1), and the square
// of the ratio of the quantiles of Student's t and of the normal distribution.
func smallSampleFactor(n float64) float64 {
	if n < 2 {
		return 1
	}
	t := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(Confidence) / distuv.UnitNormal.Quantile(Confidence)
	return n / (n - 1) * t * t
}

// bound is the bound of the mean of n/more new units, given that of n units. A unit may have been missed by chance: one
// like the most confusable unit, or one with the share missed.
func (s shareEstimate) bound(n int, missed, more float64) float64 {
	w := max(s.largest, missed) / float64(n)
	return min(1, upperBound(s.mean+w, (1+max(1, more))*(s.variance+w*w)))
}

// newStrangerClasses is the number of new classes of strangers, or that of the calibration if it is smaller,
// about which a threshold promises something.
const newStrangerClasses = 100

// strangerRates says which share of strangers reaches a score in a gallery. The share is bounded in two
// ways, and the larger bound counts: by photos of the calibration among the gallery's items, and by the same
// photos in galleries that were drawn from the calibration, which also have look-alikes of their classes. If
// classes form groups, the second bound counts only if the gallery's groups are other ones than those of the
// calibration. It then depends on the gallery's groups. There are at most as many groups as classes.
type strangerRates struct {
	trial         *StrangerTrial
	known         []float64 // scores of known photos, ascending
	galleryScores []ClassScores
	drawnScores   [2][]ClassScores
	secondWeight  float64 // weight of drawn[1]
	hasGroups     bool    // the calibration's classes form groups
	differs       bool    // the gallery's groups are other ones than those of the calibration
	numClasses    int     // number of the gallery's classes
}

func newStrangerRates(s *Score, t *StrangerTrial, classes int) *strangerRates {
	out := &strangerRates{trial: t, known: s.knownScores(classes), galleryScores: t.Strangers, numClasses: classes}
	out.drawnScores, out.secondWeight = s.strangerScores(classes)
	if out.hasGroups = s.Groups > 0; out.hasGroups {
		out.differs = out.galleryDiffers()
	}
	if !out.differs || len(t.Strangers) < MinStrangerClasses {
		out.galleryScores = slices.Clone(t.Strangers) // the gallery's own classes are strangers to each other
		for _, own := range t.OwnItems {
			own.Group = -1 - len(out.galleryScores)
			out.galleryScores = append(out.galleryScores, own)
		}
	}
	return out
}

// galleryDiffers reports whether photos of the calibration reach scores in the gallery more seldom than in
// galleries drawn from the calibration, which have classes of their groups: half as often as a tenth of them
// do there, or six tenths as often as a fifth do.
func (s *strangerRates) galleryDiffers() bool {
	least := map[float64]float64{0.1: 0.5, 0.2: 0.6}
	for _, score := range s.candidateScores() {
		here, drawn := s.sharesAt(score)
		for share, part := range least {
			if drawn.mean >= share {
				if here.mean < part*drawn.mean {
					return true
				}
				delete(least, share)
			}
		}
		if len(least) == 0 {
			break
		}
	}
	return false
}

// sharesAt returns the shares of strangers that reach a score, in this gallery and in drawn ones.
func (s *strangerRates) sharesAt(score float64) (here, drawn shareEstimate) {
	a, b, f := shareAtScore(s.drawnScores[0], score), shareAtScore(s.drawnScores[1], score), s.secondWeight
	return shareAtScore(s.galleryScores, score), shareEstimate{a.mean + f*(b.mean-a.mean), a.variance +
		f*(b.variance-a.variance),
		a.largest + f*(b.largest-a.largest)}
}

// thresholdAt returns the threshold at a score.
func (s *strangerRates) thresholdAt(fpir, score float64) Threshold {
	here, drawn := s.sharesAt(score)
	named := s.knownShare(score)
	n, all := len(s.galleryScores), len(s.drawnScores[0])
	bound := here.bound(n, named/2, float64(n)/newStrangerClasses)
	measured := here.mean
	if s.differs || !s.hasGroups {
		new := newStrangerClasses
		if s.differs {
			new = min(s.numClasses, newStrangerClasses)
		}
		bound = max(bound, drawn.bound(all, named/2, float64(all)/float64(new)))
		measured = max(measured, drawn.mean)
	}
	// the gallery says more of its groups than the calibration does
	if own := len(s.trial.OwnItems); s.differs && own > n {
		in := shareAtScore(s.trial.OwnItems, score)
		bound, measured = max(bound, in.bound(own, named/2, float64(own)/newStrangerClasses)), max(measured, in.mean)
	}
	return Threshold{Rate: fpir, Score: score, Measured: measured, Bound: bound, TrueMatch: named}
}

// knownShare returns the share of known photos that reach a score.
func (s *strangerRates) knownShare(score float64) float64 {
	return 1 - float64(firstAtLeast(s.known, score))/float64(len(s.known))
}

// candidateScores returns the scores at which shares change, descending.
func (s *strangerRates) candidateScores() []float64 {
	out := append(allScores(s.galleryScores), s.known...)
	slices.Sort(out)
	out = slices.Compact(out)
	slices.Reverse(out)
	return out
}

// boundedThreshold returns the least score that at most the share fpir of strangers reach, in 95 of 100
// cases. The error is a
// *RateError.
func (s *strangerRates) boundedThreshold(fpir float64) (Threshold, error) {
	if !(fpir > 0 && fpir < 1) {
		return Threshold{}, fmt.Errorf("the false-positive rate is %v: must be above 0 and below 1", fpir)
	}
	alone := *s
	alone.galleryScores = s.trial.Strangers
	if by := alone.findThreshold(fpir); by.TrueMatch > 0 {
		if own := s.trial.adjustForDrift(by); own.Drift > 0 {
			return own, nil
		}
	}
	out := s.findThreshold(fpir)
	if out.TrueMatch == 0 {
		return Threshold{}, &RateError{What: fmt.Sprintf("a false-positive rate among %d classes", s.numClasses),
			Rate:    fpir,
			Classes: len(s.galleryScores), Overlapped: true}
	}
	return out, nil
}

// findThreshold returns the threshold of the least score whose bound is at most fpir. TrueMatch is 0 without one.
func (s *strangerRates) findThreshold(fpir float64) (out Threshold) {
	if len(s.galleryScores) < MinStrangerClasses {
		return out
	}
	for _, score := range s.candidateScores() {
		at := s.thresholdAt(fpir, score)
		if at.Bound > fpir {
			break
		}
		out = at
	}
	return out
}

// estimatedThreshold returns the score that just the share fpir of strangers reach, without a bound.
func (s *strangerRates) estimatedThreshold(fpir float64) (Threshold, error) {
	if !(fpir > 0 && fpir < 1) {
		return Threshold{}, fmt.Errorf("the false-positive rate is %v: must be above 0 and below 1", fpir)
	}
	levels := s.candidateScores()
	out := Threshold{Rate: fpir, Score: math.Nextafter(levels[0], math.Inf(1))}
	for _, score := range levels {
		at := s.thresholdAt(fpir, score)
		if at.Measured > fpir {
			break
		}
		out = at
	}
	return out, nil
}

func allScores(classes []ClassScores) (out []float64) {
	for _, c := range classes {
		out = append(out, c.Scores...)
	}
	return out
}

// firstAtLeast returns the index of the first of ascending numbers that is at least v.
func firstAtLeast(of []float64, v float64) int {
	k, _ := slices.BinarySearch(of, v)
	return k
}

// adjustForDrift returns t, or another threshold if the gallery's own classes contradict t. They contradict
// it if more of the items than its rate reach the score among the other classes, beyond what chance among
// the number of classes explains (Clopper and Pearson, one-sided at 95 %, where a class is one observation).
// The new threshold is the least score that at most the rate of the gallery's own items reach. Its bound is
// that of Clopper and Pearson.
func (t *StrangerTrial) adjustForDrift(of Threshold) Threshold {
	n := float64(len(t.OwnItems))
	if n < 2 {
		return of
	}
	own := shareAtScore(t.OwnItems, of.Score).mean
	if k := own * n; own <= of.Rate || (distuv.Beta{Alpha: k, Beta: n - k + 1}).Quantile(1-Confidence) <= of.Rate {
		return of
	}
	of.Drift = own
	levels := allScores(t.OwnItems)
	slices.Sort(levels)
	of.Score, of.Measured = math.Nextafter(levels[len(levels)-1], math.Inf(1)), 0
	for _, at := range levels {
		if in := shareAtScore(t.OwnItems, at).mean; in <= of.Rate {
			of.Score, of.Measured = at, in
			break
		}
	}
	of.Bound = 1
	if k := of.Measured * n; k < n {
		of.Bound = distuv.Beta{Alpha: k + 1, Beta: n - k}.Quantile(Confidence)
	}
	return of
}
