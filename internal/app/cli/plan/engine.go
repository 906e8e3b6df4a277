package plan

import "math"

// engine has the measurements of an engine, with vectors of measuredDim numbers.
type engine struct {
	name, note string
	exact      bool // a search reads all vectors; otherwise it walks through a graph
	// Bytes of an item besides its vector, and of one number of its vector.
	diskRow, memoryRow     Constant
	diskValue, memoryValue float64
	// Seconds of a core for a single search, for one of many parallel searches, and for writing an item,
	// with measuredAt vectors.
	alone, many, fill Constant
	measuredAt        float64
	points            []Point
}

// measuredDim is the length of the vectors in the measurements.
const measuredDim = 128

func (e *engine) constants() []Constant {
	return []Constant{e.diskRow, e.memoryRow, e.alone, e.many, e.fill}
}

func (e *engine) diskBytes(n, dim float64) float64 { return n * (e.diskRow.Value + e.diskValue*dim) }
func (e *engine) memoryBytes(n, dim float64) float64 {
	return n * (e.memoryRow.Value + e.memoryValue*dim)
}

// searchSeconds returns the seconds of a core for a search among n vectors. c is the constant for measuredAt
// vectors.
func (e *engine) searchSeconds(c Constant, n, dim float64) float64 {
	if e.exact {
		return c.Value * n / e.measuredAt * dim / measuredDim
	}
	return c.Value * graphSteps(n) / graphSteps(e.measuredAt) * dim / measuredDim
}

// fillSeconds returns the seconds of a core to write an item to n vectors.
func (e *engine) fillSeconds(n, dim float64) float64 {
	if e.exact {
		return e.fill.Value * dim / measuredDim
	}
	return e.searchSeconds(e.fill, n, dim)
}

// graphSteps is proportional to the length of a walk through a graph of n.
func graphSteps(n float64) float64 { return math.Log2(max(n, 2)) }

// Point is a measurement beside the formula's value for the same size. It has vectors of measuredDim
// numbers.
type Point struct {
	Engine   string  `json:"engine"`
	Vectors  float64 `json:"vectors"`
	What     string  `json:"what"`
	Unit     string  `json:"unit"`
	Measured float64 `json:"measured"`
	Formula  float64 `json:"formula"`
}

// The quantities of a Point.
const (
	diskQuantity   = "disk"
	singleQuantity = "search alone"
	manyQuantity   = "search among 64"
	fillQuantity   = "item written"
)

// compare returns the engine's points with the formula's values.
func (e *engine) compare() []Point {
	var out []Point
	for _, p := range e.points {
		p.Engine = e.name
		switch p.Unit = "ms of a core"; p.What {
		case diskQuantity:
			p.Unit, p.Formula = "bytes an item", e.diskBytes(p.Vectors, measuredDim)/p.Vectors
		case singleQuantity:
			p.Formula = 1000 * e.searchSeconds(e.alone, p.Vectors, measuredDim)
		case manyQuantity:
			p.Formula = 1000 * e.searchSeconds(e.many, p.Vectors, measuredDim)
		case fillQuantity:
			p.Formula = 1000 * e.fillSeconds(p.Vectors, measuredDim)
		}
		out = append(out, p)
	}
	return out
}

// pointsAt returns the four measurements of an engine with n vectors: bytes of an item, and
// milliseconds of a core.
func pointsAt(n, disk, alone, many, fill float64) []Point {
	return []Point{{Vectors: n, What: diskQuantity, Measured: disk},
		{Vectors: n, What: singleQuantity, Measured: alone},
		{Vectors: n, What: manyQuantity, Measured: many}, {Vectors: n, What: fillQuantity, Measured: fill}}
}
