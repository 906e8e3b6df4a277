package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// setQuotas divides an epoch's visits among classes by size^Power. Each class gets one visit, and the
// rest is in proportion, but at most one for each batch.
func (b *Balanced) setQuotas() error {
	p := b.cfg.Power
	if p == 0 {
		return nil
	}
	if math.IsNaN(p) || p < 0 || p > 4 {
		return fmt.Errorf("sampling: power is %v: must be 0 to 4", p)
	}
	visits := b.batches * b.cfg.Classes
	if visits < len(b.classes) {
		return fmt.Errorf("sampling: %d batches of %d classes do not visit all %d classes", b.batches, b.cfg.Classes,
			len(b.classes))
	}
	b.quotas = make([]int, len(b.classes))
	weight := make([]float64, len(b.classes))
	for c, idx := range b.classes {
		b.quotas[c] = 1
		weight[c] = math.Pow(float64(len(idx)), p)
	}
	// The highest averages method (Webster) gives one visit at a time to the class that lacks
	// most. It favours neither large nor small classes.
	for range visits - len(b.classes) {
		best := -1
		for c, w := range weight {
			if b.quotas[c] < b.batches &&
				(best < 0 || w/(float64(b.quotas[c])+0.5) > weight[best]/(float64(b.quotas[best])+0.5)) {
				best = c
			}
		}
		b.quotas[best]++
	}
	return nil
}

// quotas deals each class as often as its quota says, and never twice in a batch.
type quotas struct {
	left    []int
	batches int // number of batches still to deal
	rng     *rand.Rand
}

// take deals a batch of k classes: first the classes that must be in every remaining batch, then
// others with a chance in proportion to the rest of their quotas.
func (q *quotas) take(k int, dst []int) []int {
	dst = dst[:0]
	total := 0
	for c, n := range q.left {
		if n == q.batches {
			dst = append(dst, c)
		} else {
			total += n
		}
	}
	taken := make([]bool, len(q.left))
	for _, c := range dst {
		taken[c] = true
	}
	for len(dst) < k {
		x := q.rng.IntN(total)
		for c, n := range q.left {
			if taken[c] {
				continue
			}
			if x < n {
				dst, taken[c] = append(dst, c), true
				total -= n
				break
			}
			x -= n
		}
	}
	for _, c := range dst {
		q.left[c]--
	}
	q.batches--
	q.rng.Shuffle(len(dst), func(i, j int) { dst[i], dst[j] = dst[j], dst[i] })
	return dst
}
