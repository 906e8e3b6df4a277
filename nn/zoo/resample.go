package zoo

import (
	"math"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/nn"
)

// Resample says how a table of position embeddings is resampled to another grid. Its
// text is its name.
type Resample string

const (
	// ResampleTimm is bicubic, with a wider kernel if the grid shrinks, as in timm.
	ResampleTimm Resample = ""
	// ResampleDINO is bicubic from the four nearest positions, by the ratio of sizes
	// that DINO and DINOv2 use: (new + 0.1) / old.
	ResampleDINO Resample = "dino"
	// ResampleTorch is bicubic from the four nearest positions, as PyTorch's interpolate
	// is by default and Hugging Face's networks therefore are.
	ResampleTorch Resample = "torch"
)

func resamples() []Resample { return []Resample{ResampleTimm, ResampleDINO, ResampleTorch} }

// MarshalText returns the name of the method.
func (r Resample) MarshalText() ([]byte, error) {
	return enum.MarshalText("resampling", r, resamples())
}

// UnmarshalText sets the method by name; "" is timm's.
func (r *Resample) UnmarshalText(text []byte) error {
	return enum.UnmarshalText("resampling", r, text, resamples())
}

// grid says what the rows of a table of position embeddings stand for: those of
// tokens, then h x w positions.
type grid struct{ tokens, h, w int }

// gridOf returns the grid of a parameter, or zero if the parameter is not a grid.
func gridOf(p *nn.Param) (g grid) {
	g.tokens, g.h, g.w = p.Grid()
	return g
}

// resamplePositions returns a table for another grid: rows of d values, first
// those of the tokens, which are kept (zeros where the table has none), then those
// of the grid's positions.
func resamplePositions(v []float32, from, to grid, d int, how Resample) []float32 {
	out := make([]float32, (to.tokens+to.h*to.w)*d)
	copy(out[:to.tokens*d], v[:from.tokens*d])
	rows, cols := taps(from.h, to.h, how), taps(from.w, to.w, how)
	in, result := v[from.tokens*d:], out[to.tokens*d:]
	for i, row := range rows {
		for j, col := range cols {
			y := result[(i*to.w+j)*d:][:d]
			for r, a := range row.weights {
				for c, b := range col.weights {
					x := in[(row.at[r]*from.w+col.at[c])*d:][:d]
					w := float32(a * b)
					for k, v := range x {
						y[k] += w * v
					}
				}
			}
		}
	}
	return out
}

// tap is what one position of a resampled axis is made of.
type tap struct {
	at      []int
	weights []float64
}

// taps returns those of an axis of n positions that becomes one of m, as PyTorch's
// interpolate computes them without aligned corners.
func taps(n, m int, how Resample) []tap {
	list := make([]tap, m)
	scale := float64(n) / float64(m)
	for i := range list {
		if how != ResampleTimm {
			ratio := scale
			if how == ResampleDINO {
				ratio = float64(n) / (float64(m) + 0.1)
			}
			x := ratio*(float64(i)+0.5) - 0.5
			first := int(math.Floor(x))
			for k := first - 1; k <= first+2; k++ {
				list[i].at = append(list[i].at, min(max(k, 0), n-1))
				list[i].weights = append(list[i].weights, cubic(x-float64(k), -0.75))
			}
			continue
		}
		wide := max(scale, 1)
		center := scale * (float64(i) + 0.5)
		lo, hi := max(0, int(center-2*wide+0.5)), min(n, int(center+2*wide+0.5))
		var sum float64
		for k := lo; k < hi; k++ {
			w := cubic((float64(k)-center+0.5)/wide, -0.5)
			list[i].at = append(list[i].at, k)
			list[i].weights = append(list[i].weights, w)
			sum += w
		}
		for k := range list[i].weights {
			list[i].weights[k] /= sum
		}
	}
	return list
}

// cubic is the convolution kernel of Keys (1981) with parameter a.
func cubic(x, a float64) float64 {
	switch x = math.Abs(x); {
	case x < 1:
		return ((a+2)*x-(a+3))*x*x + 1
	case x < 2:
		return ((a*x-5*a)*x+8*a)*x - 4*a
	}
	return 0
}
