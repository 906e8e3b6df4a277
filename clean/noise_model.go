package clean

import (
	"context"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/detection"
)

// shape defines how the odds of a class fall with the squared distance d to it: as (d + core s)^-steep. s
// is the scale of the class, and d and s are in units of the scale of all classes. With own the odds are
// multiplied by s^steep, so that only d / s counts. Large cores give normal clouds, and small cores the
// tails of Student's distributions.
type shape struct {
	steep, core float64
	own         bool
}

// candidateShapes returns the shapes to try, from a least steepness up to that of normal clouds in a hundred
// dimensions.
func candidateShapes(least float64) []shape {
	var out []shape
	for _, core := range []float64{0, 0.1, 0.4, 1.6, 6.4, 25} {
		for steep := 1.0; steep < 130; steep *= math.Sqrt2 {
			if steep >= least {
				out = append(out, shape{steep, core, false}, shape{steep, core, true})
			}
		}
	}
	return out
}

// minSteepness returns the least steepness that agrees with the distances of items from their own class. If the
// share of items farther than r falls as a power of r, the density at that distance falls with a power that
// is one higher, because it is spread over a circle or more. The power is measured from the median to the
// farthest tenth. Beyond that, tails of normal clouds fall faster, and wrong labels occur. From 16 on, tails
// fall so fast that the value makes no difference.
func (m *noiseModel) minSteepness() float64 {
	var r []float64
	for _, i := range m.items {
		if isTrusted(m.trust[i]) {
			r = append(r, m.views[i][0].distance/m.scale[m.y[i]])
		}
	}
	if len(r) == 0 {
		return 1
	}
	slices.Sort(r)
	middle, far := max(r[len(r)/2], minSquaredDistance), max(r[len(r)*9/10], minSquaredDistance)
	return min(1+math.Log(5)/math.Log(far/middle), 16)
}

// noiseModel is the model of labels. The probability of an item's label, given the item's place, is
//
//	m p(label) + m' p'(label) + v q(label) + w (1 - p(label)) r(label)
//
// p are odds by the distances to the classes. p' are odds with half the steepness, for right labels of items
// that are farther among others than p allows. q is for look-alike classes, which may overlap more than
// others, so that a look-alike's label is not necessarily wrong. Only the last part is wrong labels: of any
// class, wherever the item is. r is equal for all labels but the default labels, each of which has a share of its
// own.
type noiseModel struct {
	views      [][]classView
	y          []int
	classes    int
	trust      []float64
	least      float64 // least steepness
	lookAlikes [][]int
	scale      []float64 // scale of each class, in units of the scale of all
	items      []int     // items that can be judged, because their class has other members
	defaults   []int     // default labels
}

// probabilities returns the probability that each label is wrong. It is 0 for an item alone in its class, which
// cannot be judged. Items with little trust do not count as members of their class.
func probabilities(ctx context.Context, parts []*foldPart, y []int, classes int, trust []float64,
	defaults []int) ([]float64, error) {
	m := &noiseModel{views: make([][]classView, len(y)), y: y, classes: classes, trust: trust, defaults: defaults}
	for _, p := range parts {
		if err := p.viewClasses(ctx, y, classes, trust, m.views); err != nil {
			return nil, err
		}
	}
	// With few classes most would be look-alikes, and q would cover all labels.
	m.lookAlikes = detection.ConfusableClasses(parts[0].x, y, classes, min(maxLookAlikes, (classes-1)/3))
	if m.scale = m.normalizeScales(); m.scale != nil {
		for i, s := range m.views {
			if len(s) > 1 {
				m.items = append(m.items, i)
			}
		}
	}
	m.least = m.minSteepness()
	return m.wrongProbabilities(ctx)
}

// lookAlikeShare returns the share of look-alike a in the look-alikes' labels of class c. The nearest look-alike
// has the largest share.
func (m *noiseModel) lookAlikeShare(c, a int) float64 {
	const nearest = 0.7
	near := m.lookAlikes[c]
	switch at := slices.Index(near, a); {
	case at < 0:
		return 0
	case len(near) == 1:
		return 1
	case at == 0:
		return nearest
	}
	return (1 - nearest) / float64(len(near)-1)
}

// The parts of the probability of a label.
const (
	classPart = iota
	vaguePart
	lookAlikePart
	wrongPart
	numParts
)

const (
	vagueShare = 0.5 // share of the steepness for p', but at least the least steepness
	// blurShare is the share of the steepness for q. Look-alikes without an item between them are not
	// confused.
	blurShare = 0.2
)

// partChances are the probabilities of an item's label by each part alone, and the place of the label among the
// default labels, from 1, or 0 for any other. That of the wrong part is without r.
type partChances struct {
	ofPart [numParts]float64
	label  int
}

// labelChances computes them for an item.
func (m *noiseModel) labelChances(i int, s shape) (out partChances) {
	out.label = 1 + slices.Index(m.defaults, m.y[i])
	var log [1 + maxSingleViews + maxGroupViews]float64 // logarithms of the odds
	var size [len(log)]float64
	seen := m.views[i]
	for k, o := range seen {
		scale := m.scale[o.class]
		size[k] = math.Log(o.items)
		log[k] = -s.steep * math.Log(s.core*scale+max(o.distance, minSquaredDistance))
		if s.own {
			log[k] += s.steep * math.Log(scale)
		}
	}
	vague := min(max(vagueShare, m.least/s.steep), 1)
	var sum, vagueSum float64
	top, high := math.Inf(-1), math.Inf(-1)
	for k := range seen {
		top, high = max(top, size[k]+log[k]), max(high, size[k]+vague*log[k])
	}
	own := size[0] + log[0]
	for k, o := range seen {
		this := size[k] + log[k]
		e := math.Exp(this - top)
		sum += e
		vagueSum += math.Exp(size[k] + vague*log[k] - high)
		if k > 0 && o.numClasses == 1 {
			out.ofPart[lookAlikePart] += e * m.lookAlikeShare(o.class, m.y[i]) * min(1, math.Exp(blurShare*(own-this)))
		}
	}
	out.ofPart[classPart] = math.Exp(own-top) / sum
	out.ofPart[vaguePart] = math.Exp(size[0]+vague*log[0]-high) / vagueSum
	out.ofPart[lookAlikePart] /= sum
	out.ofPart[wrongPart] = 1 - out.ofPart[classPart]
	return out
}

// mixture is a model, with its parts and the logarithm of the probability of the labels.
type mixture struct {
	shape            shape
	part             [numParts]float64
	wrongLabelShares [1 + maxDefaults]float64 // r of any other label, and of each default label
	// number of labels that are not default labels, 0 if r is the same for all
	others        int
	logLikelihood float64
}

// labelChance returns the probability of a label by each part, and their sum, which is at least leastChance,
// because 0 has no logarithm.
func (f *mixture) labelChance(c *partChances) (by [numParts]float64, sum float64) {
	const leastChance = 1e-12
	sum = leastChance
	for k, w := range f.part {
		by[k] = w * c.ofPart[k]
		if k == wrongPart {
			by[k] *= f.wrongLabelShares[c.label]
		}
		sum += by[k]
	}
	return by, sum
}

// fit finds the likeliest parts for a share of wrong labels by a number of steps of expectation and
// maximisation (Dempster, Laird and Rubin 1977). It starts from those for another share.
func (f *mixture) fit(labels []partChances, wrong float64, from *mixture, steps int) {
	*f = *from
	for k := range wrongPart {
		f.part[k] *= (1 - wrong) / (1 - from.part[wrongPart])
	}
	f.part[wrongPart] = wrong
	for range steps {
		var sum [numParts]float64
		given := [len(f.wrongLabelShares)]float64{1} // one more wrong label keeps a share from being 0
		for i := range labels {
			by, p := f.labelChance(&labels[i])
			for k, w := range by {
				sum[k] += w / p
			}
			given[labels[i].label] += by[wrongPart] / p
		}
		if wrong > 0 && f.others > 0 {
			for k, n := range given {
				f.wrongLabelShares[k] = n / (1 + sum[wrongPart])
			}
			f.wrongLabelShares[0] /= float64(f.others)
		}
		right := sum[classPart] + sum[vaguePart] + sum[lookAlikePart]
		if right == 0 {
			break
		}
		for k := range wrongPart {
			f.part[k] = (1 - wrong) * sum[k] / right
		}
	}
	f.logLikelihood = 0
	for i := range labels {
		_, p := f.labelChance(&labels[i])
		f.logLikelihood += math.Log(p)
	}
}

// wrongShares are the tried shares of wrong labels. With many labels only one of them is likely, so they are
// close together: with only 0.08 and 0.15, every score of a set with 0.1 would be too low or too high.
var wrongShares = [...]float64{0, 0.002, 0.003, 0.005, 0.007, 0.01, 0.014, 0.02, 0.028, 0.04, 0.056, 0.08, 0.11,
	0.15, 0.2,
	0.28, 0.4}

const (
	// priorNoneWrong is the prior probability that no label is wrong. Strong evidence against it is a
	// likelihood ten times as large (Jeffreys 1961).
	priorNoneWrong = 0.5
	// maxFitItems is the largest number of items for fitting the models.
	maxFitItems = 5000
	// maxLogDifference is the difference in log-likelihood from the best model at which a model is dropped.
	maxLogDifference = 10
)

// initialMixtures returns the mixtures from which fits start: one without default labels, and one with them
// if there are any.
func (m *noiseModel) initialMixtures() []mixture {
	equal := mixture{part: [numParts]float64{0.7, 0.2, 0.1, 0}}
	for k := range equal.wrongLabelShares {
		equal.wrongLabelShares[k] = 1 / float64(m.classes-1)
	}
	if len(m.defaults) == 0 {
		return []mixture{equal}
	}
	own := mixture{part: equal.part, others: max(m.classes-1-len(m.defaults), 1)}
	sum := float64(1 + len(m.defaults))
	for i, c := range m.y {
		own.wrongLabelShares[1+slices.Index(m.defaults, c)] += 1 - m.trust[i]
		sum += 1 - m.trust[i]
	}
	for k := range own.wrongLabelShares {
		own.wrongLabelShares[k] = (own.wrongLabelShares[k] + 1) / sum
	}
	own.wrongLabelShares[0] /= float64(own.others)
	return []mixture{equal, own}
}

// prior returns the logarithm of the prior probability of a mixture: one half that no label is wrong, and else
// the same for each share. Default labels have one half together, and each may be any label.
func (m *noiseModel) prior(f *mixture) float64 {
	if f.part[wrongPart] == 0 {
		return math.Log(priorNoneWrong)
	}
	p := math.Log((1 - priorNoneWrong) / float64(len(wrongShares)-1))
	if len(m.defaults) > 0 {
		p -= math.Log(2)
	}
	if f.others > 0 {
		p -= float64(len(m.defaults)) * math.Log(float64(m.classes))
	}
	return p
}

// fitModels returns the mixtures of all shapes and shares that are not unlikely, with their weights: the
// probability of the labels times the prior probability.
func (m *noiseModel) fitModels(ctx context.Context) (all []mixture, weight []float64, err error) {
	items := make([]int, min(len(m.items), maxFitItems))
	for k := range items {
		items[k] = m.items[k*len(m.items)/len(items)]
	}
	tried, starts := candidateShapes(m.least), m.initialMixtures()
	each := len(starts) * len(wrongShares)
	all = make([]mixture, len(tried)*each)
	err = par.ForContext(ctx, len(tried), 1, func(lo, hi int) {
		labels := make([]partChances, len(items))
		for k := lo; k < hi; k++ {
			for j, i := range items {
				labels[j] = m.labelChances(i, tried[k])
			}
			for v, start := range starts {
				start.shape = tried[k]
				from, steps := &start, 30
				for s, w := range wrongShares {
					f := &all[k*each+v*len(wrongShares)+s]
					f.fit(labels, w, from, steps)
					from, steps = f, 8 // the next share is similar
					f.logLikelihood += m.prior(f)
				}
			}
		}
	})
	if err != nil {
		return nil, nil, err
	}
	top := math.Inf(-1)
	for _, f := range all {
		top = max(top, f.logLikelihood)
	}
	all = slices.DeleteFunc(all, func(f mixture) bool { return f.logLikelihood < top-maxLogDifference })
	weight = make([]float64, len(all))
	var sum float64
	for k, f := range all {
		weight[k] = math.Exp(f.logLikelihood - top)
		sum += weight[k]
	}
	for k := range weight {
		weight[k] /= sum
	}
	return all, weight, nil
}

// wrongProbabilities returns the probability that each label is wrong: the mean over the models.
func (m *noiseModel) wrongProbabilities(ctx context.Context) ([]float64, error) {
	p := make([]float64, len(m.y))
	if len(m.items) == 0 {
		return p, nil
	}
	models, weight, err := m.fitModels(ctx)
	if err != nil {
		return nil, err
	}
	err = par.ForContext(ctx, len(m.items), 64, func(lo, hi int) {
		for _, i := range m.items[lo:hi] {
			var c partChances
			for k, f := range models { // models of one shape are consecutive
				if k == 0 || models[k-1].shape != f.shape {
					c = m.labelChances(i, f.shape)
				}
				by, sum := f.labelChance(&c)
				p[i] += weight[k] * by[wrongPart] / sum
			}
		}
	})
	return p, err
}
