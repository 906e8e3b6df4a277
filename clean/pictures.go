package clean

import (
	"cmp"
	"context"
	"image"
	"math"
	"math/bits"
	"slices"

	"golang.org/x/image/draw"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/par"
	"github.com/kindred-ml/kindred/mat"
)

// side is that of the reduced pictures that are compared.
const side = 32

// Print is what is kept of a picture to tell copies by: 4 KiB.
type Print struct {
	grey  [side * side]float32 // of the whole picture
	hash  uint64               // which neighbours in a row of a 9 x 8 reduction get brighter
	blank bool                 // all of one grey
}

// NewPrint reduces a picture.
func NewPrint(im image.Image) *Print {
	p := &Print{}
	small := reduce(im, side, side)
	for i, v := range small.Pix {
		p.grey[i] = float32(v)
	}
	bands := reduce(im, 9, 8)
	for y := range 8 {
		for x := range 8 {
			p.hash <<= 1
			if bands.Pix[y*bands.Stride+x+1] > bands.Pix[y*bands.Stride+x] {
				p.hash |= 1
			}
		}
	}
	p.blank = slices.Min(small.Pix) == slices.Max(small.Pix)
	return p
}

func reduce(im image.Image, w, h int) *image.Gray {
	out := image.NewGray(image.Rect(0, 0, w, h))
	draw.BiLinear.Scale(out, out.Bounds(), im, im.Bounds(), draw.Src, nil)
	return out
}

// Copy is two pictures that show the same.
type Copy struct {
	A, B int // A < B
	// Likeness is the correlation of the greys of the two pictures, at most 1; where
	// the whole ones are no copies, the largest of one picture with a part of the other.
	Likeness float64
}

const (
	// alike is the correlation from which pictures are copies of each other.
	alike = 0.97
	// bitsApart is how many of a hash's 64 bits may differ for pictures to be
	// compared.
	bitsApart = 10
	// asked is how many neighbours by embedding every picture is compared with.
	asked = 5
)

// Duplicates finds pictures that are copies of each other, also if one was cut at its
// edges, by up to a fifth of its width and height, compressed again, or made brighter
// or darker. Compared are pictures whose hashes differ little and, if x is not nil,
// neighbours in the embedding x (a row a picture): by the correlation of their greys,
// which brightness and contrast do not change, over all of one picture and the parts
// of the other. Pictures of nil and of one grey are nobody's copies.
//
// Line drawings of the same thing are alike without being copies: of those look at
// the likeness, or give only x = nil. Pairs come in order of their items.
func Duplicates(ctx context.Context, prints []*Print, x *mat.Dense) ([]Copy, error) {
	near, err := neighbours(ctx, prints, x)
	if err != nil {
		return nil, err
	}
	found := make([][]Copy, len(prints))
	err = par.ForContext(ctx, len(prints), 16, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			p := prints[i]
			if p == nil || p.blank {
				continue
			}
			for j := i + 1; j < len(prints); j++ {
				q := prints[j]
				if q == nil || q.blank {
					continue
				}
				_, known := slices.BinarySearch(near[i], j)
				if !known && bits.OnesCount64(p.hash^q.hash) > bitsApart {
					continue
				}
				least := similar
				if known {
					least = apart
				}
				if l := likeness(p, q, least); l >= alike {
					found[i] = append(found[i], Copy{i, j, l})
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}

// neighbours lists for every picture those after it that are near in the embedding.
func neighbours(ctx context.Context, prints []*Print, x *mat.Dense) ([][]int, error) {
	out := make([][]int, len(prints))
	if x == nil || x.Rows < 2 {
		return out, nil
	}
	k := min(asked, x.Rows-1)
	nb, err := rank.Nearest(ctx, x, nil, k, rank.Options{})
	if err != nil {
		return nil, err
	}
	for e, j := range nb.Row {
		a, b := min(e/k, int(j)), max(e/k, int(j))
		out[a] = append(out[a], b)
	}
	for i := range out {
		slices.Sort(out[i])
	}
	return out, nil
}

// window is a square of a print.
type window struct{ x, y, side float64 }

// Correlations of whole pictures below which no part of one is looked for in the other: of
// neighbours in the embedding, and of pictures that only their hashes bring together,
// which are many where pictures are simple.
const (
	apart   = 0.3
	similar = 0.6
)

// promising is the correlation on every other pixel from which the part is looked for in
// smaller steps.
const promising = 0.8

// likeness is the correlation of whole pictures, if it makes them copies or is less than
// least, else the largest of one picture with parts of the other, at least three quarters
// of its sides: first on every
// other pixel for windows on whole ones, then from the best of these in ever smaller steps.
func likeness(p, q *Print, least float64) float64 {
	best := correlation(&p.grey, q, window{0, 0, side}, 1)
	if best < least || best >= alike {
		return best
	}
	for _, of := range [][2]*Print{{p, q}, {q, p}} {
		whole, part := &of[0].grey, of[1]
		at, top := window{0, 0, side}, correlation(&of[0].grey, of[1], window{0, 0, side}, 2)
		for _, s := range []float64{30.5, 29, 27.5, 26, 24.5} {
			for y := 0.0; y <= side-s; y++ {
				for x := 0.0; x <= side-s; x++ {
					if c := correlation(whole, part, window{x, y, s}, 2); c > top {
						at, top = window{x, y, s}, c
					}
				}
			}
		}
		if top < promising {
			continue
		}
		top = correlation(whole, part, at, 1)
		for step := 0.5; step > 0.1; step /= 2 {
			for range 4 {
				was := at
				for _, w := range []window{{at.x - step, at.y, at.side}, {at.x + step, at.y, at.side},
					{at.x, at.y - step, at.side}, {at.x, at.y + step, at.side}, {at.x, at.y, at.side - step},
					{at.x, at.y, at.side + step}, {at.x - step, at.y - step, at.side + step}} {
					if min(w.x, w.y) < 0 || max(w.x, w.y)+w.side > side || w.side < 24 {
						continue
					}
					if c := correlation(whole, part, w, 1); c > top {
						at, top = w, c
					}
				}
				if at == was {
					break
				}
			}
		}
		best = max(best, top)
	}
	return best
}

// correlation compares a whole picture with a window of another, by every so many
// pixels.
func correlation(whole *[side * side]float32, of *Print, at window, every int) float64 {
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
			q := (1-fy)*((1-fx)*float64(g[0])+fx*float64(g[1])) + fy*((1-fx)*float64(g[side])+fx*float64(g[side+1]))
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

// moments are sums over pairs of numbers.
type moments struct{ n, a, b, aa, bb, ab float64 }

func (m *moments) add(p, q float64) {
	m.n++
	m.a, m.b, m.aa, m.bb, m.ab = m.a+p, m.b+q, m.aa+p*p, m.bb+q*q, m.ab+p*q
}

func (m *moments) correlation() float64 {
	va, vb := m.aa-m.a*m.a/m.n, m.bb-m.b*m.b/m.n
	if va <= 0 || vb <= 0 {
		return 0
	}
	return (m.ab - m.a*m.b/m.n) / math.Sqrt(va*vb)
}

// Groups joins copies of copies: each group in ascending order, the first items first.
func Groups(copies []Copy) [][]int {
	root := map[int]int{}
	var find func(i int) int
	find = func(i int) int {
		if r, ok := root[i]; ok && r != i {
			r = find(r)
			root[i] = r
			return r
		}
		root[i] = i
		return i
	}
	for _, c := range copies {
		a, b := find(c.A), find(c.B)
		root[max(a, b)] = min(a, b)
	}
	members := map[int][]int{}
	for i := range root {
		r := find(i)
		members[r] = append(members[r], i)
	}
	var out [][]int
	for _, m := range members {
		slices.Sort(m)
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	return out
}
