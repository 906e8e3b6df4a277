package nearest

import (
	"math"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/par"
	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/internal/compute/exact/quantized"
	"github.com/kindred-ml/kindred/internal/kernel/dot16"
)

// Block is the number of rows that are scored together.
const Block = quantized.Block

// Space is where codes of a part live; see the package comment.
type Space struct {
	Distance exact.Distance
	Center   []float64 // of dimension
	Exp      int       // rows are divided by 2^Exp; 0 for Cosine
}

// Codes are the rows of a part, rounded. Only Bytes or Ints take up much room.
type Codes struct {
	Space
	Rows int
	// Bytes or Ints, as Wide says, hold the quantized.Columns; the other is nil.
	Bytes []uint8
	Ints  []int16
	// Scale is the length of a unit of each row, Half the half that is subtracted from its scores, and
	// Slack bounds its coding error and its length, as quantized.Kind.Slack does.
	// All have values for the rows that fill up the last panel.
	Scale, Half, Slack []float32
}

// IsWide reports whether rows of dimension d are coded in 16 bits.
func IsWide(d int) bool { return quantized.StoredKind(d) == quantized.Bits16 }

// Padded is the number of rows that n rows take up in whole panels.
func Padded(n int) int { return quantized.Padded(n) }

// CodeBytes is the size of the codes of n rows of dimension d.
func CodeBytes(n, d int) int { return quantized.StoredKind(d).ColumnBytes(n, d) }

// Blocks is the number of blocks of n rows.
func Blocks(n int) int { return (n + Block - 1) / Block }

// SampleRows is how many rows Fit wants to see.
const SampleRows = 101

// Encode codes rows of dimension d, one after another in x, which must be finite, in
// the space that fits them.
func Encode(distance exact.Distance, x []float32, d int) *Codes {
	n := len(x) / d
	s := FitSpace(distance, d, n, func(r int) []float32 { return x[r*d : (r+1)*d] })
	return s.Encode(x)
}

// Rows at least this long in a space are coded as zeros with a loss as large
// as they are. No query is nearly as long as the longest.
const (
	shortest = 0x1p-100
	longest  = 0x1p60
	farAway  = 0x1p40
)

// Encode codes rows in a space that Fit made for them, or for them and others. The
// same rows give the same codes on any machine.
func (s *Space) Encode(x []float32) *Codes {
	d := len(s.Center)
	n, kind := len(x)/d, quantized.StoredKind(d)
	padded := Padded(n)
	columns := quantized.NewColumns(kind, n, d)
	c := &Codes{Space: *s, Rows: n, Bytes: columns.Bytes, Ints: columns.Ints, Scale: make([]float32, padded),
		Half: make([]float32, padded), Slack: make([]float32, padded)}
	// A block is whole panels, so blocks do not share storage.
	par.For(n, Block, func(lo, hi int) {
		u, coder := make([]float64, d), quantized.NewCoder(kind, d)
		for r := lo; r < hi; r++ {
			norm, half := s.place(u, x[r*d:(r+1)*d])
			code := code(coder, u, norm)
			columns.Put(r, &coder.Row)
			c.Scale[r], c.Half[r], c.Slack[r] = code.Unit, float32(half), kind.Slack(norm, code.Loss)
		}
	})
	for r := n; r < padded; r++ {
		c.Half[r] = float32(math.Inf(1)) // padding scores -Inf
	}
	return c
}

// code codes u, whose length is norm.
func code(c *quantized.Coder, u []float64, norm float64) quantized.Code {
	if norm < shortest || norm >= longest {
		c.Zeros()
		return quantized.Code{Loss: norm}
	}
	return c.Float64(u)
}

// FitSpace chooses the space of n rows of dimension d by SampleRows of them: the center is
// the median of each coordinate, and the scale brings their median length to about 1.
// So a few rows far from all others change neither.
func FitSpace(distance exact.Distance, d, n int, row func(r int) []float32) Space {
	s := Space{Distance: distance, Center: make([]float64, d)}
	m := min(n, SampleRows)
	if m == 0 {
		return s
	}
	sample, u := make([]float64, m*d), make([]float64, d)
	for i := range m {
		s.place(sample[i*d:(i+1)*d], row(i*n/m)) // about zero still
	}
	values := make([]float64, m)
	median := func() float64 {
		slices.Sort(values)
		return values[m/2]
	}
	for j := range d {
		for i := range m {
			values[i] = sample[i*d+j]
		}
		s.Center[j] = median()
	}
	if distance == exact.Cosine {
		return s
	}
	for i := range m {
		s.place(u, row(i*n/m))
		values[i] = math.Sqrt(square(u))
	}
	if length := median(); length > 0 {
		_, s.Exp = math.Frexp(length)
	}
	if distance == exact.Dot {
		for j := range s.Center {
			s.Center[j] = math.Ldexp(s.Center[j], -s.Exp)
		}
	}
	return s
}

// place writes a row's place in the space to u and returns its length, or longest if
// that is less, and its half.
func (s *Space) place(u []float64, x []float32) (norm, half float64) {
	f, scaled := math.Ldexp(1, -s.Exp), 1.0
	switch s.Distance {
	case exact.Euclidean:
		f, scaled = 1, f // x - c is exact more often than multiples of both
	case exact.Cosine:
		f = quantized.InverseNorm(x)
	}
	for j, v := range x {
		u[j] = (float64(float64(v)*f) - s.Center[j]) * scaled
	}
	sum := min(square(u), longest*longest)
	switch {
	case s.Distance == exact.Euclidean: // a row that is nearer than it is gets too large a score
		half = sum / 2
	case sum == longest*longest:
		return longest, math.Inf(-1) // the score is +Inf
	}
	return math.Sqrt(sum), half - roundings*half
}

func square(u []float64) float64 {
	var sum float64
	for _, v := range u {
		sum += float64(v * v)
	}
	return sum
}

// roundings bounds, as a share of products, halves and differences, the error of their rounding
// to float32.
const roundings = 0x1p-20

// Score returns the nearness of a query and a row in float64. A cosine equals that of Search, unless Search
// rounded it a second time, exactly.
func Score(d exact.Distance, x, y []float32) float64 { return score(d, x, y, quantized.InverseNorm(x)) }

// score returns the nearness of two rows in float64, the larger the nearer. It equals that of package eval to the
// bit, except for cosines whose order rounding may have changed, which rank rounds exactly.
func score(d exact.Distance, x, y []float32, xInverse float64) float64 {
	switch d {
	case exact.Euclidean:
		return -dot16.SquaredDistance(x, y)
	case exact.Cosine:
		return dot16.Dot(x, y) * xInverse * quantized.InverseNorm(y)
	}
	return dot16.Dot(x, y)
}
