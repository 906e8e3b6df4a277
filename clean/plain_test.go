package clean

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/kindred-ml/kindred/matrix"
)

// plainDuplicates is what Duplicates has to find, pair by pair.
func plainDuplicates(t *testing.T, prints []*Fingerprint, x *matrix.Dense) []Copy {
	t.Helper()
	near, err := neighbours(t.Context(), prints, x)
	if err != nil {
		t.Fatal(err)
	}
	var found []Copy
	for i, p := range prints {
		for j := i + 1; j < len(prints); j++ {
			q := prints[j]
			if p == nil || q == nil || p.isBlank || q.isBlank {
				continue
			}
			least := minPartCorrelation
			if slices.Contains(near[i], j) {
				least = minNeighbourCorrelation
			} else if bits.OnesCount64(p.hash^q.hash) > maxHashBits {
				continue
			}
			if l := plainLikeness(p, q, least); l >= minCopyCorrelation {
				found = append(found, Copy{i, j, l})
			}
		}
	}
	return found
}

// plainLikeness is the correlation of whole pictures, if it makes them copies or is less than
// least, else the largest of one picture with parts of the other that make them copies, at least three
// quarters of its sides: first on every
// other pixel for windows on whole ones, then from the best of these in ever smaller steps.
func plainLikeness(p, q *Fingerprint, least float64) float64 {
	best := plainCorrelation(&p.grey, q, window{0, 0, side}, 1)
	if best < least || isCopy(best, p, q, window{0, 0, side}) {
		return best
	}
	best = 0
	for _, of := range [][2]*Fingerprint{{p, q}, {q, p}} {
		whole, part := &of[0].grey, of[1]
		at, top := window{0, 0, side}, plainCorrelation(&of[0].grey, of[1], window{0, 0, side}, 2)
		for _, s := range []float64{30.5, 29, 27.5, 26, 24.5} {
			for y := 0.0; y <= side-s; y++ {
				for x := 0.0; x <= side-s; x++ {
					if c := plainCorrelation(whole, part, window{x, y, s}, 2); c > top {
						at, top = window{x, y, s}, c
					}
				}
			}
		}
		if top < promisingCorrelation {
			continue
		}
		top = plainCorrelation(whole, part, at, 1)
		for step := 0.5; step > 0.1; step /= 2 {
			for range 4 {
				was := at
				for _, w := range []window{{at.x - step, at.y, at.side}, {at.x + step, at.y, at.side},
					{at.x, at.y - step, at.side}, {at.x, at.y + step, at.side}, {at.x, at.y, at.side - step},
					{at.x, at.y, at.side + step}, {at.x - step, at.y - step, at.side + step}} {
					if min(w.x, w.y) < 0 || max(w.x, w.y)+w.side > side || w.side < 24 {
						continue
					}
					if c := plainCorrelation(whole, part, w, 1); c > top {
						at, top = w, c
					}
				}
				if at == was {
					break
				}
			}
		}
		if isCopy(top, of[0], part, at) {
			best = max(best, top)
		}
	}
	return best
}

// plainCorrelation compares a whole picture with a window of another, by every so many
// pixels.
func plainCorrelation(whole *[side * side]uint8, of *Fingerprint, at window, every int) float64 {
	// Sums over the pixels that are not as dark or bright as can be in either, and
	// over the others: brightening cuts off what would be brighter still.
	var sums [2]moments
	step := at.side / side
	for v := 0; v < side; v += every {
		sy := at.y + (float64(v)+0.5)*step - 0.5
		y0 := min(max(int(math.Floor(sy)), 0), side-2)
		fy := min(max(sy-float64(y0), 0), 1)
		for u := 0; u < side; u += every {
			sx := at.x + (float64(u)+0.5)*step - 0.5
			x0 := min(max(int(math.Floor(sx)), 0), side-2)
			fx := min(max(sx-float64(x0), 0), 1)
			g := of.grey[y0*side+x0:]
			q := (1-fy)*((1-fx)*float64(g[0])+fx*float64(g[1])) +
				fy*((1-fx)*float64(g[side])+fx*float64(g[side+1]))
			p := float64(whole[v*side+u])
			cut := 0
			if min(p, q) < 5 || max(p, q) > 250 {
				cut = 1
			}
			sums[cut].add(p, q)
		}
	}
	if m := &sums[0]; m.n < float64(side*side/(2*every*every)) { // a drawing in black and white
		o := &sums[1]
		*m = moments{m.n + o.n, m.a + o.a, m.b + o.b, m.aa + o.aa, m.bb + o.bb, m.ab + o.ab}
	}
	return sums[0].correlation()
}
