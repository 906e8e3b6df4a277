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

func (e *engine) diskOf(n, dim float64) float64   { return n * (e.diskRow.Value + e.diskValue*dim) }
func (e *engine) memoryOf(n, dim float64) float64 { return n * (e.memoryRow.Value + e.memoryValue*dim) }

// searchOf returns the seconds of a core for a search among n vectors. c is the constant for measuredAt
// vectors.
func (e *engine) searchOf(c Constant, n, dim float64) float64 {
	if e.exact {
		return c.Value * n / e.measuredAt * dim / measuredDim
	}
	return c.Value * steps(n) / steps(e.measuredAt) * dim / measuredDim
}

// fillOf returns the seconds of a core to write an item to n vectors.
func (e *engine) fillOf(n, dim float64) float64 {
	if e.exact {
		return e.fill.Value * dim / measuredDim
	}
	return e.searchOf(e.fill, n, dim)
}

// steps is proportional to the length of a walk through a graph of n.
func steps(n float64) float64 { return math.Log2(max(n, 2)) }

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
	ofDisk  = "disk"
	ofAlone = "search alone"
	ofMany  = "search among 64"
	ofFill  = "item written"
)

// compare returns the engine's points with the formula's values.
func (e *engine) compare() []Point {
	var out []Point
	for _, p := range e.points {
		p.Engine = e.name
		switch p.Unit = "ms of a core"; p.What {
		case ofDisk:
			p.Unit, p.Formula = "bytes an item", e.diskOf(p.Vectors, measuredDim)/p.Vectors
		case ofAlone:
			p.Formula = 1000 * e.searchOf(e.alone, p.Vectors, measuredDim)
		case ofMany:
			p.Formula = 1000 * e.searchOf(e.many, p.Vectors, measuredDim)
		case ofFill:
			p.Formula = 1000 * e.fillOf(p.Vectors, measuredDim)
		}
		out = append(out, p)
	}
	return out
}

// at returns the four measurements of an engine with n vectors: bytes of an item, and
// milliseconds of a core.
func at(n, disk, alone, many, fill float64) []Point {
	return []Point{{Vectors: n, What: ofDisk, Measured: disk}, {Vectors: n, What: ofAlone, Measured: alone},
		{Vectors: n, What: ofMany, Measured: many}, {Vectors: n, What: ofFill, Measured: fill}}
}
