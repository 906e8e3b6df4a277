package eval

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sort"
)

// Counts says how many genuine and how many impostor pairs lie at each distance. It does
// not change, so any number of goroutines may use one. There is at least one pair of
// either kind.
type Counts struct {
	ruler
	keys []key // of the distances that occur, increasing
	// genuine[i] and impostor[i] are the pairs whose key is at most keys[i].
	genuine, impostor []int64
}

// Rates are what a threshold comes to.
type Rates struct {
	// Threshold is the largest distance that is accepted.
	Threshold float64
	// FMR is the share of impostor pairs that are accepted, FNMR that of genuine pairs
	// that are not.
	FMR, FNMR float64
}

// TAR is the true accept rate, 1 - FNMR.
func (r Rates) TAR() float64 { return 1 - r.FNMR }

// ErrNoGenuine and ErrNoImpostor tell that there is no pair of one kind, so that no rate
// is defined.
var (
	ErrNoGenuine  = errors.New("no genuine pair: no two items are of one class")
	ErrNoImpostor = errors.New("no impostor pair: all items are of one class")
)

// NewCounts counts distances of genuine and of impostor pairs, in any order. It returns
// ErrNoGenuine or ErrNoImpostor if there are none of a kind, and an error that says which
// distance is not finite.
func NewCounts(genuine, impostor []float64) (*Counts, error) {
	kinds := [2][]key{}
	for kind, distances := range [...][]float64{genuine, impostor} {
		for i, d := range distances {
			if d-d != 0 {
				return nil, fmt.Errorf("the distance of %s pair %d is %v", [...]string{"genuine", "impostor"}[kind],
					i, d)
			}
			kinds[kind] = append(kinds[kind], up(d))
		}
		slices.Sort(kinds[kind])
	}
	c := &Counts{}
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
		ng, ni := leading(g, k), leading(i, k)
		c.add(k, int64(ng), int64(ni))
		g, i = g[ng:], i[ni:]
	}
	return c, c.check()
}

// leading is how many keys at the start of a sorted list are k.
func leading(keys []key, k key) int {
	n := 0
	for n < len(keys) && keys[n] == k {
		n++
	}
	return n
}

// add adds pairs at a key that is larger than all before.
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

// Genuine is the number of genuine pairs.
func (c *Counts) Genuine() int64 { return c.genuine[len(c.genuine)-1] }

// Impostor is the number of impostor pairs.
func (c *Counts) Impostor() int64 { return c.impostor[len(c.impostor)-1] }

// upTo is how many of the distances that occur are at most k.
func (c *Counts) upTo(k key) int {
	return sort.Search(len(c.keys), func(i int) bool { return c.keys[i] > k })
}

// Within counts the genuine and the impostor pairs whose distance is at most that of 20
// bits that is nearest below the given one.
func (c *Counts) Within(distance float64) (genuine, impostor int64) {
	return c.first(c.upTo(c.down(number(distance))))
}

// first counts the pairs at the first n of the distances that occur.
func (c *Counts) first(n int) (genuine, impostor int64) {
	if n == 0 {
		return 0, 0
	}
	return c.genuine[n-1], c.impostor[n-1]
}

// rates are those of the threshold k.
func (c *Counts) rates(k key) Rates {
	g, i := c.first(c.upTo(k))
	return Rates{c.value(k), share(i, c.Impostor()), share(c.Genuine()-g, c.Genuine())}
}

func share(part, all int64) float64 { return float64(part) / float64(all) }

// At returns the rates of a threshold, which is lowered to a number of 20 significant
// bits. NaN accepts nothing.
func (c *Counts) At(threshold float64) Rates {
	return c.rates(c.down(number(threshold)))
}

// number is a threshold that can be compared: one that is NaN accepts nothing.
func number(threshold float64) float64 {
	if threshold != threshold {
		return math.Inf(-1)
	}
	return threshold
}

// AtFMR returns the rates of the largest threshold whose false match rate on these pairs
// is at most fmr, and with it the least FNMR that goes with that: "FNMR at FMR". Ties are
// accepted or rejected together, so FMR may be less than wanted, and never more. With fmr
// below 1 / Impostor() no impostor pair is accepted; a rate so small is not shown by as
// few pairs.
//
// The threshold is the number of 20 bits just below the nearest impostor pair that must
// not be accepted. It may be below every distance that is possible, if impostor pairs
// have distance 0. It is the largest distance of all if fmr is 1 or more. A NaN is taken
// as 0.
func (c *Counts) AtFMR(fmr float64) Rates { return c.AtMost(allowed(fmr, c.Impostor())) }

// allowed is the largest part of all that is no more than a share of it.
func allowed(wanted float64, all int64) int64 {
	switch {
	case !(wanted > 0):
		return 0
	case wanted >= 1:
		return all
	}
	n := int64(wanted * float64(all))
	for n > 0 && share(n, all) > wanted {
		n--
	}
	for n < all && share(n+1, all) <= wanted {
		n++
	}
	return n
}

// AtMost returns the rates of the largest threshold that accepts at most the given number
// of impostor pairs, as AtFMR does for a share of them.
func (c *Counts) AtMost(impostors int64) Rates {
	impostors = max(impostors, 0)
	i := sort.Search(len(c.keys), func(i int) bool { return c.impostor[i] > impostors })
	if i == len(c.keys) {
		return c.rates(c.keys[i-1])
	}
	return c.rates(c.keys[i] - 1)
}

// EER returns the equal error rate, at which FMR and FNMR are the same, and the largest
// threshold at which FMR is no more than FNMR. Between two thresholds that follow each
// other both rates are interpolated linearly, as AUC does with ties.
func (c *Counts) EER() (rate, threshold float64) {
	before := c.rates(c.keys[0] - 1) // accepts nothing
	for i, k := range c.keys {
		r := Rates{c.value(k), share(c.impostor[i], c.Impostor()), share(c.Genuine()-c.genuine[i], c.Genuine())}
		if r.FMR > r.FNMR {
			low, high := before.FNMR-before.FMR, r.FMR-r.FNMR
			return before.FMR + low/(low+high)*(r.FMR-before.FMR), c.value(k - 1)
		}
		before = r
	}
	panic("eval: the last threshold accepts all") // FMR 1 is more than FNMR 0
}

// AUC is the area under the ROC curve, TAR over FMR: the share of couples of a genuine
// and an impostor pair in which the genuine one is nearer, ties counted as half
// (Mann-Whitney U over both numbers).
func (c *Counts) AUC() float64 {
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

// DPrime is the sensitivity index
//
//	d' = (mean of impostor - mean of genuine) / sqrt((variance of impostor + variance of genuine) / 2)
//
// with variances over all pairs (divisor n). It is negative if genuine pairs are farther
// apart, and 0 or infinite if no distance of a kind differs from another.
func (c *Counts) DPrime() float64 {
	var all [2]spread
	var before [2]int64
	for i, k := range c.keys {
		for kind, upTo := range [...]int64{c.genuine[i], c.impostor[i]} {
			all[kind].add(k.value(), float64(upTo-before[kind]))
			before[kind] = upTo
		}
	}
	return dPrime(all)
}

// spread is that of distances from any zero, which no difference depends on: how many there
// are, their mean, and the sum of squares about it.
type spread struct{ n, mean, square float64 }

// add takes n times the same distance (Welford 1962).
func (m *spread) add(d, n float64) { m.merge(spread{n: n, mean: d}) }

// merge takes the spreads of others (Chan, Golub and LeVeque 1979).
func (m *spread) merge(o spread) {
	if o.n == 0 {
		return
	}
	all, step := m.n+o.n, o.mean-m.mean
	m.square += o.square + step*step*m.n*o.n/all
	m.mean += step * o.n / all
	m.n = all
}

// dPrime is the sensitivity index of genuine and impostor pairs.
func dPrime(of [2]spread) float64 {
	genuine, impostor := of[0], of[1]
	apart := impostor.mean - genuine.mean
	if apart == 0 {
		return 0
	}
	return apart / math.Sqrt((genuine.square/genuine.n+impostor.square/impostor.n)/2)
}

// PairCount is how many pairs lie at one distance.
type PairCount struct{ Genuine, Impostor int64 }

// All goes through the distances that occur, rounded up to 20 bits, the smallest first.
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
