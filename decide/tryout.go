package decide

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/matrix"
)

// Tryout has the scores of photos whose class is not in a gallery, by class. Strangers has those of photos of the
// calibration. Own has those of items of the gallery among its other classes, which show whether the gallery's photos
// are like those of the calibration: they may be of another camera, or cut in another way.
//
// Strangers of this gallery may have look-alikes in it, as its classes have among themselves, which the calibration's
// classes have not. Drawn therefore has the scores of the same photos in galleries of the calibration.
type Tryout struct {
	Strangers []ClassScores `json:"strangers"`
	Own       []ClassScores `json:"own"`
}

// ClassScores has the scores of the photos of a class, ascending, and the number of its group of look-alike classes.
type ClassScores struct {
	Scores []float64 `json:"scores"`
	Group  int       `json:"group,omitzero"`
}

// mostOwnTried is the approximate number of items of a gallery that are tried.
const mostOwnTried = 1000

// lookups searches photos among items that arrive in blocks.
type lookups struct {
	by      rank.Distance
	photos  *matrix.Dense
	without []int // class of items that a photo is not compared with, or -1
	near    [][]nearItem
}

type nearItem struct {
	class int
	d     float32
}

func newLookups(photos *matrix.Dense, without []int, by rank.Distance) *lookups {
	return &lookups{by, photos, without, make([][]nearItem, photos.Rows)}
}

// add compares all photos with items of the given classes.
func (l *lookups) add(items *matrix.Dense, class []int) {
	if l.by == rank.Dot {
		return
	}
	d := matrix.New(l.photos.Rows, items.Rows)
	matrix.SquaredDistances(l.photos, items, d)
	par.For(l.photos.Rows, 8, func(a, b int) {
		for i := a; i < b; i++ {
			near := l.near[i]
			for k, v := range d.Row(i) {
				if class[k] != l.without[i] {
					near = withNear(near, nearItem{class[k], v})
				}
			}
			l.near[i] = near
		}
	})
}

// withNear adds an item to the nearest ones, which are ascending and at most as many as voters.
func withNear(near []nearItem, e nearItem) []nearItem {
	if len(near) == voters && e.d >= near[voters-1].d {
		return near
	}
	if len(near) < voters {
		near = append(near, nearItem{})
	}
	at := len(near) - 1
	for ; at > 0 && near[at-1].d > e.d; at-- {
		near[at] = near[at-1]
	}
	near[at] = e
	return near
}

// nearByClass returns the squared distance to the nearest item of each class among neighbours, and that of the last.
func nearByClass(items []nearItem) (near map[int]float64, far float64) {
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
func (s *Score) scores(ctx context.Context, m *Means, l *lookups, cohort []float64, w func(i int) *weights) ([]float64,
	error) {
	out := make([]float64, l.photos.Rows)
	step := max(1, min(len(out), (1<<22)/max(1, m.classes())))
	for lo := 0; lo < len(out); lo += step {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("trying strangers in the gallery: %w", err)
		}
		means := m.distances(l.photos.RowRange(lo, min(lo+step, len(out))))
		par.For(means.Rows, 8, func(a, b int) {
			for k := a; k < b; k++ {
				near, far := nearByClass(l.near[lo+k])
				of := s.rivals(means.Row(k), m.count, m.square, near, far, l.without[lo+k])
				if out[lo+k] = math.Inf(-1); len(of) > 0 {
					s.sort(of)
					out[lo+k] = w(lo + k).at(s.terms(of, 0, cohort[lo+k], m.classes()))
				}
			}
		})
	}
	return out, nil
}

// byClass groups scores by class. group has the group of each photo's class.
func byClass(scores []float64, class, group []int) (out []ClassScores) {
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

// drawn returns the scores of strangers in galleries of the calibration's classes, by class or group, for two numbers
// of classes around that of a gallery, and the weight of the second.
func (s *Score) drawn(classes int) (of [2][]ClassScores, second float64) {
	at := math.Log(float64(classes))
	k := 0 // from the largest galleries to the smallest
	for k < len(s.Drawn)-1 && math.Log(float64(s.Drawn[k].Classes)) > at {
		k++
	}
	pick := [2]*DrawnScores{&s.Drawn[max(0, k-1)], &s.Drawn[k]}
	for i, d := range pick {
		var scores []float64
		var class, group []int
		for photo, v := range d.Scores {
			for _, about := range v {
				scores = append(scores, about+s.Folds[s.SampleFold[photo]][sizeTerm]*at)
				class, group = append(class, s.SampleClass[photo]), append(group, s.SampleGroup[photo])
			}
		}
		of[i] = byClass(scores, class, group)
	}
	if large, small := math.Log(float64(pick[0].Classes)), math.Log(float64(pick[1].Classes)); large > small {
		second = min(1, max(0, (large-at)/(large-small)))
	}
	return of, second
}

// shared is a mean share of photos over classes, the variance of this mean and the largest share of a class.
type shared struct{ mean, variance, most float64 }

// sharesAt returns the share of photos with at least a score. The variance is the larger of those by leaving out one
// class, and one group, after the other.
func sharesAt(classes []ClassScores, score float64) (out shared) {
	n := float64(len(classes))
	each := make([]float64, len(classes))
	for k, c := range classes {
		each[k] = 1 - float64(firstAtLeast(c.Scores, score))/float64(len(c.Scores))
		out.mean += each[k] / n
		out.most = max(out.most, each[k])
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
	out.variance = max(squares*spareUnits(n), byGroup*spareUnits(g))
	return out
}

// spareUnits is the factor for a variance that is estimated from n units: n / (n - 1), and the square of the ratio of
// the quantiles of Student's t and of the normal distribution.
func spareUnits(n float64) float64 {
	if n < 2 {
		return 1
	}
	t := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(Confidence) / distuv.UnitNormal.Quantile(Confidence)
	return n / (n - 1) * t * t
}

// bound is the bound of the mean of n/more new units, given that of n units. A unit may have been missed by chance: one
// like the most confusable unit, or one with the share missed.
func (s shared) bound(n int, missed, more float64) float64 {
	w := max(s.most, missed) / float64(n)
	return min(1, upperBound(s.mean+w, (1+max(1, more))*(s.variance+w*w)))
}

// newStrangers is the number of new classes of strangers, or that of the calibration if it is smaller, about which a
// threshold promises something.
const newStrangers = 100

// standing says which share of strangers reaches a score in a gallery. The share is bounded in two ways, and the larger
// bound counts: by photos of the calibration among the gallery's items, and by the same photos in galleries that were
// drawn from the calibration, which also have look-alikes of their classes. If classes form groups, the second bound
// counts only if the gallery's groups are other ones than those of the calibration. It then depends on the gallery's
// groups, of which there are at most as many as classes.
type standing struct {
	tried  *Tryout
	known  []float64 // scores of known photos, ascending
	here   []ClassScores
	drawn  [2][]ClassScores
	second float64 // weight of drawn[1]
	groups bool    // the calibration's classes form groups
	apart  bool    // the gallery's groups are other ones than those of the calibration
	size   int     // number of the gallery's classes
}

func newStanding(s *Score, t *Tryout, classes int) *standing {
	out := &standing{tried: t, known: s.known(classes), here: t.Strangers, size: classes}
	out.drawn, out.second = s.drawn(classes)
	if out.groups = s.Groups > 0; out.groups {
		out.apart = out.isApart()
	}
	if !out.apart || len(t.Strangers) < FewestStrangers {
		out.here = slices.Clone(t.Strangers) // the gallery's own classes are strangers to each other
		for _, own := range t.Own {
			own.Group = -1 - len(out.here)
			out.here = append(out.here, own)
		}
	}
	return out
}

// isApart reports whether photos of the calibration reach scores in the gallery more seldom than in galleries drawn
// from the calibration, which have classes of their groups: half as often as a tenth of them do there, or six tenths
// as often as a fifth do.
func (s *standing) isApart() bool {
	least := map[float64]float64{0.1: 0.5, 0.2: 0.6}
	for _, score := range s.levels() {
		here, drawn := s.shares(score)
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

// shares returns the shares of strangers that reach a score, in this gallery and in drawn ones.
func (s *standing) shares(score float64) (here, drawn shared) {
	a, b, f := sharesAt(s.drawn[0], score), sharesAt(s.drawn[1], score), s.second
	return sharesAt(s.here, score), shared{a.mean + f*(b.mean-a.mean), a.variance + f*(b.variance-a.variance),
		a.most + f*(b.most-a.most)}
}

// at returns the threshold at a score.
func (s *standing) at(fpir, score float64) Threshold {
	here, drawn := s.shares(score)
	named := s.named(score)
	n, all := len(s.here), len(s.drawn[0])
	bound := here.bound(n, named/2, float64(n)/newStrangers)
	measured := here.mean
	if s.apart || !s.groups {
		new := newStrangers
		if s.apart {
			new = min(s.size, newStrangers)
		}
		bound = max(bound, drawn.bound(all, named/2, float64(all)/float64(new)))
		measured = max(measured, drawn.mean)
	}
	if own := len(s.tried.Own); s.apart && own > n { // the gallery says more of its groups than the calibration does
		in := sharesAt(s.tried.Own, score)
		bound, measured = max(bound, in.bound(own, named/2, float64(own)/newStrangers)), max(measured, in.mean)
	}
	return Threshold{Rate: fpir, Score: score, Measured: measured, Bound: bound, TrueMatch: named}
}

// named returns the share of known photos that reach a score.
func (s *standing) named(score float64) float64 {
	return 1 - float64(firstAtLeast(s.known, score))/float64(len(s.known))
}

// levels returns the scores at which shares change, descending.
func (s *standing) levels() []float64 {
	out := append(allScores(s.here), s.known...)
	slices.Sort(out)
	out = slices.Compact(out)
	slices.Reverse(out)
	return out
}

// threshold returns the least score that at most the share fpir of strangers reach, in 95 of 100 cases. The error is a
// *RateError.
func (s *standing) threshold(fpir float64) (Threshold, error) {
	if !(fpir > 0 && fpir < 1) {
		return Threshold{}, fmt.Errorf("a false-positive rate of %v: it lies between 0 and 1", fpir)
	}
	alone := *s
	alone.here = s.tried.Strangers
	if by := alone.find(fpir); by.TrueMatch > 0 {
		if own := s.tried.drifted(by); own.Drift > 0 {
			return own, nil
		}
	}
	out := s.find(fpir)
	if out.TrueMatch == 0 {
		return Threshold{}, &RateError{What: fmt.Sprintf("a false-positive rate among %d classes", s.size), Rate: fpir,
			Classes: len(s.here), Overlapped: true}
	}
	return out, nil
}

// find returns the threshold of the least score whose bound is at most fpir. TrueMatch is 0 without one.
func (s *standing) find(fpir float64) (out Threshold) {
	if len(s.here) < FewestStrangers {
		return out
	}
	for _, score := range s.levels() {
		at := s.at(fpir, score)
		if at.Bound > fpir {
			break
		}
		out = at
	}
	return out
}

// estimate returns the score that just the share fpir of strangers reach, without a bound.
func (s *standing) estimate(fpir float64) (Threshold, error) {
	if !(fpir > 0 && fpir < 1) {
		return Threshold{}, fmt.Errorf("a false-positive rate of %v: it lies between 0 and 1", fpir)
	}
	levels := s.levels()
	out := Threshold{Rate: fpir, Score: math.Nextafter(levels[0], math.Inf(1))}
	for _, score := range levels {
		at := s.at(fpir, score)
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

// drifted returns t, or another threshold if the gallery's own classes contradict t. They contradict it if more of the
// items than its rate reach the score among the other classes, beyond what chance among the number of classes explains
// (Clopper and Pearson, one-sided at 95 %, where a class is one observation). The new threshold is the least score
// that at most the rate of the gallery's own items reach. Its bound is that of Clopper and Pearson.
func (t *Tryout) drifted(of Threshold) Threshold {
	n := float64(len(t.Own))
	if n < 2 {
		return of
	}
	own := sharesAt(t.Own, of.Score).mean
	if k := own * n; own <= of.Rate || (distuv.Beta{Alpha: k, Beta: n - k + 1}).Quantile(1-Confidence) <= of.Rate {
		return of
	}
	of.Drift = own
	levels := allScores(t.Own)
	slices.Sort(levels)
	of.Score, of.Measured = math.Nextafter(levels[len(levels)-1], math.Inf(1)), 0
	for _, at := range levels {
		if in := sharesAt(t.Own, at).mean; in <= of.Rate {
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
