package pair

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/enum"
)

// Measure is the value of a pair that a loss reads.
type Measure uint8

// The measures of a pair (a, b).
const (
	Similarity Measure = iota // S = a . b
	Squared                   // D² = |a - b|²
	Euclidean                 // D = |a - b|
)

var measureNames = enum.New[Measure]("Measure", "measure", "similarity", "squared", "euclidean")

func (m Measure) String() string { return measureNames.Name(m) }

// MarshalText returns the measure's name.
func (m Measure) MarshalText() ([]byte, error) { return measureNames.Marshal(m) }

// UnmarshalText reads a name.
func (m *Measure) UnmarshalText(text []byte) error { return measureNames.Unmarshal(m, text) }

// near is the share of |a|² + |b|² below which a squared distance taken from
// the similarity has lost too many digits. Such a pair is computed, and its
// gradient taken, from the difference of its vectors.
const near = 0.005

// SquaredDistance returns |a - b|² in double precision, computed from the
// differences. It panics if the lengths differ.
func SquaredDistance(a, b []float32) float64 {
	if len(a) != len(b) {
		panic("pair: vectors of different length")
	}
	var s float64
	for k, x := range a {
		d := float64(x) - float64(b[k])
		s += d * d
	}
	return s
}

// fromSquared turns a squared distance into m, which must be a distance.
func (m Measure) fromSquared(d2 float64) float32 {
	if m == Euclidean {
		return float32(math.Sqrt(d2))
	}
	return float32(d2)
}
