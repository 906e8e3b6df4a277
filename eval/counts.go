package eval

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sort"
)

// Counts holds the numbers of genuine and of impostor pairs at each distance. There is at least one
// pair of each kind. Counts does not change, so it is safe for concurrent use.
type Counts struct {
	keyScale
	keys []key // keys of the distances that occur, increasing
	// genuine[i] and impostor[i] are the numbers of pairs whose key is at most keys[i].
	genuine, impostor []int64
	area              *float64 // AUC of the distances themselves; nil if only their keys are known
}

// Rates are the error rates at a threshold.
type Rates struct {
	// Threshold is the largest distance that is accepted.
	Threshold float64
	// FMR is the share of impostor pairs that are accepted, and FNMR the share of genuine pairs
	// that are not accepted.
	FMR, FNMR float64
}

// TAR returns the true accept rate, 1 - FNMR.
func (r Rates) TAR() float64 { return 1 - r.FNMR }

// ErrNoGenuine and ErrNoImpostor mean that there are no pairs of a kind, so that the rates are not
// defined.
var (
	ErrNoGenuine  = errors.New("no genuine pair: no two items are of one class")
	ErrNoImpostor = errors.New("no impostor pair: all items are of one class")
)

// NewCounts counts distances of genuine and of impostor pairs, in any order. It returns ErrNoGenuine or
// ErrNoImpostor if there are no pairs of a kind, and an error that names a distance that is not finite.
func NewCounts(genuine, impostor []float64) (*Counts, error) {
	kinds := [2][]key{}
	for kind, distances := range [...][]float64{genuine, impostor} {
		for i, d := range distances {
			if d-d != 0 {
				return nil, fmt.Errorf("the distance of %s pair %d is %v", [...]string{"genuine", "impostor"}[kind],
					i, d)
			}
			kinds[kind] = append(kinds[kind], roundUp(d))
		}
		slices.Sort(kinds[kind])
	}
	c := &Counts{area: exactAUC(slices.Clone(genuine), slices.Clone(impostor))}
	g, i := kinds[0], kinds[1]
	for len(g)+len(i) > 0 {
		var k key
		switch {
		case len(g) == 0:
			k = i[0]
		case len(i) == 0:
			k = g[0]
		default:
			k = min(g[0], i[0])
		}
		ng, ni := countLeading(g, k), countLeading(i, k)
		c.add(k, int64(ng), int64(ni))
		g, i = g[ng:], i[ni:]
	}
	return c, c.check()
}

// countLeading returns the number of keys at the start of a sorted list that equal k.
func countLeading(keys []key, k key) int {
	n := 0
	for n < len(keys) && keys[n] == k {
		n++
	}
	return n
}

// add adds pairs at a key that is larger than all earlier keys.
func (c *Counts) add(k key, genuine, impostor int64) {
	if n := len(c.keys); n > 0 {
		genuine += c.genuine[n-1]
		impostor += c.impostor[n-1]
	}
	c.keys = append(c.keys, k)
	c.genuine = append(c.genuine, genuine)
	c.impostor = append(c.impostor, impostor)
}

func (c *Counts) check() error {
	switch {
	case len(c.keys) == 0 || c.Genuine() == 0:
		return ErrNoGenuine
	case c.Impostor() == 0:
		return ErrNoImpostor
	}
	return nil
}

// Genuine returns the number of genuine pairs.
func (c *Counts) Genuine() int64 { return c.genuine[len(c.genuine)-1] }

// Impostor returns the number of impostor pairs.
func (c *Counts) Impostor() int64 { return c.impostor[len(c.impostor)-1] }

// numDistances returns the number of different distances that are at most k.
func (c *Counts) numDistances(k key) int {
	return sort.Search(len(c.keys), func(i int) bool { return c.keys[i] > k })
}

// PairsWithin returns the numbers of genuine and of impostor pairs within a distance, which is lowered to a
// number of 20 significant bits.
func (c *Counts) PairsWithin(distance float64) (genuine, impostor int64) {
	return c.pairsUpTo(c.numDistances(c.roundDown(comparableThreshold(distance))))
}

// pairsUpTo returns the numbers of pairs at the n smallest different distances.
func (c *Counts) pairsUpTo(n int) (genuine, impostor int64) {
	if n == 0 {
		return 0, 0
	}
	return c.genuine[n-1], c.impostor[n-1]
}

// rates returns the rates of the threshold k.
func (c *Counts) rates(k key) Rates {
	g, i := c.pairsUpTo(c.numDistances(k))
	return Rates{c.value(k), ratio(i, c.Impostor()), ratio(c.Genuine()-g, c.Genuine())}
}

func ratio(part, all int64) float64 { return float64(part) / float64(all) }

// RatesAt returns the rates of a threshold, which is lowered to a number of 20 significant
// bits. NaN accepts nothing.
func (c *Counts) RatesAt(threshold float64) Rates {
	return c.rates(c.roundDown(comparableThreshold(threshold)))
}

// comparableThreshold returns a threshold that can be compared. NaN becomes a threshold that accepts nothing.
func comparableThreshold(threshold float64) float64 {
	if threshold != threshold {
		return math.Inf(-1)
	}
	return threshold
}

// RatesAtFMR returns the rates of the largest threshold whose false match rate on these pairs is at most
// fmr. Its FNMR is the least possible one ("FNMR at FMR"). Ties are accepted or rejected together, so
// FMR may be below fmr, but never above it. With fmr below 1 / Impostor() no impostor pair is accepted;
// so few pairs cannot show so small a rate.
//
// The threshold is the number of 20 bits just below the nearest impostor pair that must not be
// accepted. It is below all possible distances if impostor pairs have distance 0. It is the largest
// distance if fmr is 1 or more. NaN counts as 0.
func (c *Counts) RatesAtFMR(fmr float64) Rates {
	return c.RatesAtImpostors(maxCount(fmr, c.Impostor()))
}

// maxCount returns the largest number that is at most the wanted share of all.
func maxCount(wanted float64, all int64) int64 {
	switch {
	case !(wanted > 0):
		return 0
	case wanted >= 1:
		return all
	}
	n := int64(wanted * float64(all))
	for n > 0 && ratio(n, all) > wanted {
		n--
	}
	for n < all && ratio(n+1, all) <= wanted {
		n++
	}
	return n
}

// RatesAtImpostors returns the rates of the largest threshold that accepts at most the given number of impostor
// pairs. RatesAtFMR does the same for a share of them.
func (c *Counts) RatesAtImpostors(impostors int64) Rates {
	impostors = max(impostors, 0)
	i := sort.Search(len(c.keys), func(i int) bool { return c.impostor[i] > impostors })
	if i == len(c.keys) {
		return c.rates(c.keys[i-1])
	}
	return c.rates(c.keys[i] - 1)
}

// EER returns the equal error rate, at which FMR and FNMR are equal, and the largest threshold at which
// FMR is at most FNMR. Between two consecutive thresholds both rates are interpolated linearly, which
// agrees with the treatment of ties in AUC.
func (c *Counts) EER() (rate, threshold float64) {
	before := c.rates(c.keys[0] - 1) // accepts nothing
	for i, k := range c.keys {
		r := Rates{c.value(k), ratio(c.impostor[i], c.Impostor()), ratio(c.Genuine()-c.genuine[i], c.Genuine())}
		if r.FMR > r.FNMR {
			low, high := before.FNMR-before.FMR, r.FMR-r.FNMR
			return before.FMR + low/(low+high)*(r.FMR-before.FMR), c.value(k - 1)
		}
		before = r
	}
	panic("eval: the last threshold accepts all") // FMR 1 is more than FNMR 0
}

// AUC returns the area under the ROC curve, TAR over FMR. It is the share of combinations of a genuine
// and an impostor pair in which the genuine pair is nearer, with ties counted as half (Mann-Whitney U
// over both numbers). Up to 4 million pairs, distances tie if they are equal to 40 bits, and beyond that if their keys
// are, which changes the area of so many pairs by about 1e-8.
func (c *Counts) AUC() float64 {
	if c.area != nil {
		return *c.area
	}
	var sum float64
	var g, i int64
	for n := range c.keys {
		here := float64(c.genuine[n]-g) / float64(c.Genuine())
		behind := c.Impostor() - c.impostor[n]
		sum += here * (float64(behind) + float64(c.impostor[n]-i)/2)
		g, i = c.genuine[n], c.impostor[n]
	}
	return sum / float64(c.Impostor())
}

// exactPairs is the largest number of pairs whose distances are sorted for AUC.
const exactPairs = 1 << 22

// exactAUC returns AUC of some distances, which it sorts; nil if there are too many of them, or none of a
// kind. Distances that are equal to 40 bits tie, because sums in another order differ in the last ones.
func exactAUC(genuine, impostor []float64) *float64 {
	if len(genuine)+len(impostor) > exactPairs || len(genuine) == 0 || len(impostor) == 0 {
		return nil
	}
	const low = 1 << 12 // the last bits of a float64
	for _, of := range [][]float64{genuine, impostor} {
		for k, d := range of {
			of[k] = math.Float64frombits((math.Float64bits(d) + low/2) &^ (low - 1))
		}
		slices.Sort(of)
	}
	var nearer, equal int // impostor pairs that are nearer than a genuine pair, and those as near
	var twice int64       // the combinations, each twice
	for _, d := range genuine {
		for nearer < len(impostor) && impostor[nearer] < d {
			nearer++
		}
		for equal = max(equal, nearer); equal < len(impostor) && impostor[equal] == d; {
			equal++
		}
		twice += 2*int64(len(impostor)-equal) + int64(equal-nearer)
	}
	auc := float64(twice) / 2 / float64(len(genuine)) / float64(len(impostor))
	return &auc
}

// DPrime returns the sensitivity index
//
//	d' = (mean of impostor - mean of genuine) / sqrt((variance of impostor + variance of genuine) / 2)
//
// with variances over all pairs (divisor n). It is negative if genuine pairs are farther apart than
// impostor pairs. It is 0 or infinite if all distances of each kind are equal.
func (c *Counts) DPrime() float64 {
	var all [2]distanceMoments
	var before [2]int64
	for i, k := range c.keys {
		for kind, upTo := range [...]int64{c.genuine[i], c.impostor[i]} {
			all[kind].add(k.value(), float64(upTo-before[kind]))
			before[kind] = upTo
		}
	}
	return dPrime(all)
}

// distanceMoments holds the number of distances, their mean, and the sum of squares about the mean. Distances
// may count from any zero, because only differences matter.
type distanceMoments struct{ n, mean, square float64 }

// add adds the same distance n times (Welford 1962).
func (m *distanceMoments) add(d, n float64) { m.merge(distanceMoments{n: n, mean: d}) }

// merge adds the distances of another spread (Chan, Golub and LeVeque 1979).
func (m *distanceMoments) merge(o distanceMoments) {
	if o.n == 0 {
		return
	}
	all, step := m.n+o.n, o.mean-m.mean
	m.square += o.square + step*step*m.n*o.n/all
	m.mean += step * o.n / all
	m.n = all
}

// dPrime returns the sensitivity index of genuine and impostor pairs.
func dPrime(of [2]distanceMoments) float64 {
	genuine, impostor := of[0], of[1]
	apart := impostor.mean - genuine.mean
	if apart == 0 {
		return 0
	}
	return apart / math.Sqrt((genuine.square/genuine.n+impostor.square/impostor.n)/2)
}

// PairCount holds the numbers of pairs at one distance.
type PairCount struct{ Genuine, Impostor int64 }

// All iterates over the different distances, rounded up to 20 bits, from the smallest.
func (c *Counts) All() iter.Seq2[float64, PairCount] {
	return func(yield func(float64, PairCount) bool) {
		var before PairCount
		for i, k := range c.keys {
			now := PairCount{c.genuine[i], c.impostor[i]}
			if !yield(c.value(k), PairCount{now.Genuine - before.Genuine, now.Impostor - before.Impostor}) {
				return
			}
			before = now
		}
	}
}
