package rank

import "slices"

// nthLargest returns the n-th largest value, counted from 1. It reorders them.
func nthLargest(v []float64, n int) float64 {
	lo, hi, at := 0, len(v)-1, n-1
	for hi-lo > 16 {
		// The median of three, between which what is larger comes first.
		a, b, c := v[lo], v[(lo+hi)/2], v[hi]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := lo, hi
		for i <= j {
			for v[i] > pivot {
				i++
			}
			for v[j] < pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case at <= j:
			hi = j
		case at >= i:
			lo = i
		default:
			return v[at]
		}
	}
	slices.Sort(v[lo : hi+1])
	return v[lo+hi-at]
}

// sorter sorts items by score, the largest first, in time that grows with their number
// where scores spread about evenly.
type sorter struct {
	ends []int32
	out  []item
}

// sort returns the items in order, in storage of its own.
func (s *sorter) sort(items []item) []item {
	n := len(items)
	s.out = slices.Grow(s.out[:0], n)[:n]
	if n == 0 {
		return s.out
	}
	high, low := items[0].score, items[0].score
	for _, it := range items {
		high, low = max(high, it.score), min(low, it.score)
	}
	s.ends = slices.Grow(s.ends[:0], n+1)[:n+1]
	clear(s.ends)
	scale := 0.
	if d := high - low; d > 0 {
		scale = min(float64(n-1)/d, 1e300)
	}
	for _, it := range items {
		s.ends[int((high-it.score)*scale)+1]++
	}
	for b := range n {
		s.ends[b+1] += s.ends[b]
	}
	for _, it := range items {
		b := int((high - it.score) * scale)
		s.out[s.ends[b]] = it
		s.ends[b]++
	}
	from := int32(0)
	for _, end := range s.ends[:n] {
		if end-from > 1 {
			sortFew(s.out[from:end])
		}
		from = end
	}
	return s.out
}

// sortFew is for the items of one bucket.
func sortFew(items []item) {
	if len(items) > 24 {
		slices.SortFunc(items, compareItems)
		return
	}
	for i := 1; i < len(items); i++ {
		it := items[i]
		k := i
		for ; k > 0 && items[k-1].score < it.score; k-- {
			items[k] = items[k-1]
		}
		items[k] = it
	}
}
