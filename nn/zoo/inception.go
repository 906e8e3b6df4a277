package zoo

import (
	"math"
	"strconv"

	"github.com/kindred-ml/kindred/nn"
)

// inception is one module of BN-Inception: the filters of its branches of one 1 x 1
// convolution, of one 3 x 3, of two 3 x 3 (each behind a 1 x 1 that reduces), and
// of the 1 x 1 behind its pool. With half, the module halves the image: it has no
// first branch, and its pool passes on what it has.
type inception struct {
	name               string
	one                int
	reduce, three      int
	doubleReduce, twin int
	pool               int
	half, maximum      bool // maximum: the pool takes it instead of the mean
}

// inceptions are the modules in order, with their filters at width 1 (Ioffe and
// Szegedy 2015; the fourth and fifth as the Caffe model that everyone uses has
// them).
func inceptions() []inception {
	return []inception{
		{"3a", 64, 64, 64, 64, 96, 32, false, false},
		{"3b", 64, 64, 96, 64, 96, 64, false, false},
		{"3c", 0, 128, 160, 64, 96, 0, true, true},
		{"4a", 224, 64, 96, 96, 128, 128, false, false},
		{"4b", 192, 96, 128, 96, 128, 128, false, false},
		{"4c", 160, 128, 160, 128, 160, 128, false, false},
		{"4d", 96, 128, 192, 160, 192, 128, false, false},
		{"4e", 0, 128, 192, 192, 256, 0, true, true},
		{"5a", 352, 192, 320, 160, 224, 128, false, false},
		{"5b", 352, 192, 320, 192, 224, 128, false, true},
	}
}

// inceptionLayers builds BN-Inception with the names of the Caffe model as PyTorch
// has it. Sides that are odd where an image is halved, which the Caffe model does
// not take, are padded.
func inceptionLayers(o Options) []nn.Layer {
	width := func(n int) int { return max(1, int(math.Round(float64(n)*o.multiple()))) }
	side := o.Input.H
	halve := func() nn.Layer { // 3 x 3 windows, counted as Caffe does
		p := nn.Layer{Kind: nn.MaxPool, Kernel: 3, Stride: 2, PadEnd: 1}
		side /= 2
		return p
	}
	conv := func(name string, out, kernel, stride int) []nn.Layer {
		c := resConv(name, width(out), kernel, stride)
		c.NoBias, c.Init = false, nn.InitDefault
		return []nn.Layer{c, {Kind: nn.BatchNorm, Name: name + "_bn"}, {Kind: nn.ReLU}}
	}
	l := conv("conv1_7x7_s2", 64, 7, 2)
	side = (side + 1) / 2
	l = append(l, halve())
	l = append(l, conv("conv2_3x3_reduce", 64, 1, 1)...)
	l = append(append(l, conv("conv2_3x3", 192, 3, 1)...), halve())
	for _, m := range inceptions() {
		step, pool := 1, nn.Layer{Kind: nn.AvgPool, Kernel: 3, Stride: 1, Pad: 1}
		if m.maximum {
			pool.Kind = nn.MaxPool
		}
		if m.half {
			step, pool.Stride = 2, 2
			if side%2 == 0 {
				pool.Pad, pool.PadEnd = 0, 1
			}
			side = (side + 1) / 2
		}
		l = append(l, m.layer(pool, step, conv))
	}
	return append(append(l, o.pool()), head(o, "last_linear", nn.InitDefault)...)
}

// layer puts the module's branches side by side.
func (m inception) layer(pool nn.Layer, step int, conv func(name string, out, kernel, stride int) []nn.Layer) nn.Layer {
	name := func(part string) string { return "inception_" + m.name + "_" + part }
	branch := func(parts ...[]nn.Layer) nn.Layer {
		b := nn.Layer{Kind: nn.Sequential}
		for _, p := range parts {
			b.Layers = append(b.Layers, p...)
		}
		return b
	}
	j := nn.Layer{Kind: nn.Concat}
	if m.one > 0 {
		j.Layers = append(j.Layers, branch(conv(name("1x1"), m.one, 1, 1)))
	}
	double := [][]nn.Layer{conv(name("double_3x3_reduce"), m.doubleReduce, 1, 1)}
	for i := range 2 {
		s := 1
		if i == 1 {
			s = step
		}
		double = append(double, conv(name("double_3x3_"+strconv.Itoa(i+1)), m.twin, 3, s))
	}
	j.Layers = append(j.Layers,
		branch(conv(name("3x3_reduce"), m.reduce, 1, 1), conv(name("3x3"), m.three, 3, step)), branch(double...))
	if m.pool == 0 {
		j.Layers = append(j.Layers, pool)
	} else {
		j.Layers = append(j.Layers, branch([]nn.Layer{pool}, conv(name("pool_proj"), m.pool, 1, 1)))
	}
	return j
}
