package onnxnet

import (
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// naive runs a description in float64 with plain loops, for one image. It shares
// nothing with the engine nor with the importer.
type naive struct {
	weights map[string][]float64
	bound   map[string]bool // tensors that were used
}

func newNaive(f *safetensors.File) *naive {
	n := &naive{weights: map[string][]float64{}, bound: map[string]bool{}}
	for i := range f.Tensors {
		v, err := f.Tensors[i].Float32s()
		if err != nil {
			panic(err)
		}
		for _, x := range v {
			n.weights[f.Tensors[i].Name] = append(n.weights[f.Tensors[i].Name], float64(x))
		}
	}
	return n
}

// picture is h x w x c, channels last.
type picture struct {
	h, w, c int
	v       []float64
	flat    bool
}

func newPicture(h, w, c int) picture { return picture{h: h, w: w, c: c, v: make([]float64, h*w*c)} }

func (p picture) pixel(i, j, k int) float64 { return p.v[(i*p.w+j)*p.c+k] }

func (n *naive) tensor(name string) []float64 {
	n.bound[name] = true
	return n.weights[name]
}

func (n *naive) sequence(layers []nn.Layer, prefix string, x picture) picture {
	for i := range layers {
		x = n.layer(&layers[i], prefix, x)
	}
	return x
}

// layer is a table: one case a kind.
//
// Long: a table.
func (n *naive) layer(l *nn.Layer, prefix string, x picture) picture {
	path := prefix + l.Name
	inner := path + "."
	if l.Name == "" {
		inner = prefix
	}
	weight, bias := inner+"weight", inner+"bias"
	eps := l.Eps
	if eps == 0 {
		eps = 1e-5
	}
	gate := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	hard := func(v float64) float64 { return min(max(v+3, 0), 6) / 6 }
	each := func(f func(float64) float64) picture {
		y := newPicture(x.h, x.w, x.c)
		for i, v := range x.v {
			y.v[i] = f(v)
		}
		y.flat = x.flat
		return y
	}
	byChannel := func(f func(v float64, c int) float64) picture {
		y := newPicture(x.h, x.w, x.c)
		for i, v := range x.v {
			y.v[i] = f(v, i%x.c)
		}
		return y
	}
	switch l.Kind {
	case nn.Sequential:
		return n.sequence(l.Layers, inner, x)
	case nn.Residual, nn.Multiply:
		a, b := n.sequence(l.Layers, inner, x), n.sequence(l.Shortcut, inner, x)
		y := newPicture(b.h, b.w, b.c)
		for i := range y.v {
			if l.Kind == nn.Residual {
				y.v[i] = a.v[i] + b.v[i]
			} else if len(a.v) == a.c {
				y.v[i] = a.v[i%a.c] * b.v[i]
			} else {
				y.v[i] = a.v[i] * b.v[i]
			}
		}
		return y
	case nn.Concat:
		var y picture
		for i := range l.Layers {
			b := n.layer(&l.Layers[i], inner, x)
			joined := newPicture(b.h, b.w, y.c+b.c)
			for p := range b.h * b.w {
				copy(joined.v[p*joined.c:], y.v[p*y.c:][:y.c])
				copy(joined.v[p*joined.c+y.c:], b.v[p*b.c:][:b.c])
			}
			y = joined
		}
		return y
	case nn.Channels, nn.Shuffle:
		y := newPicture(x.h, x.w, x.c)
		if l.Kind == nn.Channels {
			y = newPicture(x.h, x.w, l.Out)
		}
		for p := range x.h * x.w {
			for c := range y.c {
				from := l.At + c
				if l.Kind == nn.Shuffle {
					from = c%l.Groups*(x.c/l.Groups) + c/l.Groups
				}
				y.v[p*y.c+c] = x.v[p*x.c+from]
			}
		}
		return y
	case nn.Conv:
		return n.conv(l, weight, bias, x)
	case nn.MaxPool, nn.AvgPool:
		return pooled(l, x)
	case nn.GlobalAvgPool:
		y := newPicture(1, 1, x.c)
		for i := l.At * x.c; i < len(x.v); i++ {
			y.v[i%x.c] += x.v[i] / float64(x.h*x.w-l.At)
		}
		return y
	case nn.GEMPool:
		p := n.tensor(path)[0]
		y := newPicture(1, 1, x.c)
		for i, v := range x.v {
			y.v[i%x.c] += math.Pow(max(v, 1e-6), p) / float64(x.h*x.w)
		}
		for i, v := range y.v {
			y.v[i] = math.Pow(v, 1/p)
		}
		return y
	case nn.Flatten:
		if l.ChannelFirst {
			y := newPicture(1, 1, len(x.v))
			for i, v := range x.v {
				y.v[i%x.c*(len(x.v)/x.c)+i/x.c] = v
			}
			return y
		}
		x.flat = true
		return x
	case nn.Dense, nn.Linear:
		w, b := n.tensor(weight), n.tensor(bias)
		if l.Kind == nn.Dense { // channel first on disk
			y := newPicture(1, 1, l.Out)
			for o := range l.Out {
				if b != nil {
					y.v[o] = b[o]
				}
				for i, v := range x.v {
					y.v[o] += v * w[o*len(x.v)+i%x.c*x.h*x.w+i/x.c]
				}
			}
			return y
		}
		y := newPicture(x.h, x.w, l.Out)
		for i := range y.v {
			o := i % l.Out
			if b != nil {
				y.v[i] = b[o]
			}
			for c := range x.c {
				y.v[i] += x.v[i/l.Out*x.c+c] * w[o*x.c+c]
			}
		}
		return y
	case nn.Attention:
		return attended(l, x)
	case nn.BatchNorm:
		g, b, m, v := n.tensor(weight), n.tensor(bias), n.tensor(inner+"running_mean"), n.tensor(inner+"running_var")
		return byChannel(func(x float64, c int) float64 { return g[c]*(x-m[c])/math.Sqrt(v[c]+eps) + b[c] })
	case nn.LayerNorm:
		g, b := n.tensor(weight), n.tensor(bias)
		y := newPicture(x.h, x.w, x.c)
		for p := range x.h * x.w {
			row := x.v[p*x.c : (p+1)*x.c]
			var mean, square float64
			for _, v := range row {
				mean += v / float64(x.c)
			}
			for _, v := range row {
				square += (v - mean) * (v - mean) / float64(x.c)
			}
			for c, v := range row {
				y.v[p*x.c+c] = g[c]*(v-mean)/math.Sqrt(square+eps) + b[c]
			}
		}
		return y
	case nn.Tokens:
		t := n.tensor(path)
		y := newPicture(1, x.h*x.w+l.Out, x.c)
		copy(y.v, x.v[:l.At*x.c])
		copy(y.v[l.At*x.c:], t)
		copy(y.v[(l.At+l.Out)*x.c:], x.v[l.At*x.c:])
		return y
	case nn.TakeToken:
		return picture{h: 1, w: 1, c: x.c, v: x.v[l.At*x.c : (l.At+1)*x.c]}
	case nn.Positions:
		t := n.tensor(path)
		y := newPicture(x.h, x.w, x.c)
		for i, v := range x.v {
			y.v[i] = v + t[i]
		}
		return y
	case nn.Scale:
		t := n.tensor(path)
		return byChannel(func(v float64, c int) float64 { return v * t[c] })
	case nn.Shift:
		t := n.tensor(path)
		return byChannel(func(v float64, c int) float64 { return v + t[c] })
	case nn.L2Normalize:
		var s float64
		for _, v := range x.v {
			s += v * v
		}
		return each(func(v float64) float64 { return v / math.Sqrt(s) })
	case nn.ReLU:
		return each(func(v float64) float64 { return max(v, 0) })
	case nn.ReLU6:
		return each(func(v float64) float64 { return min(max(v, 0), 6) })
	case nn.SiLU:
		return each(func(v float64) float64 { return v * gate(v) })
	case nn.QuickGELU:
		return each(func(v float64) float64 { return v * gate(1.702*v) })
	case nn.Sigmoid:
		return each(gate)
	case nn.HardSigmoid:
		return each(hard)
	case nn.HardSwish:
		return each(func(v float64) float64 { return v * hard(v) })
	case nn.GELU:
		return each(gelu)
	case nn.GELUTanh:
		return each(geluTanh)
	case nn.Dropout, nn.StochasticDepth:
		return x
	}
	panic(fmt.Sprintf("kind %s", l.Kind))
}

func (n *naive) conv(l *nn.Layer, weight, bias string, x picture) picture {
	w, b := n.tensor(weight), n.tensor(bias)
	groups, stride := max(l.Groups, 1), max(l.Stride, 1)
	if l.Groups == -1 {
		groups = x.c
	}
	wide, side := l.Kernel, l.Pad
	if l.KernelW > 0 {
		wide, side = l.KernelW, l.PadW
	}
	y := newPicture((x.h+2*l.Pad+l.PadEnd-l.Kernel)/stride+1, (x.w+2*side+l.PadEnd-wide)/stride+1, l.Out)
	in, out := x.c/groups, l.Out/groups
	for i := range y.h {
		for j := range y.w {
			for o := range l.Out {
				sum := 0.0
				if b != nil {
					sum = b[o]
				}
				for c := range in {
					for r := range l.Kernel {
						for s := range wide {
							p, q := i*stride-l.Pad+r, j*stride-side+s
							if p >= 0 && p < x.h && q >= 0 && q < x.w {
								sum += w[((o*in+c)*l.Kernel+r)*wide+s] * x.pixel(p, q, o/out*in+c)
							}
						}
					}
				}
				y.v[(i*y.w+j)*y.c+o] = sum
			}
		}
	}
	return y
}

func pooled(l *nn.Layer, x picture) picture {
	stride := l.Stride
	if stride == 0 {
		stride = l.Kernel
	}
	size := func(n int) int { return (n+2*l.Pad+l.PadEnd-l.Kernel)/stride + 1 }
	y := newPicture(size(x.h), size(x.w), x.c)
	for i := range y.h {
		for j := range y.w {
			for c := range x.c {
				sum, most, within := 0.0, math.Inf(-1), 0
				for r := range l.Kernel {
					for s := range l.Kernel {
						p, q := i*stride-l.Pad+r, j*stride-l.Pad+s
						if p >= 0 && p < x.h && q >= 0 && q < x.w {
							within++
							sum += x.pixel(p, q, c)
							most = max(most, x.pixel(p, q, c))
						}
					}
				}
				y.v[(i*y.w+j)*y.c+c] = sum / float64(l.Kernel*l.Kernel)
				if l.NoPad {
					y.v[(i*y.w+j)*y.c+c] = sum / float64(within)
				}
				if l.Kind == nn.MaxPool {
					y.v[(i*y.w+j)*y.c+c] = most
				}
			}
		}
	}
	return y
}

func attended(l *nn.Layer, x picture) picture {
	t, d := x.h*x.w, x.c/3
	heads := max(l.Heads, 1)
	size := d / heads
	y := newPicture(x.h, x.w, d)
	for h := range heads {
		for i := range t {
			weights := make([]float64, t)
			var total float64
			for j := range t {
				if l.Causal && j > i {
					continue
				}
				for k := range size {
					weights[j] += x.v[i*x.c+h*size+k] * x.v[j*x.c+d+h*size+k] / math.Sqrt(float64(size))
				}
				weights[j] = math.Exp(weights[j])
				total += weights[j]
			}
			for j := range t {
				for k := range size {
					y.v[i*d+h*size+k] += weights[j] / total * x.v[j*x.c+2*d+h*size+k]
				}
			}
		}
	}
	return y
}
