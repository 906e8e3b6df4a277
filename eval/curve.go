package eval

import "math"

// Curve returns the rates of at most the given number of thresholds, from the smallest, for a DET or
// ROC curve. The first threshold accepts nothing and the last one accepts all. Those between are
// chosen evenly on the scale of normal deviates, on which DET curves of normal distances are straight
// (Martin et al. 1997).
func (c *Counts) Curve(most int) []Rates {
	out := []Rates{c.rates(c.keys[0] - 1)}
	last := len(c.keys) - 1
	cell := 0
	for i, k := range c.keys {
		r := Rates{c.value(k), ratio(c.impostor[i], c.Impostor()), ratio(c.Genuine()-c.genuine[i], c.Genuine())}
		// Along the curve both deviates change monotonically.
		at := int((normalDeviate(r.FMR) - normalDeviate(r.FNMR) + 2*maxDeviate) / (4 * maxDeviate) * float64(most-2))
		if i == last || at > cell {
			out = append(out, r)
			cell = at
		}
	}
	return out
}

// maxDeviate bounds deviates. It corresponds to rates of about 1e-15.
const maxDeviate = 8

// normalDeviate returns the normal deviate of a rate.
func normalDeviate(p float64) float64 {
	return min(max(math.Sqrt2*math.Erfinv(2*p-1), -maxDeviate), maxDeviate)
}
