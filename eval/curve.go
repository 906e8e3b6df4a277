package eval

import "math"

// Curve returns the rates of at most the given number of thresholds, the smallest first,
// for a DET or ROC curve: of one that accepts nothing, of one that accepts all, and of some
// between, chosen evenly on the scale of normal deviates, on which DET curves of normal
// distances are straight (Martin et al. 1997).
func (c *Counts) Curve(most int) []Rates {
	out := []Rates{c.rates(c.keys[0] - 1)}
	last := len(c.keys) - 1
	cell := 0
	for i, k := range c.keys {
		r := Rates{c.value(k), share(c.impostor[i], c.Impostor()), share(c.Genuine()-c.genuine[i], c.Genuine())}
		// Along the curve both deviates grow.
		at := int((deviate(r.FMR) - deviate(r.FNMR) + 2*farthest) / (4 * farthest) * float64(most-2))
		if i == last || at > cell {
			out = append(out, r)
			cell = at
		}
	}
	return out
}

// farthest bounds deviates, at rates of about 1e-15.
const farthest = 8

// deviate is the normal deviate of a rate.
func deviate(p float64) float64 {
	return min(max(math.Sqrt2*math.Erfinv(2*p-1), -farthest), farthest)
}
