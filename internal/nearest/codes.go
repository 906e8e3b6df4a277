package nearest

import (
	"iter"
	"math"

	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
	"github.com/kindred-ml/kindred/internal/par"
)

// Block is the number of rows that are scored together: whole panels of the kernel.
const Block = 448

// Space is where approximate scores of a part live; see the package comment.
type Space struct {
	Distance rank.Distance
	Mean     []float64 // of dimension, zeros but for Euclidean
	Exp      int       // rows are divided by 2^Exp; 0 for Cosine
}

// Extent holds the largest values of a block's rows.
type Extent struct {
	Norm float64 // length in the space
	Loss float64 // length of what rounding took
	Half float64
}

// Codes are the rows of a part, rounded. Only Ints takes up much room.
type Codes struct {
	Space
	Rows int
	// Ints holds panels of dot16.ColPanel rows; Scale, the length of a unit, and
	// Half belong to the same rows, those that fill up the last panel included.
	Ints        []int16
	Scale, Half []float32
	Extents     []Extent // one for each block
}

// Padded is the number of rows that n rows take up in whole panels.
func Padded(n int) int { return (n + dot16.ColPanel - 1) / dot16.ColPanel * dot16.ColPanel }

// Blocks is the number of blocks of n rows.
func Blocks(n int) int { return (n + Block - 1) / Block }

// Encode codes rows of dimension d, one after another in x, which must be finite, in
// the space that fits them.
func Encode(distance rank.Distance, x []float32, d int) *Codes {
	s := Fit(distance, d, func(yield func([]float32) bool) { yield(x) })
	return s.Encode(x)
}

// Encode codes rows in a space that Fit made for them, or for them and others. The
// same rows give the same codes on any machine.
func (s *Space) Encode(x []float32) *Codes {
	d := len(s.Mean)
	n := len(x) / d
	c := &Codes{Space: *s, Rows: n, Ints: make([]int16, dot16.PackedLen(n, d, dot16.ColPanel)),
		Scale: make([]float32, Padded(n)), Half: make([]float32, Padded(n)), Extents: make([]Extent, Blocks(n))}
	// A block is whole panels, so blocks do not share storage.
	par.For(n, Block, func(lo, hi int) {
		u, q := make([]float64, d), make([]int16, d)
		e := &c.Extents[lo/Block]
		for r := lo; r < hi; r++ {
			norm, half := c.place(u, x[r*d:(r+1)*d])
			unit, loss := dot16.Quantize(q, u)
			dot16.Pack(c.Ints, dot16.ColPanel, r, q)
			c.Scale[r], c.Half[r] = float32(unit), float32(half)
			*e = Extent{max(e.Norm, norm), max(e.Loss, loss), max(e.Half, half)}
		}
	})
	for r := n; r < len(c.Half); r++ {
		c.Half[r] = float32(math.Inf(1)) // what fills up scores -Inf
	}
	return c
}

// Fit chooses the space of rows of dimension d, which chunks yields, twice.
func Fit(distance rank.Distance, d int, chunks iter.Seq[[]float32]) Space {
	s := Space{Distance: distance, Mean: make([]float64, d)}
	if distance == rank.Cosine {
		return s
	}
	if distance == rank.Euclidean {
		n := 0
		for x := range chunks {
			n += len(x) / d
			for _, sum := range overRows(x, d, func(sum []float64, row []float32) {
				for j, v := range row {
					sum[j] += float64(v)
				}
			}) {
				for j, v := range sum {
					s.Mean[j] += v
				}
			}
		}
		for j := range s.Mean {
			s.Mean[j] /= float64(max(n, 1))
		}
	}
	var longest float64
	for x := range chunks {
		for _, part := range overRows(x, d, func(part []float64, row []float32) {
			var sum float64
			for j, v := range row {
				e := float64(v) - s.Mean[j]
				sum += e * e
			}
			part[0] = max(part[0], sum)
		}) {
			longest = max(longest, part[0])
		}
	}
	if longest > 0 {
		_, s.Exp = math.Frexp(math.Sqrt(longest))
	}
	return s
}

// overRows runs f on all rows, on d values for every thousand or so of them.
func overRows(x []float32, d int, f func(part []float64, row []float32)) [][]float64 {
	const grain = 1024
	n := len(x) / d
	parts := make([][]float64, (n+grain-1)/grain)
	par.For(n, grain, func(lo, hi int) {
		part := make([]float64, d)
		for r := lo; r < hi; r++ {
			f(part, x[r*d:(r+1)*d])
		}
		parts[lo/grain] = part
	})
	return parts
}

// place writes a row's place in the space to u and returns its length and half.
func (s *Space) place(u []float64, x []float32) (norm, half float64) {
	f := math.Ldexp(1, -s.Exp)
	if s.Distance == rank.Cosine {
		f = inverseNorm(x)
	}
	var sum float64
	for j, v := range x {
		u[j] = (float64(v) - s.Mean[j]) * f
		sum += float64(u[j] * u[j])
	}
	if s.Distance == rank.Euclidean {
		half = sum / 2
	}
	return math.Sqrt(sum), half
}

// unit is the factor that brings exact scores into the space.
func (s *Space) unit() float64 {
	switch s.Distance {
	case rank.Euclidean:
		return math.Ldexp(1, -2*s.Exp-1)
	case rank.Cosine:
		return 1
	}
	return math.Ldexp(1, -2*s.Exp)
}

// inverseNorm is 1/||x||, 0 for a row of zeros, as package rank has it.
func inverseNorm(x []float32) float64 {
	if n := dot16.Dot(x, x); n > 0 {
		return 1 / math.Sqrt(n)
	}
	return 0
}

// Score is the exact nearness of a query and a row.
func Score(d rank.Distance, x, y []float32) float64 { return score(d, x, y, inverseNorm(x)) }

// score is the exact nearness of two rows, the larger the nearer: that of package
// rank, to the bit.
func score(d rank.Distance, x, y []float32, xInverse float64) float64 {
	switch d {
	case rank.Euclidean:
		return -dot16.SquaredDistance(x, y)
	case rank.Cosine:
		return dot16.Dot(x, y) * xInverse * inverseNorm(y)
	}
	return dot16.Dot(x, y)
}
