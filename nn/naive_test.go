package nn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/nn"
)

// naive runs a description by the definitions of its layers: float64, loops over
// single values, images as [channel][row][column], weights as PyTorch lays them
// out. It shares no code with the engine.
type naive struct {
	weights  map[string][]float64
	training bool
}

// image is one activation; vectors are n x 1 x 1.
type image struct {
	c, h, w int
	v       []float64
	grid    [3]int // of a sequence: tokens before the positions of an image of h x w
}

func (m *image) pixel(c, h, w int) float64 {
	if h < 0 || w < 0 || h >= m.h || w >= m.w {
		return 0
	}
	return m.v[(c*m.h+h)*m.w+w]
}

func newImage(c, h, w int) image { return image{c: c, h: h, w: w, v: make([]float64, c*h*w)} }

func newNaive(net *nn.Net, training bool) *naive {
	r := &naive{weights: map[string][]float64{}, training: training}
	for _, t := range net.State().Tensors {
		v, err := t.Float32s()
		if err != nil {
			panic(err)
		}
		for _, x := range v {
			r.weights[t.Name] = append(r.weights[t.Name], float64(x))
		}
	}
	return r
}

func (r *naive) sequence(layers []nn.Layer, prefix string, batch []image) []image {
	for _, l := range layers {
		batch = r.layer(l, prefix, batch)
	}
	return batch
}

func (r *naive) layer(l nn.Layer, prefix string, batch []image) []image {
	if l.Name != "" {
		prefix += l.Name + "."
	}
	switch l.Kind {
	case nn.Sequential:
		return r.sequence(l.Layers, prefix, batch)
	case nn.Residual:
		a, b := r.sequence(l.Layers, prefix, batch), r.sequence(l.Shortcut, prefix, batch)
		out := make([]image, len(a))
		for i := range a {
			out[i] = newImage(a[i].c, a[i].h, a[i].w)
			out[i].grid = b[i].grid
			for j := range out[i].v {
				out[i].v[j] = a[i].v[j] + b[i].v[j]
			}
		}
		return out
	case nn.Multiply:
		a, b := r.sequence(l.Layers, prefix, batch), r.sequence(l.Shortcut, prefix, batch)
		out := make([]image, len(a))
		for i := range a {
			out[i] = newImage(b[i].c, b[i].h, b[i].w)
			for j := range out[i].v {
				out[i].v[j] = a[i].v[j*len(a[i].v)/len(b[i].v)] * b[i].v[j]
			}
		}
		return out
	case nn.Concat:
		return r.concat(l, prefix, batch)
	case nn.BatchNorm:
		return r.norm(l, prefix, batch)
	}
	out := make([]image, len(batch))
	for i := range batch {
		x := &batch[i]
		out[i] = r.single(l, prefix, x)
		if out[i].grid = x.grid; l.Kind == nn.Tokens {
			if x.grid[0] == 0 {
				out[i].grid = [3]int{0, x.h, x.w}
			}
			out[i].grid[0] += l.Out
		}
	}
	return out
}

// concat puts the branches' channels one after the other.
func (r *naive) concat(l nn.Layer, prefix string, batch []image) []image {
	out := make([]image, len(batch))
	for _, branch := range l.Layers {
		for i, y := range r.sequence([]nn.Layer{branch}, prefix, batch) {
			o := &out[i]
			o.c, o.h, o.w, o.v = o.c+y.c, y.h, y.w, append(o.v, y.v...)
		}
	}
	return out
}

// single is one layer without branches.
//
// Long: one case for each kind of layer.
func (r *naive) single(l nn.Layer, prefix string, x *image) image {
	w, b := r.weights[prefix+"weight"], r.weights[prefix+"bias"]
	stride := l.Stride
	if stride == 0 {
		stride = l.Kernel
		if l.Kind == nn.Conv {
			stride = 1
		}
	}
	positions := func(n int) int { return (n+2*l.Pad+l.PadEnd-l.Kernel)/stride + 1 }
	kernelW, padW := l.Kernel, l.Pad
	if l.KernelW > 0 {
		kernelW, padW = l.KernelW, l.PadW
	}
	own := r.weights[strings.TrimSuffix(prefix, ".")]
	switch l.Kind {
	case nn.Conv:
		groups := max(l.Groups, 1)
		if l.Groups == -1 {
			groups = x.c
		}
		cg, kg := x.c/groups, l.Out/groups
		y := newImage(l.Out, positions(x.h), (x.w+2*padW+l.PadEnd-kernelW)/stride+1)
		for k := range y.c {
			for p := range y.h {
				for q := range y.w {
					var sum float64
					if b != nil {
						sum = b[k]
					}
					for c := range cg {
						for i := range l.Kernel {
							for j := range kernelW {
								sum += w[((k*cg+c)*l.Kernel+i)*kernelW+j] * x.pixel(k/kg*cg+c, p*stride+i-l.Pad,
									q*stride+j-padW)
							}
						}
					}
					y.v[(k*y.h+p)*y.w+q] = sum
				}
			}
		}
		return y
	case nn.Dense:
		y := newImage(l.Out, 1, 1)
		for k := range y.v {
			if b != nil {
				y.v[k] = b[k]
			}
			for i, v := range x.v {
				y.v[k] += w[k*len(x.v)+i] * v
			}
		}
		return y
	case nn.MaxPool, nn.AvgPool:
		y := newImage(x.c, positions(x.h), positions(x.w))
		for c := range y.c {
			for p := range y.h {
				for q := range y.w {
					best, sum, within := math.Inf(-1), 0.0, 0
					for i := range l.Kernel {
						for j := range l.Kernel {
							h, w := p*stride+i-l.Pad, q*stride+j-l.Pad
							sum += x.pixel(c, h, w)
							if h >= 0 && w >= 0 && h < x.h && w < x.w {
								best = max(best, x.pixel(c, h, w))
								within++
							}
						}
					}
					if l.Kind == nn.AvgPool {
						if best = sum / float64(l.Kernel*l.Kernel); l.NoPad {
							best = sum / float64(within)
						}
					}
					y.v[(c*y.h+p)*y.w+q] = best
				}
			}
		}
		return y
	case nn.Channels:
		return image{c: l.Out, h: x.h, w: x.w, v: x.v[l.At*x.h*x.w : (l.At+l.Out)*x.h*x.w]}
	case nn.Shuffle: // group after group becomes one of each group after the other
		y := image{c: x.c, h: x.h, w: x.w}
		for i := range x.c / l.Groups {
			for g := range l.Groups {
				at := (g*(x.c/l.Groups) + i) * x.h * x.w
				y.v = append(y.v, x.v[at:at+x.h*x.w]...)
			}
		}
		return y
	case nn.GlobalAvgPool:
		y := newImage(x.c, 1, 1)
		for i, v := range x.v {
			if i%(x.h*x.w) >= l.At {
				y.v[i/(x.h*x.w)] += v / float64(x.h*x.w-l.At)
			}
		}
		return y
	case nn.GEMPool:
		y := newImage(x.c, 1, 1)
		for i, v := range x.v {
			y.v[i/(x.h*x.w)] += math.Pow(max(v, 1e-6), own[0]) / float64(x.h*x.w)
		}
		for i, v := range y.v {
			y.v[i] = math.Pow(v, 1/own[0])
		}
		return y
	}
	if y, ok := r.sequenceLayer(l, prefix, w, b, own, x); ok {
		return y
	}
	y := newImage(x.c, x.h, x.w)
	if l.Kind == nn.Flatten {
		y = newImage(len(x.v), 1, 1)
	}
	var square float64
	for _, v := range x.v {
		square += v * v
	}
	for i, v := range x.v {
		switch l.Kind {
		case nn.ReLU:
			v = max(v, 0)
		case nn.ReLU6:
			v = min(max(v, 0), 6)
		case nn.SiLU:
			v /= 1 + math.Exp(-v)
		case nn.HardSwish:
			v *= min(max(v+3, 0), 6) / 6
		case nn.Sigmoid:
			v = 1 / (1 + math.Exp(-v))
		case nn.HardSigmoid:
			v = min(max(v+3, 0), 6) / 6
		case nn.GELU:
			v *= (1 + math.Erf(v/math.Sqrt2)) / 2
		case nn.GELUTanh:
			v *= (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v))) / 2
		case nn.QuickGELU:
			v /= 1 + math.Exp(-1.702*v)
		case nn.Scale:
			v *= own[i/(x.h*x.w)%len(own)]
		case nn.Shift:
			v += own[i/(x.h*x.w)%len(own)]
		case nn.L2Normalize:
			v /= max(math.Sqrt(square), 1e-12)
		}
		y.v[i] = v
	}
	return y
}

func (r *naive) norm(l nn.Layer, prefix string, batch []image) []image {
	out := make([]image, len(batch))
	for i, x := range batch {
		out[i] = newImage(x.c, x.h, x.w)
	}
	area := batch[0].h * batch[0].w
	n := float64(len(batch) * area)
	eps := l.Eps
	if eps == 0 {
		eps = 1e-5
	}
	for c := range batch[0].c {
		mean, variance := r.weights[prefix+"running_mean"][c], r.weights[prefix+"running_var"][c]
		if r.training {
			mean, variance = 0, 0
			for _, x := range batch {
				for _, v := range x.v[c*area : (c+1)*area] {
					mean += v / n
				}
			}
			for _, x := range batch {
				for _, v := range x.v[c*area : (c+1)*area] {
					variance += (v - mean) * (v - mean) / n
				}
			}
		}
		for i, x := range batch {
			for j := c * area; j < (c+1)*area; j++ {
				out[i].v[j] = r.weights[prefix+"weight"][c]*(x.v[j]-mean)/math.Sqrt(variance+eps) +
					r.weights[prefix+"bias"][c]
			}
		}
	}
	return out
}

// randomise moves every value away from its start, so that no scale is 1 and no
// shift 0.
func randomise(net *nn.Net, rng *rand.Rand) {
	for _, p := range net.Params() {
		for i := range p.Value {
			switch {
			case p.Buffer && p.Value[i] == 1:
				p.Value[i] = float32(0.5 + rng.Float64())
			default:
				p.Value[i] += float32(0.3 * rng.NormFloat64())
			}
		}
		lo, hi := p.Zeros()
		clear(p.Value[lo:hi])
	}
}

// TestAgainstNaive compares training and evaluation of every layer with the
// definitions, for one image and several. In evaluation the engine has folded
// batch norms into convolutions; the definitions have not.
func TestAgainstNaive(t *testing.T) {
	for name, spec := range netcases.Layers() {
		for _, n := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				net, err := nn.New(spec, nn.Options{Seed: 1})
				if err != nil {
					t.Fatal(err)
				}
				rng := rand.New(rand.NewPCG(uint64(n), 3))
				randomise(net, rng)
				x := make([]float32, n*spec.Input.Len())
				for i := range x {
					x[i] = float32(rng.NormFloat64())
				}
				batch := make([]image, n)
				in := spec.Input
				for i := range batch {
					batch[i] = newImage(in.C, in.H, in.W)
					for j := range batch[i].v {
						c, h, w := j/(in.H*in.W), j/in.W%in.H, j%in.W
						batch[i].v[j] = float64(x[((i*in.H+h)*in.W+w)*in.C+c])
					}
				}
				for _, training := range []bool{false, true} {
					if training && (strings.Contains(name, "drop") || n == 1) {
						continue // dropout is random; statistics of one vector have variance 0
					}
					want := newNaive(net, training).sequence(spec.Layers, "", batch)
					got := net.Infer(x, n)
					if training {
						got = net.Forward(x, n)
					}
					for i, y := range want {
						for j, v := range y.v {
							if d := math.Abs(float64(got.At(i, j)) - v); d > 1e-4*(1+math.Abs(v)) {
								t.Fatalf("training %v: output %d of image %d is %v, want %v", training, j, i,
									got.At(i, j), v)
							}
						}
					}
				}
			})
		}
	}
}
