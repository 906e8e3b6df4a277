package nn

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// operatorsSpec is a graph of a convolution, PReLU, a mean and a product with a head behind it.
func operatorsSpec(t *testing.T) *Spec {
	t.Helper()
	weight := func(name string, shape ...int64) onnx.Value {
		v := onnx.Value{Name: name, Type: onnx.Float32}
		for _, d := range shape {
			v.Shape = append(v.Shape, onnx.Dim{Size: d})
		}
		return v
	}
	m := &onnx.Model{Opsets: []onnx.Opset{{Version: 17}}, Graph: onnx.Graph{
		Inputs: []onnx.Value{{Name: "image", Type: onnx.Float32, Shape: []onnx.Dim{{Name: "n"}, {Size: 3}, {Size: 6},
			{Size: 6}}}, weight("conv", 4, 3, 3, 3), weight("slope", 4, 1, 1), weight("fc", 4, 5)},
		Nodes: []onnx.Node{
			{Op: "Conv", Inputs: []string{"image", "conv"}, Outputs: []string{"c"}},
			{Op: "PRelu", Inputs: []string{"c", "slope"}, Outputs: []string{"p"}},
			{Op: "GlobalAveragePool", Inputs: []string{"p"}, Outputs: []string{"g"}},
			{Op: "Flatten", Inputs: []string{"g"}, Outputs: []string{"f"}},
			{Op: "MatMul", Inputs: []string{"f", "fc"}, Outputs: []string{"y"}}},
		Outputs: []onnx.Value{{Name: "y", Type: onnx.Float32}},
	}}
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	return &Spec{Name: "whole", Input: Shape{6, 6, 3}, Layers: []Layer{
		{Kind: Operators, Name: "graph", Graph: b.Bytes(), Out: 5, ChannelFirst: true, Room: 1000},
		{Kind: Dense, Name: "head", Out: 2}}}
}

// operatorsNet has drawn weights.
func operatorsNet(t *testing.T) *Net {
	t.Helper()
	e, err := New(operatorsSpec(t), Options{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	f, rng := e.State(), rand.New(rand.NewPCG(4, 4))
	for i := range f.Tensors {
		x := &f.Tensors[i]
		v, err := x.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		for k := range v {
			v[k] = float32(rng.NormFloat64())
		}
		*x = safetensors.Float32(x.Name, x.Shape, v)
	}
	if err := e.SetState(f); err != nil {
		t.Fatal(err)
	}
	return e
}

// byHand computes the graph for an image, height x width x channels, from weights in their order on
// disk.
func byHand(t *testing.T, f *safetensors.File, x []float32) []float64 {
	t.Helper()
	read := func(name string) []float32 {
		v, err := f.Tensor("graph." + name).Float32s()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	conv, slope, fc := read("conv"), read("slope"), read("fc")
	y := make([]float64, 5)
	for k := range 4 {
		var mean float64
		for p := range 16 {
			var s float64
			for c := range 3 {
				for r := range 9 {
					at := ((p/4+r/3)*6+p%4+r%3)*3 + c
					s += float64(conv[(k*3+c)*9+r]) * float64(x[at])
				}
			}
			mean += (max(s, 0) + float64(slope[k])*min(s, 0)) / 16
		}
		for j := range y {
			y[j] += mean * float64(fc[k*5+j])
		}
	}
	return y
}

func pictures(n int) []float32 {
	rng := rand.New(rand.NewPCG(8, 1))
	x := make([]float32, n*108)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// A graph of operators has the values of plain loops, in training too; the head behind it is trained,
// and the graph is not.
func TestOperators(t *testing.T) {
	e := operatorsNet(t)
	x := pictures(3)
	body, err := e.Body()
	if err != nil {
		t.Fatal(err)
	}
	out := body.Infer(x, 3)
	for i := range 3 {
		want := byHand(t, e.State(), x[i*108:(i+1)*108])
		for j, w := range want {
			if got := float64(out.Row(i)[j]); !(math.Abs(got-w) <= 1e-5*(1+math.Abs(w))) {
				t.Errorf("image %d, value %d: %g, want %g", i, j, got, w)
			}
		}
	}
	before := e.State()
	loss := func() float64 {
		var s float64
		for _, v := range e.Forward(x, 3).Data {
			s += float64(v) * float64(v) / 2
		}
		return s
	}
	start := loss()
	y := e.Forward(x, 3)
	e.Backward(y)
	head := e.Param("head.weight")
	grad := slices.Clone(head.Grad)
	for i, g := range grad {
		const h = 1e-3
		was := head.Value[i]
		head.Value[i] = was + h
		up := loss()
		head.Value[i] = was - h
		slope := (up - loss()) / (2 * h)
		if head.Value[i] = was; !(math.Abs(slope-float64(g)) <= 1e-2*(1+math.Abs(slope))) {
			t.Errorf("gradient %d: %g, want %g", i, g, slope)
		}
	}
	for i, g := range grad {
		head.Value[i] -= 0.001 * g
	}
	if now := loss(); !(now < start) {
		t.Errorf("the loss goes from %g to %g", start, now)
	}
	for _, p := range e.Params() {
		if strings.HasPrefix(p.Name, "graph.") && (!p.Buffer || p.Grad != nil) {
			t.Errorf("%s is trained", p.Name)
		}
	}
	after := e.State()
	for i := range after.Tensors {
		a, b := &before.Tensors[i], &after.Tensors[i]
		if strings.HasPrefix(a.Name, "graph.") && !bytes.Equal(a.Data, b.Data) {
			t.Errorf("%s has changed", a.Name)
		}
	}
}

// A saved network gives the same bits; weights that do not fit change nothing.
func TestOperatorsAreSaved(t *testing.T) {
	e := operatorsNet(t)
	x := pictures(2)
	want := slices.Clone(e.Infer(x, 2).Data)
	dir := t.TempDir()
	if err := e.Save(dir); err != nil {
		t.Fatal(err)
	}
	again, err := Load(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Infer(x, 2).Data; !slices.Equal(got, want) {
		t.Errorf("%v after loading, %v before", got, want)
	}
	bad := e.State()
	v := make([]float32, 108)
	v[7] = float32(math.NaN())
	bad.Tensors[0] = safetensors.Float32("graph.conv", []int{4, 3, 3, 3}, v)
	if err := e.SetState(bad); err == nil {
		t.Error("NaN is taken")
	}
	bad.Tensors[0] = safetensors.Float32("graph.conv", []int{4, 3, 9, 1}, make([]float32, 108))
	if err := e.SetState(bad); err == nil {
		t.Error("another shape is taken")
	}
	if got := e.Infer(x, 2).Data; !slices.Equal(got, want) {
		t.Errorf("%v after weights that were refused, %v before", got, want)
	}
	fresh := e.State()
	fresh.Tensors[0] = safetensors.Float32("graph.conv", []int{4, 3, 3, 3}, make([]float32, 108))
	if err := e.SetState(fresh); err != nil {
		t.Fatal(err)
	}
	if got := e.Infer(x, 2).Data; slices.Equal(got, want) {
		t.Error("the graph still has the weights from before")
	}
}

func TestWrongOperators(t *testing.T) {
	change := func(f func(s *Spec)) *Spec {
		s := operatorsSpec(t)
		f(s)
		return s
	}
	for want, s := range map[string]*Spec{
		"must be the first": change(func(s *Spec) {
			s.Layers = append([]Layer{{Kind: Conv, Name: "c", Out: 3, Kernel: 1}}, s.Layers...)
		}),
		"room = -1":                  change(func(s *Spec) { s.Layers[0].Room = -1 }),
		"graph: onnx":                change(func(s *Spec) { s.Layers[0].Graph = []byte("no graph") }),
		"no graph":                   change(func(s *Spec) { s.Layers[0].Graph = nil }),
		"needs a name":               change(func(s *Spec) { s.Layers[0].Name = "" }),
		"not 6 of them":              change(func(s *Spec) { s.Layers[0].Out = 6 }),
		"filters of shape [4 3 3 3]": change(func(s *Spec) { s.Input.C = 2 }),
		"graph means nothing":        change(func(s *Spec) { s.Layers[1].Graph = []byte("x") }),
		"its first input must be":    change(func(s *Spec) { s.Layers[0].Graph = textOf(t, "Relu", 3) }),
		"(Blur) of opset":            change(func(s *Spec) { s.Layers[0].Graph = textOf(t, "Blur", 4) }),
	} {
		e, err := New(s, Options{})
		if err == nil {
			err = e.SetState(e.State())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	text, err := json.Marshal(operatorsSpec(t).Layers[0])
	if err != nil {
		t.Fatal(err)
	}
	const before = `{"format":"kindred-network","version":1,"name":"x","input":{"h":6,"w":6,"c":3},"layers":[`
	if _, err := ParseSpec([]byte(before +
		strings.Replace(string(text), `"graph":"`, `"graph":"AAAA`, 1) + `]}`)); err == nil {
		t.Error("a damaged graph is read")
	}
}

// textOf is a model of one operator of an input with a number of axes.
func textOf(t *testing.T, op string, axes int) []byte {
	t.Helper()
	m := &onnx.Model{Opsets: []onnx.Opset{{Version: 17}}, Graph: onnx.Graph{
		Inputs:  []onnx.Value{{Name: "x", Type: onnx.Float32, Shape: slices.Repeat([]onnx.Dim{{Size: 6}}, axes)}},
		Nodes:   []onnx.Node{{Op: op, Inputs: []string{"x"}, Outputs: []string{"y"}}},
		Outputs: []onnx.Value{{Name: "y"}}}}
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// An index that depends on the image and lies outside gives NaN for this image alone.
func TestOperatorsOfOneImageFail(t *testing.T) {
	m := &onnx.Model{Opsets: []onnx.Opset{{Version: 17}}, Graph: onnx.Graph{
		Inputs: []onnx.Value{{Name: "x", Type: onnx.Float32,
			Shape: []onnx.Dim{{Size: 1}, {Size: 1}, {Size: 1}, {Size: 2}}}},
		Initializers: []onnx.Tensor{onnx.Floats("table", []int64{4}, []float32{1, 2, 3, 4}),
			onnx.Ints("flat", []int64{1}, []int64{2})},
		Nodes: []onnx.Node{{Op: "Cast", Inputs: []string{"x"}, Outputs: []string{"i"},
			Attrs: []onnx.Attr{{Name: "to", Type: onnx.AttrInt, Int: 7}}},
			{Op: "Reshape", Inputs: []string{"i", "flat"}, Outputs: []string{"k"}},
			{Op: "Gather", Inputs: []string{"table", "k"}, Outputs: []string{"y"}}},
		Outputs: []onnx.Value{{Name: "y"}}}}
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	e, err := New(&Spec{Name: "n", Input: Shape{1, 2, 1}, Layers: []Layer{
		{Kind: Operators, Name: "g", Graph: b.Bytes(), Out: 2, ChannelFirst: true}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	y := e.Infer([]float32{0, 3, 9, 0, 2, 1}, 3)
	if !slices.Equal(y.Row(0), []float32{1, 4}) || y.At(1, 0) == y.At(1, 0) ||
		!slices.Equal(y.Row(2), []float32{3, 2}) {
		t.Errorf("%v", y.Data)
	}
}
