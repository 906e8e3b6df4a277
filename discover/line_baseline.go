package discover

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/kindred-ml/kindred/internal/base/lists"
)

const (
	// numLines is the number of lines with which a class is compared.
	numLines = 199
	// denseFactor is how much denser the rows of these lines are in dense places than between them.
	denseFactor = 1.6
)

// lineKey is the number of rows of a line and the window.
type lineKey struct{ rows, window int }

// lineDraws has the counts of lines by facing.
type lineDraws [len(facingCounts)][]float64

// lineCounts has functions that count the isolated rows of lines once.
var lineCounts sync.Map

// linesPValue returns the probability that lines have at least so many isolated rows in a window. From 33
// rows on only eight to sixteen sizes an octave are drawn, and the next larger one is taken. Above all lines drawn, the
// tail is exponential.
func linesPValue(count float64, key lineKey, facing int) float64 {
	step := 1
	for key.rows > 32 && key.rows/step >= 16 {
		step *= 2
	}
	key.rows = (key.rows + step - 1) / step * step
	one, _ := lineCounts.LoadOrStore(key, sync.OnceValue(func() lineDraws { return drawLines(key) }))
	of := one.(func() lineDraws)()[facing]
	if at, _ := slices.BinarySearch(of, count); at < numLines {
		return float64(numLines-at+1) / (numLines + 1)
	}
	tail := of[numLines*9/10:]
	over := 0.0
	for _, v := range tail {
		over += (v - tail[0]) / float64(len(tail))
	}
	return math.Exp((of[numLines-1]-count)/max(over, 1)) / (numLines + 1)
}

// drawLines returns the counts of lines in ascending order, always the same. A line of window w has 2^(w+1) dense
// places, as many as the window's largest number of groups, and the first and the last are at the ends.
func drawLines(key lineKey) (out lineDraws) {
	rng := rand.New(rand.NewPCG(uint64(key.rows), uint64(key.window)))
	waves := float64(int(2)<<key.window-1) * math.Pi
	y := make([]float64, key.rows)
	for range numLines {
		for i := range y {
			for {
				y[i] = rng.Float64()
				if v := math.Cos(waves * y[i]); rng.Float64() < (1+(denseFactor-1)*v*v)/denseFactor {
					break
				}
			}
		}
		for f, count := range lineIsolation(y, key.window, rng) {
			out[f] = append(out[f], count)
		}
	}
	for f := range out {
		slices.Sort(out[f])
	}
	return out
}

// lineIsolation is isolation of rows on a line, in one window. On a line, groups are intervals, which is much
// faster. Long lines are dealt less often, so that their counts vary more.
func lineIsolation(y []float64, window int, rng *rand.Rand) (out [len(facingCounts)]float64) {
	deals := max(2, min(halvings, 640/len(y)))
	for range deals {
		order := rng.Perm(len(y))
		middle := len(y) / 2
		for _, halves := range [2][2][]int{{order[:middle], order[middle:]}, {order[middle:], order[:middle]}} {
			known, asked := lists.At(y, halves[0]), lists.At(y, halves[1])
			slices.Sort(known)
			slices.Sort(asked)
			cuts, bounds := lineTree(known), []int{0, len(known)}
			places := []int{0, len(asked)} // of the bounds among the rows that are asked
			for k := 2; k <= min(maxParts(len(known)), 2<<window); k++ {
				cut := cuts[len(cuts)-k+1]
				at, _ := slices.BinarySearch(bounds, cut)
				from, to := bounds[at-1], bounds[at]
				edge := (mean(known[from:cut]) + mean(known[cut:to])) / 2
				place, _ := slices.BinarySearch(asked, edge)
				place = min(max(place, places[at-1]), places[at])
				bounds, places = slices.Insert(bounds, at, cut), slices.Insert(places, at, place)
				if min(cut-from, to-cut) >= minPartRows(len(known)) && windowOf(k) == window {
					one := lineIsolated(asked, places[at-1], place)
					two := lineIsolated(asked, place, places[at+1])
					for f := range facingCounts {
						out[f] += max(one[f], two[f]) / float64(2*deals)
					}
				}
			}
		}
	}
	return out
}

// lineIsolated is isolated of the rows x[from:to] of an ascending list.
func lineIsolated(x []float64, from, to int) (count [len(facingCounts)]float64) {
	if min(to-from, len(x)-to+from) < 2 {
		return count
	}
	joint, low, high := to, from, len(x) // the sides are x[low:joint] and x[joint:high]
	if to == len(x) || from > 0 && x[from]-x[from-1] < x[to]-x[to-1] {
		joint, low, high = from, 0, to
	}
	for f, most := range facingCounts {
		n := min(numFacing(most, to-from, len(x)-to+from), joint-low, high-joint)
		left, right := x[joint-n:joint], x[joint:joint+n]
		across := 0.0
		for _, v := range left {
			across += meanSquareTo(v, right) / float64(n)
		}
		for i := low; i < high; i++ {
			side, near := left, i >= joint-n && i < joint+n
			if i >= joint {
				side = right
			}
			within := meanSquareTo(x[i], side)
			if near && n > 1 {
				within *= float64(n) / float64(n-1)
			}
			if within < across {
				count[f]++
			}
		}
	}
	return count
}

// meanSquareTo returns the mean squared distance of a place from others.
func meanSquareTo(v float64, others []float64) (sum float64) {
	for _, o := range others {
		sum += (v - o) * (v - o)
	}
	return sum / float64(len(others))
}

// mean returns the mean of places.
func mean(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// lineTree returns where Ward's criterion joins ascending rows: before which rows, in the order of the merges.
func lineTree(x []float64) (cuts []int) {
	type part struct {
		first     int
		size, mid float64
	}
	var parts []part
	for i, v := range x {
		parts = append(parts, part{i, 1, v})
	}
	for len(parts) > 1 {
		at, least := 1, math.Inf(1)
		for i := 1; i < len(parts); i++ {
			a, b := parts[i-1], parts[i]
			if cost := a.size * b.size / (a.size + b.size) * (b.mid - a.mid) * (b.mid - a.mid); cost < least {
				at, least = i, cost
			}
		}
		a, b := &parts[at-1], parts[at]
		a.mid = (a.size*a.mid + b.size*b.mid) / (a.size + b.size)
		a.size += b.size
		cuts = append(cuts, b.first)
		parts = slices.Delete(parts, at, at+1)
	}
	return cuts
}
