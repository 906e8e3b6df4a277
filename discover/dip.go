package discover

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
)

// dipStatistic returns the dip of x, which it sorts: the largest difference between its distribution function and the
// best distribution function with a single mode, from 1/(2n) to 1/4. It is the algorithm of Hartigan and
// Hartigan (1985, AS 217). The mode is between low and high. The unimodal function is convex below the mode
// and concave above it. The greatest convex minorant and the least concave majorant between low and high
// narrow this range in turns.
func dipStatistic(x []float64) float64 {
	n := len(x)
	slices.Sort(x)
	if n < 4 || x[0] == x[n-1] {
		return 0.5 / float64(max(n, 1))
	}
	below, above := hulls(x)
	low, high, twice := 0, n-1, 1.0
	for {
		minorant, majorant := []int{high}, []int{low}
		for last := high; last > low; {
			last = below[last]
			minorant = append(minorant, last)
		}
		for last := low; last < high; {
			last = above[last]
			majorant = append(majorant, last)
		}
		d, i, j := hullDistance(x, minorant, majorant)
		if d < twice {
			break
		}
		for k := i; k+1 < len(minorant); k++ {
			twice = max(twice, maxDeviation(x, minorant[k+1], minorant[k], 1))
		}
		for k := j; k+1 < len(majorant); k++ {
			twice = max(twice, maxDeviation(x, majorant[k], majorant[k+1], -1))
		}
		if low == minorant[i] && high == majorant[j] {
			break
		}
		low, high = minorant[i], majorant[j]
	}
	return twice / float64(2*n)
}

// hulls returns for each place the corner before it of the greatest convex minorant that ends there, and the
// corner after it of the least concave majorant that begins there.
func hulls(x []float64) (below, above []int) {
	n := len(x)
	below, above = make([]int, n), make([]int, n)
	for j := 1; j < n; j++ {
		a := j - 1
		for b := below[a]; a != 0 && (x[j]-x[a])*float64(a-b) >= (x[a]-x[b])*float64(j-a); b = below[a] {
			a = b
		}
		below[j] = a
	}
	above[n-1] = n - 1
	for j := n - 2; j >= 0; j-- {
		a := j + 1
		for b := above[a]; a != n-1 && (x[j]-x[a])*float64(a-b) >= (x[a]-x[b])*float64(j-a); b = above[a] {
			a = b
		}
		above[j] = a
	}
	return below, above
}

// hullDistance returns the largest distance between minorant and majorant, in rows, and the corners at which the
// widest stretch ends: minorant[i] and majorant[j].
func hullDistance(x []float64, minorant, majorant []int) (d float64, i, j int) {
	i, j = len(minorant)-1, len(majorant)-1
	if len(minorant) == 2 && len(majorant) == 2 {
		return 1, i, j
	}
	a, b := len(minorant)-2, 1
	for {
		g, l := minorant[a], majorant[b]
		if g > l {
			from := minorant[a+1]
			if v := float64(l-from+1) - (x[l]-x[from])*float64(g-from)/(x[g]-x[from]); v >= d {
				d, i, j = v, a+1, b
			}
			b++
		} else {
			from := majorant[b-1]
			if v := (x[g]-x[from])*float64(l-from)/(x[l]-x[from]) - float64(g-from-1); v >= d {
				d, i, j = v, a, b
			}
			a--
		}
		a, b = max(a, 0), min(b, len(majorant)-1)
		if minorant[a] == majorant[b] {
			return d, i, j
		}
	}
}

// maxDeviation returns the largest distance of the distribution function above (side 1) or below (side -1) the line
// between two corners, in rows, at least 1.
func maxDeviation(x []float64, from, to int, side float64) float64 {
	most := 1.0
	if to-from < 2 || x[to] == x[from] {
		return most
	}
	slope := float64(to-from) / (x[to] - x[from])
	for k := from; k <= to; k++ {
		most = max(most, side*(float64(k-from)-(x[k]-x[from])*slope)+1)
	}
	return most
}

// numUniformSamples is the number of uniform samples with which a dip is compared.
const numUniformSamples = 5000

// uniformDips has, by size of the sample, functions that draw the dips of uniform samples once.
var uniformDips sync.Map

// dipPValue returns the probability that n uniform rows have a dip of at least d. Of all distributions with one
// mode, the uniform one dips most. It returns 1 for fewer rows than can be judged. From 65 rows on, only a
// few sizes of samples are drawn, because a dip falls with the square root of the number of rows.
func dipPValue(d float64, n int) float64 {
	if n < minClassRows {
		return 1
	}
	size, step := n, 1
	for size/step > 64 {
		step *= 2
	}
	size = min(size/step*step, 512)
	d *= math.Sqrt(float64(n) / float64(size))
	one, _ := uniformDips.LoadOrStore(size, sync.OnceValue(func() []float64 { return drawDips(size) }))
	of := one.(func() []float64)()
	at, _ := slices.BinarySearch(of, d)
	return float64(numUniformSamples-at+1) / (numUniformSamples + 1)
}

// drawDips returns the dips of uniform samples of n rows in ascending order, always the same.
func drawDips(n int) []float64 {
	rng := rand.New(rand.NewPCG(uint64(n), 217))
	out, x := make([]float64, numUniformSamples), make([]float64, n)
	for k := range out {
		for i := range x {
			x[i] = rng.Float64()
		}
		out[k] = dipStatistic(x)
	}
	slices.Sort(out)
	return out
}
