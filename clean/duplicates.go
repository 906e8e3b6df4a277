package clean

import (
	"cmp"
	"context"
	"fmt"
	"image"
	"slices"
	"sync/atomic"

	"golang.org/x/image/draw"

	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/matrix"
)

// side is the side of the reduced pictures that are compared.
const side = 32

// Fingerprint is a fingerprint of a picture, to recognise copies: 1 KiB.
type Fingerprint struct {
	grey [side * side]uint8 // greys of the whole picture
	// a bit for each pair of neighbours in the rows of a 9 x 8 reduction: brighter to the right
	hash       uint64
	isBlank    bool      // whether all greys are equal
	allPixels  pixelSums // sums over all pixels
	halfPixels pixelSums // sums over every other pixel in both directions
}

// pixelSums holds sums over pixels.
type pixelSums struct {
	sum, squares int
	greys        int // number of pixels that are neither black nor white
}

// NewFingerprint reduces a picture.
func NewFingerprint(im image.Image) *Fingerprint {
	p := &Fingerprint{}
	small := reduce(im, side, side)
	copy(p.grey[:], small.Pix)
	for i, v := range p.grey {
		p.allPixels.add(v)
		if i%2 == 0 && i/side%2 == 0 {
			p.halfPixels.add(v)
		}
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
	p.isBlank = slices.Min(small.Pix) == slices.Max(small.Pix)
	return p
}

// IsBlank reports whether the picture, at 32 x 32 pixels, is of one grey.
func (p *Fingerprint) IsBlank() bool { return p.isBlank }

func (t *pixelSums) add(v uint8) {
	t.sum += int(v)
	t.squares += int(v) * int(v)
	if v >= darkestGrey && v <= brightestGrey {
		t.greys++
	}
}

func reduce(im image.Image, w, h int) *image.Gray {
	out := image.NewGray(image.Rect(0, 0, w, h))
	draw.BiLinear.Scale(out, out.Bounds(), im, im.Bounds(), draw.Src, nil)
	return out
}

// Copy is a pair of pictures that show the same.
type Copy struct {
	A, B int // A < B
	// Likeness is the correlation of the greys of the two pictures, at most 1. If the whole pictures
	// are not copies, it is the largest correlation of one picture with a part of the other.
	Likeness float64
}

const (
	// minCopyCorrelation is the correlation from which pictures are copies of each other.
	minCopyCorrelation = 0.97
	// maxHashBits is the largest number of different bits of the 64-bit hashes of compared pictures.
	maxHashBits = 10
	// comparedNeighbours is the number of neighbours in the embedding with which every picture is compared.
	comparedNeighbours = 5
	// maxListedCopies is the largest number of listed copies before a picture, and after it.
	maxListedCopies = 50
)

// DuplicateOptions adjusts Duplicates.
type DuplicateOptions struct {
	// X is an embedding, a row for each picture, whose neighbours are compared too; nil without one.
	X *matrix.Dense
	// WholeOnly leaves parts of pictures alone: copies that were cropped are not found. That is much faster.
	WholeOnly bool
	// Progress, if not nil, is called with the number of pictures that have been compared with all others.
	// Several goroutines may call it at a time.
	Progress func(done, total int)
}

// FindDuplicates finds pictures that are copies of each other, even if one was cropped at its edges by up to a
// fifth of its width and height, compressed again, or made brighter or darker. It compares pictures whose
// hashes differ little, and neighbours in an embedding. The measures are the correlation of the greys of one picture
// with the whole or a part of the other, which does not depend on brightness and contrast, and that of their details:
// other shots of a thing have other details. Pictures that are nil or of one grey are never copies.
//
// Pictures with equal prints are listed as copies of the first of them, and only the first is compared with
// others. Of the inexact copies of a picture, the 50 most alike before it and the 50 most alike after it are
// listed. So n copies of a picture do not give n (n - 1) / 2 pairs, and Groups still finds all.
//
// Line drawings of the same thing are alike without being copies: check Likeness, or give no embedding. Pairs are
// in the order of their items.
func FindDuplicates(ctx context.Context, prints []*Fingerprint, opt DuplicateOptions) ([]Copy, error) {
	known, err := neighbours(ctx, prints, opt.X)
	if err != nil {
		return nil, err
	}
	f, found := newCopyFinder(prints, known)
	f.wholeOnly = opt.WholeOnly
	lists := make([][]Copy, len(f.prints))
	var done atomic.Int64
	const grain = 16
	err = par.ForContext(ctx, len(f.prints), grain, func(lo, hi int) {
		w := f.newWorker()
		for i := lo; i < hi; i++ {
			lists[i] = w.findCopies(i)
		}
		if n := done.Add(int64(hi - lo)); opt.Progress != nil {
			opt.Progress(int(n), len(f.prints))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("comparing pictures: %w", err)
	}
	found = append(found, slices.Concat(lists...)...)
	// A pair may be found from both sides. Keep the larger likeness.
	slices.SortFunc(found, func(p, q Copy) int {
		return cmp.Or(cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B), cmp.Compare(q.Likeness, p.Likeness))
	})
	return slices.CompactFunc(found, func(p, q Copy) bool { return p.A == q.A && p.B == q.B }), nil
}

// neighbours returns every picture's neighbours in the embedding.
func neighbours(ctx context.Context, prints []*Fingerprint, x *matrix.Dense) ([][]int, error) {
	out := make([][]int, len(prints))
	if x == nil || x.Rows < 2 {
		return out, nil
	}
	k := min(comparedNeighbours, x.Rows-1)
	nb, err := eval.Nearest(ctx, x, nil, k, eval.RankOptions{})
	if err != nil {
		return nil, err
	}
	for e, j := range nb.Row {
		out[e/k] = append(out[e/k], int(j))
		out[j] = append(out[j], e/k)
	}
	return out, nil
}

// GroupCopies joins copies of copies. Each group is in ascending order, and groups are in the
// order of their first items.
func GroupCopies(copies []Copy) [][]int {
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
