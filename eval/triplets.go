package eval

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/matrix"
)

// TripletDiagnosis describes how near anchors are to their positives and negatives.
type TripletDiagnosis struct {
	// Anchors is the number of anchors; members of a class of one are not anchors.
	Anchors int `json:"anchors"`
	// EasyPositive, HardPositive, HardNegative and EasyNegative are the similarities of each anchor
	// with its nearest and farthest positive and its nearest and farthest negative. The similarity
	// is the cosine if that is the distance, else 1 - d^2/2, at least -1, with d relative to the
	// spread.
	EasyPositive []float64 `json:"-"`
	HardPositive []float64 `json:"-"`
	HardNegative []float64 `json:"-"`
	EasyNegative []float64 `json:"-"`
	// EasyCorrect is the share of anchors that are nearer to their nearest positive than to any
	// negative. HardCorrect is the same for the farthest positive.
	EasyCorrect float64 `json:"easy_correct"`
	HardCorrect float64 `json:"hard_correct"`
	// Violated is the share of triplets (anchor, any positive, any negative) whose negative is
	// nearer than the positive. Active is the share of triplets with d_ap^2 - d_an^2 + Margin > 0.
	// Both are computed from up to 1000 anchors with up to 200 positives and 2000 negatives each.
	Violated float64 `json:"violated"`
	Active   float64 `json:"active"`
	Margin   float64 `json:"margin"`
	// Hardest is L_HN, the largest d_ap - d_an over all triplets of the anchors, at least 0. Half
	// of it is a lower bound of the change of distances that makes every anchor nearer to its own
	// class than to any other.
	Hardest  float64 `json:"hardest"`
	Isometry float64 `json:"isometric_error_bound"`
	// ClassHardest is the class of the anchor of the hardest triplet.
	ClassHardest int64 `json:"class_hardest"`
}

// extremes holds the squared distances of an anchor to its nearest and farthest positive and negative.
type extremes struct {
	nearPos, farPos, nearNeg, farNeg int
}

const anchorBlock = 64

func (s *sample) measureTriplets(ctx context.Context) (TripletDiagnosis, error) {
	var paired []int
	for i, y := range s.labels {
		if len(s.members[y]) > 1 {
			paired = append(paired, i)
		}
	}
	anchors := s.draw(paired, s.opt.Anchors, 4)
	s.numAnchors = s.x.Rows
	if len(anchors) < len(paired) {
		s.numAnchors = len(anchors)
	}
	found, err := s.findExtremes(ctx, anchors)
	if err != nil {
		return TripletDiagnosis{}, err
	}
	t := TripletDiagnosis{Anchors: len(anchors), Margin: s.opt.Margin}
	easy, hard := 0, 0
	for a, e := range found {
		i := anchors[a]
		d := func(j int) float64 { return dot16.SquaredDistance(s.x.Row(i), s.x.Row(j)) }
		np, fp, nn, fn := d(e.nearPos), d(e.farPos), d(e.nearNeg), d(e.farNeg)
		t.EasyPositive = append(t.EasyPositive, s.similarity(np))
		t.HardPositive = append(t.HardPositive, s.similarity(fp))
		t.HardNegative = append(t.HardNegative, s.similarity(nn))
		t.EasyNegative = append(t.EasyNegative, s.similarity(fn))
		if np < nn {
			easy++
		}
		if fp < nn {
			hard++
		}
		if h := math.Sqrt(fp) - math.Sqrt(nn); h > t.Hardest {
			t.Hardest, t.ClassHardest = h, s.labels[i]
		}
	}
	t.EasyCorrect, t.HardCorrect = float64(easy)/float64(len(anchors)), float64(hard)/float64(len(anchors))
	t.Isometry = t.Hardest / 2
	t.Violated, t.Active, err = s.activeShares(ctx, anchors)
	return t, err
}

// similarity returns the similarity of Triplets for a squared distance.
func (s *sample) similarity(squared float64) float64 {
	if s.opt.Distance == Euclidean {
		squared /= s.spread * s.spread
	}
	return max(1-squared/2, -1)
}

// findExtremes finds the rows that are nearest to and farthest from each anchor in its own class and in
// all others.
func (s *sample) findExtremes(ctx context.Context, anchors []int) ([]extremes, error) {
	x := copyRows(s.x, s.allRows(), s.mean, 1/s.spread)
	half := make([]float32, x.Rows)
	for i := range half {
		half[i] = float32(dot16.Dot(x.Row(i), x.Row(i)) / 2)
	}
	out := make([]extremes, len(anchors))
	rows := matrix.New(anchorBlock, x.Cols)
	products := matrix.New(anchorBlock, x.Rows)
	for lo := 0; lo < len(anchors); lo += anchorBlock {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := min(anchorBlock, len(anchors)-lo)
		for r := range n {
			copy(rows.Row(r), x.Row(anchors[lo+r]))
		}
		p := products.RowRange(0, n)
		matrix.Gemm(false, true, 1, rows.RowRange(0, n), x, 0, p)
		par.For(n, 4, func(a, b int) {
			for r := a; r < b; r++ {
				out[lo+r] = s.extremesOf(anchors[lo+r], p.Row(r), half)
			}
		})
	}
	return out, nil
}

// extremesOf scans a row of products. product - half is larger for nearer rows.
func (s *sample) extremesOf(anchor int, products, half []float32) extremes {
	e := extremes{-1, -1, -1, -1}
	var nearPos, farPos, nearNeg, farNeg float32
	own := s.labels[anchor]
	for j, p := range products {
		v := p - half[j]
		if s.labels[j] != own {
			if e.nearNeg < 0 || v > nearNeg {
				e.nearNeg, nearNeg = j, v
			}
			if e.farNeg < 0 || v < farNeg {
				e.farNeg, farNeg = j, v
			}
			continue
		}
		if j == anchor {
			continue
		}
		if e.nearPos < 0 || v > nearPos {
			e.nearPos, nearPos = j, v
		}
		if e.farPos < 0 || v < farPos {
			e.farPos, farPos = j, v
		}
	}
	return e
}

// Limits of the triplets that are counted.
const (
	activeAnchors   = 1000
	activePositives = 200
	activeNegatives = 2000
)

// activeShares returns the shares of violated and active triplets.
func (s *sample) activeShares(ctx context.Context, anchors []int) (violated, activeShares float64, err error) {
	anchors = s.draw(anchors, activeAnchors, 5)
	counts := make([][3]float64, len(anchors))
	err = par.ForContext(ctx, len(anchors), 16, func(lo, hi int) {
		for a := lo; a < hi; a++ {
			counts[a] = s.countActive(anchors[a])
		}
	})
	var total [3]float64
	for _, c := range counts {
		for k, v := range c {
			total[k] += v
		}
	}
	if total[2] == 0 { // all drawn negatives are of the anchor's class
		return 0, 0, err
	}
	return total[0] / total[2], total[1] / total[2], err
}

// countActive returns the numbers of violated, active and all triplets of an anchor.
func (s *sample) countActive(anchor int) (counts [3]float64) {
	own := s.labels[anchor]
	var positives []float64
	for _, j := range s.draw(s.members[own], activePositives+1, uint64(anchor)<<8|6) {
		if j != anchor && len(positives) < activePositives {
			positives = append(positives, dot16.SquaredDistance(s.x.Row(anchor), s.x.Row(j)))
		}
	}
	slices.Sort(positives)
	above := func(limit float64) float64 {
		return float64(len(positives) - sort.Search(len(positives), func(k int) bool { return positives[k] > limit }))
	}
	negative := func(j int) {
		if s.labels[j] == own {
			return
		}
		d := dot16.SquaredDistance(s.x.Row(anchor), s.x.Row(j))
		counts[0] += above(d)
		counts[1] += above(d - s.opt.Margin)
		counts[2] += float64(len(positives))
	}
	if s.x.Rows <= activeNegatives {
		for j := range s.x.Rows {
			negative(j)
		}
		return counts
	}
	rng := rand.New(rand.NewPCG(s.opt.Seed, uint64(anchor)<<8|7))
	for range activeNegatives {
		negative(rng.IntN(s.x.Rows))
	}
	return counts
}
