package eval

import (
	"fmt"
	"math"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/matrix"
)

// Distance is the distance that orders the gallery for a query.
type Distance int

const (
	// Euclidean orders by ||x - y||, smallest first.
	Euclidean = Distance(exact.Euclidean)
	// Cosine orders by x.y / (||x|| ||y||), largest first. A row of zeros has
	// cosine 0 with everything.
	Cosine = Distance(exact.Cosine)
	// Dot orders by x.y, largest first.
	Dot = Distance(exact.Dot)
)

var distanceNames = enum.New[Distance]("Distance", "distance", "euclidean", "cosine", "dot")

func (d Distance) String() string { return distanceNames.Name(d) }

// Check returns an error if d is not one of the distances.
func (d Distance) Check() error {
	if _, err := d.MarshalText(); err != nil {
		return fmt.Errorf("unknown distance %v: must be %s", d, strings.Join(distanceNames.List, ", "))
	}
	return nil
}

// ParseDistance returns the distance with the given name: euclidean, cosine or
// dot.
func ParseDistance(name string) (Distance, error) { return distanceNames.Parse(name) }

// MarshalText returns the distance's name.
func (d Distance) MarshalText() ([]byte, error) { return distanceNames.Marshal(d) }

// UnmarshalText reads a name.
func (d *Distance) UnmarshalText(text []byte) error { return distanceNames.Unmarshal(d, text) }

// FromValue returns the distance for a Value of Neighbours: the Euclidean distance, 1 - cosine, or minus the
// product. It is smaller for nearer items.
func (d Distance) FromValue(value float64) float64 {
	switch d {
	case Cosine:
		return 1 - value
	case Dot:
		return -value
	}
	return math.Sqrt(max(value, 0))
}

// NormalizeRows returns a copy of x with every row scaled to length 1; rows of
// zeros are left unchanged.
func NormalizeRows(x *matrix.Dense) *matrix.Dense { return exact.Normalized(x) }

// DistanceFunc returns a function that computes the distance of row i of q and row j of g in float64, as
// Distance.FromValue returns it. Equal arguments give equal bits on every machine. The Euclidean distance of
// equal rows is 0. The cosine distance of parallel rows is 0, and never negative. Mathematically equal
// cosine distances agree in at least 20 significant bits, rounded up. The function is safe for
// concurrent use. It panics if the rows differ in length.
func DistanceFunc(q, g *matrix.Dense, d Distance) func(i, j int) float64 {
	if q.Cols != g.Cols {
		panic(fmt.Sprintf("eval: rows of %d and of %d dimensions", q.Cols, g.Cols))
	}
	return exact.Between(q, g, exact.Distance(d))
}
