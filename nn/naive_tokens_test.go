package nn_test

import (
	"math"
	"math/cmplx"

	"github.com/kindred-ml/kindred/nn"
)

// sequenceLayer runs the layers of transformers by their definitions. Position p
// of an image is value p of each channel.
func (r *naive) sequenceLayer(l nn.Layer, prefix string, w, b, own []float64, x *image) (y image, ok bool) {
	t := x.h * x.w
	switch l.Kind {
	case nn.Linear:
		y = newImage(l.Out, x.h, x.w)
		for k := range l.Out {
			for p := range t {
				if b != nil && !(l.NoKeyBias && k/(l.Out/3) == 1) {
					y.v[k*t+p] = b[k]
				}
				for c := range x.c {
					y.v[k*t+p] += w[k*x.c+c] * x.v[c*t+p]
				}
				for i := range l.Rank {
					for c := range x.c {
						y.v[k*t+p] += l.Alpha / float64(l.Rank) * r.weights[prefix+"lora_B.weight"][k*l.Rank+i] *
							r.weights[prefix+"lora_A.weight"][i*x.c+c] * x.v[c*t+p]
					}
				}
			}
		}
	case nn.LayerNorm:
		y = newImage(x.c, x.h, x.w)
		eps := l.Eps
		if eps == 0 {
			eps = 1e-5
		}
		for p := range t {
			var mean, variance float64
			for c := range x.c {
				mean += x.v[c*t+p] / float64(x.c)
			}
			for c := range x.c {
				variance += (x.v[c*t+p] - mean) * (x.v[c*t+p] - mean) / float64(x.c)
			}
			for c := range x.c {
				y.v[c*t+p] = (x.v[c*t+p]-mean)/math.Sqrt(variance+eps)*w[c] + b[c]
			}
		}
	case nn.AttentionPool:
		y = poolOf(max(l.Heads, 1), x, r.weights[prefix+"latent"], r.weights[prefix+"q.weight"],
			r.weights[prefix+"q.bias"])
	case nn.Rotary:
		y = rotated(l, x)
	case nn.Attention:
		y = attentionOf(max(l.Heads, 1), l.Causal, x)
	case nn.Tokens:
		y = newImage(x.c, 1, t+l.Out)
		for c := range x.c {
			row := y.v[c*(t+l.Out):]
			copy(row, x.v[c*t:c*t+l.At])
			for i := range l.Out {
				row[l.At+i] = own[i*x.c+c]
			}
			copy(row[l.At+l.Out:], x.v[c*t+l.At:(c+1)*t])
		}
	case nn.TakeToken:
		y = newImage(x.c, 1, 1)
		for c := range x.c {
			y.v[c] = x.v[c*t+l.At]
		}
	case nn.Positions:
		y = newImage(x.c, x.h, x.w)
		for i, v := range x.v {
			y.v[i] = v + own[i%t*x.c+i/t]
		}
	default:
		return image{}, false
	}
	return y, true
}

// poolOf attends to the keys, the first half of x's channels, with the query w latent + b,
// and sums the values.
func poolOf(heads int, x *image, latent, w, b []float64) image {
	t, d := x.h*x.w, x.c/2
	y := newImage(d, 1, 1)
	for h := range heads {
		weights, sum := make([]float64, t), 0.0
		for p := range t {
			for c := h * d / heads; c < (h+1)*d/heads; c++ {
				query := b[c]
				for k, v := range latent {
					query += w[c*d+k] * v
				}
				weights[p] += query * x.v[c*t+p] / math.Sqrt(float64(d/heads))
			}
			weights[p] = math.Exp(weights[p])
			sum += weights[p]
		}
		for p, weight := range weights {
			for c := h * d / heads; c < (h+1)*d/heads; c++ {
				y.v[c] += weight / sum * x.v[(d+c)*t+p]
			}
		}
	}
	return y
}

// rotated turns the two halves of each head of queries and keys as complex numbers.
func rotated(l nn.Layer, x *image) image {
	t, heads := x.h*x.w, max(l.Heads, 1)
	y, grid := newImage(x.c, x.h, x.w), x.grid
	copy(y.v, x.v)
	if grid[0] == 0 {
		grid[1], grid[2] = x.h, x.w
	}
	base := l.Base
	if base == 0 {
		base = 100
	}
	d := x.c / 3 / heads
	for p := grid[0]; p < t; p++ {
		at := p - grid[0]
		row := 2*(float64(at/grid[2])+0.5)/float64(grid[1]) - 1
		col := 2*(float64(at%grid[2])+0.5)/float64(grid[2]) - 1
		for h := range 2 * heads {
			for i := range d / 2 {
				pos, k := row, i
				if i >= d/4 {
					pos, k = col, i-d/4
				}
				turn := cmplx.Rect(1, 2*math.Pi*pos*math.Pow(base, -4*float64(k)/float64(d)))
				a, b := (h*d+i)*t+p, (h*d+i+d/2)*t+p
				z := complex(x.v[a], x.v[b]) * turn
				y.v[a], y.v[b] = real(z), imag(z)
			}
		}
	}
	return y
}

func attentionOf(heads int, causal bool, x *image) image {
	t, width := x.h*x.w, x.c/3
	dim := width / heads
	y := newImage(width, x.h, x.w)
	for h := range heads {
		at := func(which, c, p int) float64 { return x.v[(which*width+h*dim+c)*t+p] }
		for i := range t {
			seen := t
			if causal {
				seen = i + 1
			}
			weights, sum := make([]float64, seen), 0.0
			for j := range weights {
				for c := range dim {
					weights[j] += at(0, c, i) * at(1, c, j) / math.Sqrt(float64(dim))
				}
				weights[j] = math.Exp(weights[j])
				sum += weights[j]
			}
			for j, p := range weights {
				for c := range dim {
					y.v[(h*dim+c)*t+i] += p / sum * at(2, c, j)
				}
			}
		}
	}
	return y
}
