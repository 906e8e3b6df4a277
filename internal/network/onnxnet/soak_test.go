package onnxnet

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/soak"
	"github.com/kindred-ml/kindred/nn"
)

// maker draws networks layer by layer, with the shape that there is so far.
type maker struct {
	rng     *rand.Rand
	h, w, c int
	names   int
}

func (m *maker) name() string { m.names++; return fmt.Sprintf("l%d", m.names) }

func (m *maker) one(of ...int) int { return of[m.rng.IntN(len(of))] }

func (m *maker) layer(k nn.Kind) nn.Layer { return nn.Layer{Kind: k, Name: m.name()} }

// activation is one of them all.
func (m *maker) activation() nn.Layer {
	kinds := []nn.Kind{nn.ReLU, nn.ReLU6, nn.SiLU, nn.HardSwish, nn.Sigmoid, nn.HardSigmoid, nn.GELU, nn.GELUTanh,
		nn.QuickGELU}
	return nn.Layer{Kind: kinds[m.rng.IntN(len(kinds))]}
}

// groups divides the channels of a convolution's input and output.
func (m *maker) groups(in, out int) int {
	g := m.one(0, 0, 0, 2, 3, -1)
	if g == -1 && in != out || g > 0 && (in%g != 0 || out%g != 0) {
		return 0
	}
	return g
}

// conv keeps the size of the picture with same.
func (m *maker) conv(out int, same bool) nn.Layer {
	l := m.layer(nn.Conv)
	l.Out, l.Kernel, l.NoBias = out, m.one(1, 1, 3, 3, 5), m.rng.IntN(2) == 0
	l.Groups = m.groups(m.c, out)
	l.Pad = l.Kernel / 2
	if !same {
		l.Kernel = min(m.one(1, 2, 3, 4, 5), m.h, m.w)
		l.Pad, l.Stride = m.rng.IntN(l.Kernel/2+1), m.one(0, 1, 2, 3)
		if m.rng.IntN(4) == 0 {
			l.PadEnd = 1
		}
		if m.rng.IntN(5) == 0 && l.PadEnd == 0 {
			l.KernelW = min(m.one(1, 2, 3, 5), m.w)
			l.PadW = m.rng.IntN(l.KernelW/2 + 1)
		}
	}
	return l
}

// keeping is some layers behind which the shape is the same.
func (m *maker) keeping(depth int) (list []nn.Layer) {
	for range 1 + m.rng.IntN(3) {
		switch k := m.rng.IntN(13); {
		case k < 3:
			list = append(list, m.conv(m.c, true))
		case k == 3:
			list = append(list, m.layer(nn.BatchNorm))
		case k < 6:
			list = append(list, m.activation())
		case k == 6:
			l := m.layer(nn.Linear)
			l.Out, l.NoBias = m.c, m.rng.IntN(2) == 0
			list = append(list, l)
		case k == 7 && m.c >= 4:
			list = append(list, m.layer(nn.LayerNorm))
		case k == 8:
			list = append(list, m.layer([]nn.Kind{nn.Scale, nn.Shift}[m.rng.IntN(2)]))
		case k == 9:
			list = append(list, nn.Layer{Kind: []nn.Kind{nn.Dropout, nn.StochasticDepth}[m.rng.IntN(2)], Rate: 0.3})
		case k == 10 && m.c%2 == 0:
			list = append(list, nn.Layer{Kind: nn.Shuffle, Groups: 2})
		case depth > 0:
			list = append(list, m.branches(depth-1))
		}
	}
	return list
}

// branches joins what was computed side by side, to the same shape.
func (m *maker) branches(depth int) nn.Layer {
	switch l := m.layer([]nn.Kind{nn.Residual, nn.Multiply}[m.rng.IntN(2)]); m.rng.IntN(3) {
	case 0: // squeeze and excite
		act := nn.Layer{Kind: []nn.Kind{nn.Sigmoid, nn.HardSigmoid}[m.rng.IntN(2)]}
		fc1, fc2 := m.layer(nn.Conv), m.layer(nn.Conv)
		fc1.Out, fc1.Kernel, fc2.Out, fc2.Kernel = 2, 1, m.c, 1
		l.Kind, l.Layers = nn.Multiply, []nn.Layer{{Kind: nn.GlobalAvgPool}, fc1, m.activation(), fc2, act}
		return l
	case 1:
		l.Layers, l.Shortcut = m.keeping(depth), m.keeping(depth)
		return l
	default:
		l.Layers = m.keeping(depth)
		return l
	}
}

// shrink is the size of a picture behind a kernel.
func shrink(n, kernel, stride, pad, end int) int { return (n+2*pad+end-kernel)/stride + 1 }

// step adds a layer that may change the shape.
func (m *maker) step() []nn.Layer {
	switch m.rng.IntN(8) {
	case 0, 1, 2:
		l := m.conv(m.one(2, 3, 4, 6, 8, m.c), false)
		stride, kw, pw := max(l.Stride, 1), l.Kernel, l.Pad
		if l.KernelW > 0 {
			kw, pw = l.KernelW, l.PadW
		}
		m.h, m.w, m.c = shrink(m.h, l.Kernel, stride, l.Pad, l.PadEnd), shrink(m.w, kw, stride, pw, l.PadEnd), l.Out
		return []nn.Layer{l}
	case 3:
		l := nn.Layer{Kind: []nn.Kind{nn.MaxPool, nn.AvgPool}[m.rng.IntN(2)], Kernel: min(m.one(2, 2, 3), m.h, m.w),
			Stride: m.one(0, 1, 2)}
		l.Pad = m.rng.IntN(l.Kernel/2 + 1)
		l.NoPad = l.Kind == nn.AvgPool && m.rng.IntN(2) == 0
		stride := l.Stride
		if stride == 0 {
			stride = l.Kernel
		}
		m.h, m.w = shrink(m.h, l.Kernel, stride, l.Pad, 0), shrink(m.w, l.Kernel, stride, l.Pad, 0)
		return []nn.Layer{l}
	case 4:
		join := m.layer(nn.Concat)
		wide := 0
		for range 2 + m.rng.IntN(2) {
			part := nn.Layer{Kind: nn.Sequential, Name: m.name(), Layers: m.keeping(0)}
			out := m.c
			if m.rng.IntN(2) == 0 {
				out = m.one(1, 2, 3)
				part.Layers = append(part.Layers, m.conv(out, true))
			}
			join.Layers, wide = append(join.Layers, part), wide+out
		}
		m.c = wide
		return []nn.Layer{join}
	case 5:
		if m.c < 3 {
			return nil
		}
		at := m.rng.IntN(m.c - 1)
		l := nn.Layer{Kind: nn.Channels, At: at, Out: 1 + m.rng.IntN(m.c-at-1)}
		m.c = l.Out
		return []nn.Layer{l}
	case 6:
		return []nn.Layer{m.branches(2)}
	}
	return m.keeping(2)
}

// network is a description that may be refused.
func (m *maker) network() *nn.Spec {
	// Sides that no number of channels is, so that it is plain where these stand.
	m.h, m.w, m.c = 7+m.rng.IntN(8), 7+m.rng.IntN(8), m.one(1, 2, 3, 3, 4, 6)
	s := &nn.Spec{Name: "soak", Input: nn.Shape{H: m.h, W: m.w, C: m.c}}
	if m.rng.IntN(4) == 0 {
		s.Layers = m.transformer()
	} else {
		for range 1 + m.rng.IntN(6) {
			if m.h < 2 || m.w < 2 { // a vector has layers of its own
				break
			}
			s.Layers = append(s.Layers, m.step()...)
		}
		switch m.rng.IntN(5) {
		case 0:
			s.Layers = append(s.Layers, nn.Layer{Kind: nn.GlobalAvgPool})
		case 1:
			s.Layers = append(s.Layers, m.layer(nn.GEMPool))
		case 2:
			s.Layers = append(s.Layers, nn.Layer{Kind: nn.Flatten, ChannelFirst: m.rng.IntN(2) == 0})
		default:
			s.Layers = append(s.Layers, nn.Layer{Kind: nn.Flatten})
		}
	}
	if m.rng.IntN(3) > 0 {
		l := m.layer(nn.Dense)
		l.Out, l.NoBias = 2+m.rng.IntN(8), m.rng.IntN(2) == 0
		s.Layers = append(s.Layers, l)
		if m.rng.IntN(3) == 0 {
			s.Layers = append(s.Layers, m.layer(nn.BatchNorm))
		}
		if m.rng.IntN(3) == 0 {
			s.Layers = append(s.Layers, nn.Layer{Kind: nn.L2Normalize})
		}
	}
	return s
}

// transformer is patches, tokens and blocks.
func (m *maker) transformer() []nn.Layer {
	heads := m.one(1, 2, 3)
	d := heads * m.one(2, 4)
	patch := m.layer(nn.Conv)
	patch.Out, patch.Kernel, patch.Stride = d, 2, 2
	class, pos := m.layer(nn.Tokens), m.layer(nn.Positions)
	class.Out = 1 + m.rng.IntN(2)
	list := []nn.Layer{patch, class, pos}
	for range 1 + m.rng.IntN(2) {
		qkv, proj, fc1, fc2 := m.layer(nn.Linear), m.layer(nn.Linear), m.layer(nn.Linear), m.layer(nn.Linear)
		qkv.Out, proj.Out, fc1.Out, fc2.Out = 3*d, d, 2*d, d
		qkv.NoBias = m.rng.IntN(2) == 0
		attn, mlp := m.layer(nn.Residual), m.layer(nn.Residual)
		attend := nn.Layer{Kind: nn.Attention, Heads: heads, Causal: m.rng.IntN(3) == 0}
		attn.Layers = []nn.Layer{m.layer(nn.LayerNorm), qkv, attend, proj}
		mlp.Layers = []nn.Layer{m.layer(nn.LayerNorm), fc1, m.activation(), fc2}
		if m.rng.IntN(2) == 0 {
			mlp.Layers = append(mlp.Layers, m.layer(nn.Scale))
		}
		list = append(list, attn, mlp)
	}
	list = append(list, m.layer(nn.LayerNorm))
	if m.rng.IntN(2) == 0 {
		return append(list, nn.Layer{Kind: nn.TakeToken, At: m.rng.IntN(class.Out)})
	}
	return append(list, nn.Layer{Kind: nn.GlobalAvgPool, At: class.Out})
}

// TestSoak draws networks, and compares the engine's values of them, those of what the
// importer makes of their ONNX models and, in make soak, those of onnxruntime, where it
// is installed, with plain loops in float64.
func TestSoak(t *testing.T) {
	judge := func([]*judged) {}
	dir := t.TempDir()
	asked := false
	if os.Getenv(soak.EnvTime)+os.Getenv(soak.EnvSeed) != "" {
		t.Run("onnxruntime", func(t *testing.T) {
			judge = runtime(t, dir)
			asked = true
		})
	}
	soak.Run(t, func(t *testing.T, seed uint64) {
		m := &maker{rng: rand.New(rand.NewPCG(seed, 14))}
		var cases []*judged
		for k := range 12 {
			spec := m.network()
			net, err := nn.New(spec, nn.Options{Seed: seed})
			if err != nil {
				continue // a kernel that is larger than what is left, say
			}
			if err := trained(net); err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(spec)
			if err != nil {
				t.Fatal(err)
			}
			x := images(spec.Input, 3, seed)
			want := byLoops(&Network{Spec: spec, Weights: net.State()}, x)
			if slices.ContainsFunc(want, math.IsNaN) {
				continue // of a row of zeros that is brought to unit length
			}
			var got []float64
			y := net.Infer(x, 3)
			for _, v := range y.Data {
				got = append(got, float64(v))
			}
			near(t, "the engine", string(text), got, want)
			back, err := Import(written(t, spec, net.State(), Preparation{}), Options{Trainable: true})
			switch {
			case err == nil:
				near(t, "the importer", string(text), byLoops(back, x), want)
			case !strings.Contains(err.Error(), "onnx: n"): // a node, or the network that it made
				t.Errorf("the importer: %v\n%s", err, text)
			default: // it knows the forms that exporters write: x + x is none
				t.Logf("the importer: %v", err)
			}
			if asked {
				c := writeCase(t, dir, fmt.Sprint("soak", k), &Network{Spec: spec, Weights: net.State()}, x, 3)
				c.want = want
				c.spec = string(text)
				cases = append(cases, c)
			}
		}
		if m.names == 0 {
			t.Error("nothing was drawn")
		}
		if len(cases) > 0 {
			judge(cases)
		}
		for _, c := range cases {
			var got []float64
			for _, v := range floats(t, c.Output) {
				got = append(got, float64(v))
			}
			near(t, "onnxruntime on "+filepath.Base(c.Model), c.spec, got, c.want)
		}
	})
}

// byLoops is what plain loops make of three images.
func byLoops(net *Network, x []float32) (y []float64) {
	n, in := newNaive(net.Weights), net.Spec.Input
	for i := range 3 {
		p := newPicture(in.H, in.W, in.C)
		for k, v := range x[i*in.Len() : (i+1)*in.Len()] {
			p.v[k] = float64(v)
		}
		y = append(y, n.sequence(net.Spec.Layers, "", p).v...)
	}
	return y
}

// near compares values with those of the loops.
func near(t *testing.T, whose, spec string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, want %d\n%s", whose, len(got), len(want), spec)
		return
	}
	worst, largest := 0.0, 1.0
	for i, w := range want {
		if d := math.Abs(got[i] - w); !(d <= worst) {
			worst = d
		}
		largest = max(largest, math.Abs(w))
	}
	if !(worst <= 5e-4*largest) {
		t.Errorf("%s: differs by %g, of %g\n%s", whose, worst, largest, spec)
	}
}
