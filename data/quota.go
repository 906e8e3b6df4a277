package data

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// setQuotas shares an epoch's visits among classes by size^Power: one each
// first, the rest in proportion, none more than there are batches.
func (b *Balanced) setQuotas() error {
	p := b.cfg.Power
	if p == 0 {
		return nil
	}
	if math.IsNaN(p) || p < 0 || p > 4 {
		return fmt.Errorf("sampling: power %v is not between 0 and 4", p)
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
	// One visit at a time to the class that lacks most: the highest averages
	// method (Webster), which favours neither large nor small classes.
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

// quotas deals classes so that each comes up as often as its quota says, and
// never twice in a batch.
type quotas struct {
	left    []int
	batches int // still to deal
	rng     *rand.Rand
}

// take deals one batch of k classes: those that must be in every batch to come,
// then others with a chance in proportion to what is left of their quotas.
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
