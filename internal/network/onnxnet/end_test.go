package onnxnet

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/onnxexport"
	"github.com/kindred-ml/kindred/nn"
)

// flattenings are ways in which a model ends with all values of 2 x 2 positions.
var flattenings = map[string]func(b *builder, v string) string{
	"flatten": func(b *builder, v string) string { return b.node("Flatten", []string{v}) },
	"reshape": func(b *builder, v string) string { return b.node("Reshape", []string{v, b.ints(0, -1)}) },
	"channels last": func(b *builder, v string) string {
		v = b.node("Transpose", []string{v}, "perm", []int64{0, 2, 3, 1})
		return b.node("Reshape", []string{v, b.ints(-1, 32)})
	},
	"unit length": func(b *builder, v string) string {
		return b.node("LpNormalization", []string{b.node("Flatten", []string{v})}, "axis", 1)
	},
	"over its length": func(b *builder, v string) string {
		v = b.node("Flatten", []string{v})
		length := b.node("ReduceL2", []string{v}, "axes", []int64{1}, "keepdims", 1)
		return b.node("Div", []string{v, length})
	},
	"rectified again": func(b *builder, v string) string {
		return b.node("Relu", []string{b.node("Flatten", []string{v})})
	},
}

// ending is a convolution, a rectifier, the mean of each quarter of a 4 x 4 image,
// and the values of all positions as its output.
func ending(spelling, output string) *onnx.Model {
	b := newBuilder(0, 3, 4, 4)
	v := b.node("Relu", []string{b.node("Conv", []string{"x", b.floats(8, 3, 3, 3), b.floats(8)}, "pads",
		[]int64{1, 1, 1, 1})})
	flattenings[spelling](b, b.node("AveragePool", []string{v}, "kernel_shape", []int64{2, 2}, "strides",
		[]int64{2, 2}))
	last := &b.m.Graph.Nodes[len(b.m.Graph.Nodes)-1]
	last.Outputs[0] = output
	return b.model(output)
}

// ended is what such a model computes of an image of rows of pixels, in float64.
func ended(spelling string, image []float32) []float64 {
	weight := func(o, c, y, x int) float64 { return float64((((o*3+c)*3+y)*3+x)%7-3) / 4 }
	bias := func(o int) float64 { return float64(o%7-3) / 4 }
	out := make([]float64, 32)
	for o := range 8 {
		for y := range 4 {
			for x := range 4 {
				sum := bias(o)
				for c := range 3 {
					for dy := range 3 {
						for dx := range 3 {
							if iy, ix := y+dy-1, x+dx-1; iy >= 0 && iy < 4 && ix >= 0 && ix < 4 {
								sum += weight(o, c, dy, dx) * float64(image[(iy*4+ix)*3+c])
							}
						}
					}
				}
				at := o*4 + y/2*2 + x/2
				if spelling == "channels last" {
					at = (y/2*2+x/2)*8 + o
				}
				out[at] += max(sum, 0) / 4
			}
		}
	}
	if spelling == "unit length" || spelling == "over its length" {
		square := 0.0
		for _, v := range out {
			square += v * v
		}
		for i := range out {
			out[i] /= math.Sqrt(square)
		}
	}
	return out
}

// A model that ends with the values of all positions is taken whole, in the model's
// own order: by the engine, and exported again.
func TestModelsThatEndFlattened(t *testing.T) {
	x := images(nn.Shape{H: 4, W: 4, C: 3}, 2, 5)
	for spelling := range flattenings {
		for _, c := range []struct{ output, cut string }{{"embedding", ""}, {"embedding", "embedding"}, {"y", ""}} {
			net, err := Import(ending(spelling, c.output), Options{Cut: c.cut})
			if err != nil {
				t.Errorf("%s: %v", spelling, err)
				continue
			}
			if slices.ContainsFunc(net.Notes, func(n string) bool { return strings.Contains(n, "mean") }) {
				t.Errorf("%s: %q", spelling, net.Notes)
			}
			// A head takes the place of what comes before the division by the length.
			last := net.Spec.Layers[len(net.Spec.Layers)-1].Kind
			if unit := strings.Contains(spelling, "length"); unit != (last == nn.L2Normalize) {
				t.Errorf("%s ends with %s", spelling, kindsOf(net.Spec.Layers))
			}
			made := built(t, net)
			m, err := onnxexport.Export(made, Preparation{})
			if err != nil {
				t.Fatal(err)
			}
			again, err := Import(m, Options{})
			if err != nil {
				t.Fatalf("%s, exported: %v", spelling, err)
			}
			for name, n := range map[string]*nn.Net{"imported": made, "exported": built(t, again)} {
				e := n.Infer(x, 2)
				for i := range 2 {
					want := ended(spelling, x[i*48:(i+1)*48])
					if e.Cols != len(want) {
						t.Fatalf("%s, %s: %d values, want %d: %s", spelling, name, e.Cols, len(want),
							kindsOf(n.Spec().Layers))
					}
					for k, w := range want {
						if math.Abs(float64(e.Row(i)[k])-w) > 1e-5*(1+math.Abs(w)) {
							t.Fatalf("%s, %s: value %d is %g, want %g", spelling, name, k, e.Row(i)[k], w)
						}
					}
				}
			}
		}
	}
}

func built(t *testing.T, net *Network) *nn.Net {
	t.Helper()
	made, err := nn.New(net.Spec, nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.SetState(net.Weights); err != nil {
		t.Fatal(err)
	}
	return made
}

// Export has the values of a network that ends with a flatten layer in the order of
// the engine.
func TestExportOfFlattened(t *testing.T) {
	spec := &nn.Spec{Name: "n", Input: nn.Shape{H: 4, W: 4, C: 3}, Layers: []nn.Layer{
		{Kind: nn.Conv, Name: "c", Out: 5, Kernel: 2, Stride: 2}, {Kind: nn.Flatten}}}
	net, err := nn.New(spec, nn.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	m, err := onnxexport.Export(net, Preparation{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Import(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := images(spec.Input, 1, 1)
	want, got := net.Infer(x, 1), built(t, again).Infer(x, 1)
	if !slices.Equal(want.Row(0), got.Row(0)) {
		t.Errorf("%v, want %v", got.Row(0), want.Row(0))
	}
}

// Two layers that one node becomes are no layer that several branches use.
func TestSharedLayersAreTold(t *testing.T) {
	b := newBuilder(0, 3, 4, 4)
	v := b.node("Gemm", []string{b.node("Flatten", []string{"x"}), b.floats(48, 6)})
	net, err := Import(b.model(v), Options{Cut: v})
	if err != nil || len(net.Notes) != 0 {
		t.Errorf("%q, %v", net.Notes, err)
	}
	b = newBuilder(0, 3, 4, 4)
	one := b.node("Conv", []string{"x", b.floats(3, 3, 1, 1)})
	left, right := b.node("Relu", []string{one}), b.node("Sigmoid", []string{"x"})
	left = b.node("Add", []string{left, right})
	right = b.node("Mul", []string{one, b.node("Sigmoid", []string{right})})
	net, err = Import(b.end(b.node("Add", []string{left, right})), Options{})
	const told = "1 layers with weights are used by several"
	if err != nil || len(net.Notes) == 0 || !strings.HasPrefix(net.Notes[0], told) {
		t.Errorf("%+v, %v", net, err)
	}
}

// A pool of a fixed kernel that took all of its image does not at another size, which
// is refused; one that leaves out the end there says so.
func TestPoolsOfFixedKernels(t *testing.T) {
	pooled := func(op string, side, kernel, stride int64) *onnx.Model {
		b := newBuilder(0, 3, side, side)
		v := b.node("Conv", []string{"x", b.floats(4, 3, 1, 1)})
		return b.model(b.node("Flatten", []string{b.node(op, []string{v}, "kernel_shape", []int64{kernel, kernel},
			"strides", []int64{stride, stride})}))
	}
	for _, c := range []struct {
		op                   string
		side, kernel, stride int64
		size                 int
		note, err            string
	}{
		{"MaxPool", 8, 8, 8, 10, "", "(max_pool) has a kernel as large as its input of 8 x 8 there; of 10 x 10 it " +
			"would leave out the last 2 rows and 2 columns"},
		{"MaxPool", 8, 8, 8, 8, "", ""},
		{"AveragePool", 32, 32, 32, 40, "", ""}, // a mean over all positions, whatever their number
		{"AveragePool", 32, 16, 16, 40, "(avg_pool) leaves out the last 8 rows and 8 columns of its input of 40 x 40",
			""},
		{"AveragePool", 32, 16, 16, 48, "", ""},
		{"AveragePool", 32, 16, 16, 0, "", ""},
		{"MaxPool", 32, 3, 2, 41, "", ""},
		{"MaxPool", 32, 3, 2, 33, "", ""},
		{"MaxPool", 32, 2, 2, 33, "(max_pool) leaves out the last 1 rows and 1 columns of its input of 33 x 33", ""},
		{"MaxPool", 32, 3, 2, 40, "", ""}, // as at 32
	} {
		net, err := Import(pooled(c.op, c.side, c.kernel, c.stride), Options{Size: c.size})
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v: %v", c, err)
			}
		case err != nil:
			t.Errorf("%+v: %v", c, err)
		case c.note == "" && len(net.Notes) > 0,
			c.note != "" && (len(net.Notes) != 1 || !strings.Contains(net.Notes[0], c.note)):
			t.Errorf("%+v: %q", c, net.Notes)
		}
	}
	// Where the model leaves its size open, the kernel is as it says, which is told.
	b := newBuilder(0, 3, 0, 0)
	v := b.node("MaxPool", []string{b.node("Conv", []string{"x", b.floats(4, 3, 1, 1)})}, "kernel_shape",
		[]int64{8, 8}, "strides", []int64{8, 8})
	net, err := Import(b.model(v), Options{Size: 10})
	if err != nil || len(net.Notes) != 1 || !strings.Contains(net.Notes[0], "leaves out the last 2 rows") {
		t.Errorf("%+v, %v", net, err)
	}
}

// The judge agrees about models that end flattened.
func TestRuntimeOfFlattened(t *testing.T) {
	if testing.Short() {
		t.Skip("runs " + onnxRuntime)
	}
	dir := t.TempDir()
	run := runtime(t, dir)
	var cases []*judged
	x := images(nn.Shape{H: 4, W: 4, C: 3}, 2, 5)
	for spelling := range flattenings {
		m := ending(spelling, "embedding")
		stem := filepath.Join(dir, strings.ReplaceAll(spelling, " ", "_"))
		c := writeModel(t, stem, m, nn.Shape{H: 4, W: 4, C: 3}, x, 2)
		for i := range 2 {
			c.want = append(c.want, ended(spelling, x[i*48:(i+1)*48])...)
		}
		cases = append(cases, c)
	}
	run(cases)
	for _, c := range cases {
		got := floats(t, c.Output)
		if len(got) != len(c.want) {
			t.Fatalf("%s: %d values, want %d", filepath.Base(c.Model), len(got), len(c.want))
		}
		for i, v := range got {
			if math.Abs(float64(v)-c.want[i]) > 1e-5*(1+math.Abs(c.want[i])) {
				t.Errorf("%s: value %d is %g, want %g", filepath.Base(c.Model), i, v, c.want[i])
			}
		}
	}
}

// An output that is called an embedding or features is the network's end, whatever comes
// before it; behind any other, weighted sums are a classifier and left out.
func TestOutputsByTheirNames(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		outputs []string
		values  int
		note    string
	}{
		{[]string{"embedding"}, 6, ""}, {[]string{"Image_Features"}, 6, ""}, {[]string{"y"}, 4, "is left out"},
		{[]string{"pooled"}, 4, "is left out"}, {[]string{"y", "embed"}, 6, `of its 2 outputs, "embed" is taken`},
		{[]string{"y", "features"}, 6, `"features" is taken`}, {[]string{"features", "embed"}, 6, `"embed" is taken`},
		{[]string{"embed" + long, "y"}, 6, "of its 2 outputs"},
	} {
		b := newBuilder(0, 3, 4, 4)
		v := b.node("GlobalAveragePool", []string{b.node("Conv", []string{"x", b.floats(4, 3, 1, 1)})})
		flat := b.node("Flatten", []string{v})
		for _, name := range c.outputs {
			b.node("Gemm", []string{flat, b.floats(4, 6)})
			b.m.Graph.Nodes[len(b.m.Graph.Nodes)-1].Outputs[0] = name
		}
		m := b.model(c.outputs[0])
		m.Graph.Outputs = nil
		for _, name := range c.outputs {
			m.Graph.Outputs = append(m.Graph.Outputs, onnx.Value{Name: name, Type: onnx.Float32})
		}
		net, err := Import(m, Options{})
		if err != nil {
			t.Errorf("%.40q: %v", c.outputs, err)
			continue
		}
		if n := net.Spec.OutDim(); n != c.values {
			t.Errorf("%.40q: %d values, want %d", c.outputs, n, c.values)
		}
		if notes := strings.Join(net.Notes, "\n"); !strings.Contains(notes, c.note) || len(notes) > 5000 ||
			(c.note == "") != (notes == "") {
			t.Errorf("%.40q: %.300q, want %q", c.outputs, notes, c.note)
		}
	}
}
