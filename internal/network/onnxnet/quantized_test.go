package onnxnet

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/onnxexport"
	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/nn"
)

// inBytes returns a network with weights as after training, in float32 and in 8 bits, with
// ranges from n images.
func inBytes(t *testing.T, spec *nn.Spec, x []float32, n int) (whole, net *nn.Net) {
	t.Helper()
	whole, err := nn.New(spec, nn.Options{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	if err := trained(whole); err != nil {
		t.Fatal(err)
	}
	c, err := nn.NewCalibration(whole)
	if err != nil {
		t.Fatal(err)
	}
	c.Add(x, n)
	q, err := c.Quantization(nn.RangeChoice{Percentile: 100})
	if err != nil {
		t.Fatal(err)
	}
	if net, err = whole.Quantized(q); err != nil {
		t.Fatal(err)
	}
	return whole, net
}

// bare is a model with weights of float32 and without the way through bytes.
func bare(t *testing.T, m *onnx.Model) *onnx.Model {
	t.Helper()
	tensors, as := map[string]*onnx.Tensor{}, map[string]string{}
	for i := range m.Graph.Initializers {
		tensors[m.Graph.Initializers[i].Name] = &m.Graph.Initializers[i]
	}
	var nodes []onnx.Node
	for _, n := range m.Graph.Nodes {
		for i, in := range n.Inputs {
			if to := as[in]; to != "" {
				n.Inputs[i] = to
			}
		}
		switch x := tensors[n.Inputs[0]]; {
		case n.Op == "DequantizeLinear" && x != nil:
			m.Graph.Initializers = append(m.Graph.Initializers, dequantized(t, &n, tensors))
		case n.Op == "QuantizeLinear" || n.Op == "DequantizeLinear":
			if zero := tensors[n.Inputs[2]]; zero.Type != onnx.Uint8 {
				t.Fatalf("node %s has a zero point of type %v", n.Name, zero.Type)
			}
			as[n.Outputs[0]] = n.Inputs[0]
		default:
			nodes = append(nodes, n)
		}
	}
	m.Graph.Nodes = nodes
	return m
}

// dequantized is a constant that node n makes of bytes, of a scale for each channel.
func dequantized(t *testing.T, n *onnx.Node, tensors map[string]*onnx.Tensor) onnx.Tensor {
	t.Helper()
	x := tensors[n.Inputs[0]]
	q, err := x.Int64s()
	if err != nil {
		t.Fatal(err)
	}
	scale, err := tensors[n.Inputs[1]].Float32s()
	if err != nil {
		t.Fatal(err)
	}
	inner := int64(1)
	for _, d := range x.Shape[n.Attr("axis").Int+1:] {
		inner *= d
	}
	v := make([]float32, len(q))
	for i := range v {
		s := scale[int64(i)/inner%int64(len(scale))]
		if !(s > 0) {
			t.Fatalf("node %s has a scale of %g", n.Name, s)
		}
		v[i] = float32(float64(q[i]) * float64(s))
	}
	return onnx.Floats(n.Outputs[0], x.Shape, v)
}

// parsed writes a model and reads it.
func parsed(t *testing.T, m *onnx.Model) *onnx.Model {
	t.Helper()
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	m, err := onnx.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// distance is that of b from a, over the length of a.
func distance(a, b []float32) float64 {
	var d, all float64
	for i, v := range a {
		d += (float64(v) - float64(b[i])) * (float64(v) - float64(b[i]))
		all += float64(v) * float64(v)
	}
	return math.Sqrt(d / all)
}

// What is written of each layer has the network's values, up to the rounding of weights: the
// model without the way through bytes is read, and runs in float32.
func TestExportInBytes(t *testing.T) {
	ran := 0
	for name, spec := range netcases.Layers() {
		t.Run(name, func(t *testing.T) {
			const n = 3
			x := images(spec.Input, n, 5)
			whole, net := inBytes(t, spec, x, n)
			if read, err := Import(written(t, spec, whole.State(), Preparation{}),
				Options{Trainable: true}); err != nil ||
				read.Spec.Input != spec.Input {
				return // nor is it in float32: of 2 x 3 x 3 the channels are taken to be last
			}
			ran++
			m, err := onnxexport.Export(net, Preparation{})
			if err != nil {
				t.Fatal(err)
			}
			m = parsed(t, m)
			sums := 0
			for _, st := range net.Stages() {
				if st.Sum != nil {
					sums++
				}
			}
			constants := 0
			for _, c := range m.Graph.Initializers {
				if c.Type == onnx.Int8 && strings.HasSuffix(c.Name, "_quantized") {
					constants++
				}
			}
			if constants != sums {
				t.Errorf("%d constants of signed bytes for %d layers of 8 bits", constants, sums)
			}
			back, err := Import(bare(t, m), Options{})
			if err != nil {
				t.Fatal(err)
			}
			again, err := nn.New(back.Spec, nn.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := again.SetState(back.Weights); err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(whole.Infer(x, n).Data)
			if d := distance(want, again.Infer(x, n).Data); !(d < 0.02) {
				t.Errorf("differs by %.3g", d)
			}
		})
	}
	if ran < 40 {
		t.Errorf("%d cases ran", ran)
	}
}

// Every convolution between bytes reads bytes and is followed by them, so that a program can
// replace it by one of bytes.
func TestExportBetweenBytes(t *testing.T) {
	for _, spec := range named(t) {
		if spec.Name != "resnet50" && spec.Name != "mobilenet" {
			continue
		}
		x := images(spec.Input, 2, 7)
		_, net := inBytes(t, spec, x, 2)
		m, err := onnxexport.Export(net, Preparation{})
		if err != nil {
			t.Fatal(err)
		}
		from, reads := map[string]string{}, map[string]string{}
		for _, n := range m.Graph.Nodes {
			from[n.Outputs[0]] = n.Op
			for _, in := range n.Inputs {
				reads[in] += n.Op + " "
			}
		}
		convs := 0
		for _, n := range m.Graph.Nodes {
			if n.Op != "Conv" && n.Op != "Add" {
				continue
			}
			if n.Op == "Conv" {
				convs++
			}
			for _, in := range n.Inputs {
				if from[in] != "DequantizeLinear" {
					t.Errorf("%s: %s reads %s of %q", spec.Name, n.Name, in, from[in])
				}
			}
			after := reads[n.Outputs[0]]
			if after == "Relu " {
				after = reads[onlyReader(m, n.Outputs[0])]
			}
			if after != "QuantizeLinear " {
				t.Errorf("%s: %s is read by %s", spec.Name, n.Name, after)
			}
		}
		if convs < 20 {
			t.Errorf("%s has %d convolutions", spec.Name, convs)
		}
	}
}

// onlyReader is the output of the node that reads v.
func onlyReader(m *onnx.Model, v string) string {
	i := slices.IndexFunc(m.Graph.Nodes, func(n onnx.Node) bool { return slices.Contains(n.Inputs, v) })
	return m.Graph.Nodes[i].Outputs[0]
}

// ONNX Runtime's embeddings differ from those of the network by less than three times what 8 bits
// differ from float32: it also rounds before residuals and curved activations, and a value
// near a half between two bytes may become either.
func TestONNXRuntimeInBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("runs " + onnxRuntime)
	}
	dir := t.TempDir()
	run := runtime(t, dir)
	var cases []*judged
	var most []float64
	add := func(name string, spec *nn.Spec) {
		const n = 3
		x := images(spec.Input, n, 7)
		whole, net := inBytes(t, spec, x, n)
		m, err := onnxexport.Export(net, Preparation{})
		if err != nil {
			t.Fatal(err)
		}
		c := writeModel(t, filepath.Join(dir, strings.ReplaceAll(name, " ", "_")), m, spec.Input, x, n)
		for _, v := range net.Infer(x, n).Data {
			c.want = append(c.want, float64(v))
		}
		c.spec = name
		bound := 0.005 + 3*distance(whole.Infer(x, n).Data, net.Infer(x, n).Data)
		cases, most = append(cases, c), append(most, bound)
	}
	for name, spec := range netcases.Layers() {
		if name != "relu twice" { // version 1.30 fuses both, and gives two nodes one name
			add(name, spec)
		}
	}
	for _, spec := range named(t) {
		add("named "+spec.Name, spec)
	}
	run(cases)
	for i, c := range cases {
		got := floats(t, c.Output)
		want := make([]float32, len(c.want))
		for k, v := range c.want {
			want[k] = float32(v)
		}
		d := distance(want, got)
		t.Logf("%-40s differs by %.2e, at most %.2e", c.spec, d, most[i])
		if !(d <= most[i]) {
			t.Errorf("%s: differs by %g, more than %g", c.spec, d, most[i])
		}
	}
}
