package decide

import "math"

// fitPlatt fits Platt scaling, the usual method: a logistic function of the distance, fitted to
// the pairs of a calibration, with equal weight for both kinds. It returns the probability at
// even odds. Validations compare it with the curve.
func (c *Calibration) fitPlatt() func(distance float64) float64 {
	n := len(c.Distances)
	at, same, different := make([]float64, n), make([]float64, n), make([]float64, n)
	for k, d := range c.Distances {
		at[k], same[k], different[k] = d, c.TrueMatch[k], c.FalseMatch[k]
		if k > 0 {
			at[k] = (d + c.Distances[k-1]) / 2
			same[k] -= c.TrueMatch[k-1]
			different[k] -= c.FalseMatch[k-1]
		}
	}
	var mean, square, mass float64
	for k, x := range at {
		u := same[k] + different[k]
		mean, square, mass = mean+u*x, square+u*x*x, mass+u
	}
	mean /= mass
	wide := math.Sqrt(max(square/mass-mean*mean, 1e-30))
	var a, b float64
	const prior = 1e-6 // keeps the slope of kinds that do not overlap finite
	for range 100 {
		ga, gb := -prior*a, -prior*b
		haa, hab, hbb := prior, 0.0, prior
		for k, x := range at {
			x = (x - mean) / wide
			u := same[k] + different[k]
			p := logistic(a + b*x)
			g, w := same[k]-u*p, u*p*(1-p)
			ga, gb = ga+g, gb+g*x
			haa, hab, hbb = haa+w, hab+w*x, hbb+w*x*x
		}
		det := haa*hbb - hab*hab
		da, db := (hbb*ga-hab*gb)/det, (haa*gb-hab*ga)/det
		step := 1 / max(1, math.Hypot(da, db)) // never further than 1
		a, b = a+step*da, b+step*db
		if math.Hypot(da, db) < 1e-9 {
			break
		}
	}
	return func(d float64) float64 { return logistic(a + b*(d-mean)/wide) }
}

// constantThreshold returns the largest distance with at most a rate on the calibration's classes,
// without a bound, which is the usual threshold; false if there is no such distance.
func (c *Calibration) constantThreshold(measured []float64, rate float64) (float64, bool) {
	k := lastAtMost(measured, rate)
	if k < 0 {
		return 0, false
	}
	return c.Distances[k], true
}
