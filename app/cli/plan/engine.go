package plan

import "math"

// engine is what was measured of one, with vectors of measuredDim numbers.
type engine struct {
	name, note string
	exact      bool // a search reads everything; otherwise it walks through a graph
	// What an item takes beside its numbers, in bytes, and a number of its vector.
	diskRow, memoryRow     Constant
	diskValue, memoryValue float64
	// Seconds of a core: a search alone, one among many, and an item written, with
	// measuredAt vectors.
	alone, many, fill Constant
	measuredAt        float64
	points            []Point
}

// measuredDim is how many numbers the vectors had with which engines were measured.
const measuredDim = 128

func (e *engine) constants() []Constant {
	return []Constant{e.diskRow, e.memoryRow, e.alone, e.many, e.fill}
}

func (e *engine) diskOf(n, dim float64) float64   { return n * (e.diskRow.Value + e.diskValue*dim) }
func (e *engine) memoryOf(n, dim float64) float64 { return n * (e.memoryRow.Value + e.memoryValue*dim) }

// searchOf is the seconds of a core that a search of n vectors takes, by c, which is what
// one of measuredAt takes.
func (e *engine) searchOf(c Constant, n, dim float64) float64 {
	if e.exact {
		return c.Value * n / e.measuredAt * dim / measuredDim
	}
	return c.Value * steps(n) / steps(e.measuredAt) * dim / measuredDim
}

// fillOf is the seconds of a core to write an item to n.
func (e *engine) fillOf(n, dim float64) float64 {
	if e.exact {
		return e.fill.Value * dim / measuredDim
	}
	return e.searchOf(e.fill, n, dim)
}

// steps is how long a walk through a graph of n is, but for a factor.
func steps(n float64) float64 { return math.Log2(max(n, 2)) }

// Point is a measurement beside what the formula says there. It has vectors of measuredDim
// numbers.
type Point struct {
	Engine   string  `json:"engine"`
	Vectors  float64 `json:"vectors"`
	What     string  `json:"what"`
	Unit     string  `json:"unit"`
	Measured float64 `json:"measured"`
	Formula  float64 `json:"formula"`
}

// What a Point can be of.
const (
	ofDisk  = "disk"
	ofAlone = "search alone"
	ofMany  = "search among 64"
	ofFill  = "item written"
)

// compare fills in what the formula says at the engine's points.
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

// at are the four measurements of an engine with n vectors: bytes an item, and
// milliseconds of a core.
func at(n, disk, alone, many, fill float64) []Point {
	return []Point{{Vectors: n, What: ofDisk, Measured: disk}, {Vectors: n, What: ofAlone, Measured: alone},
		{Vectors: n, What: ofMany, Measured: many}, {Vectors: n, What: ofFill, Measured: fill}}
}
