package onnxnet

import (
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/format/onnx"
	"github.com/kindred-ml/kindred/internal/network/onnxexport"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

// prelu begins a model that is not made of layers.
func prelu(opset int64, batch int64) (*builder, string) {
	b := newBuilder(batch, 3, 8, 8)
	b.m.Opsets[0].Version = opset
	return b, b.node("PRelu", []string{b.node("Conv", []string{"x", b.floats(6, 3, 3, 3)}), b.floats(6, 1, 1)})
}

func run(t *testing.T, net *Network, x []float32, n int) []float32 {
	t.Helper()
	made, err := nn.New(net.Spec, nn.Options{})
	if err == nil {
		err = made.SetState(net.Weights)
	}
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(made.Infer(x, n).Data)
}

// A model that is not made of layers ends before its classifier, with the mean of an image or of
// tokens, or with a class token; a named end and an embedding are taken as they are.
func TestEndsAsTheyStand(t *testing.T) {
	pooled := func(b *builder, v string) string {
		return b.node("Flatten", []string{b.node("GlobalAveragePool", []string{v})})
	}
	tokens := func(b *builder, v string) string {
		v = b.node("Reshape", []string{v, b.ints(0, 6, 36)})
		return b.node("Transpose", []string{v}, "perm", []int64{0, 2, 1})
	}
	for name, c := range map[string]struct {
		make func(b *builder, v string) string // the output
		out  string                            // its name, if it matters
		want int
		note string
	}{
		"a classifier": {func(b *builder, v string) string {
			return b.node("Softmax", []string{b.node("MatMul", []string{pooled(b, v), b.floats(6, 4)})})
		}, "", 6, "classifier"},
		"features by a product": {func(b *builder, v string) string {
			return b.node("MatMul", []string{b.node("Flatten", []string{v}), b.floats(216, 5)})
		}, "", 5, ""},
		"a classifier behind features by a product": {func(b *builder, v string) string {
			v = b.node("Relu", []string{b.node("MatMul", []string{b.node("Flatten", []string{v}), b.floats(216, 5)})})
			return b.node("MatMul", []string{v, b.floats(5, 3)})
		}, "", 5, "classifier"},
		"an embedding": {func(b *builder, v string) string {
			return b.node("MatMul", []string{pooled(b, v), b.floats(6, 4)})
		}, "embedding", 4, ""},
		"an image": {func(_ *builder, v string) string { return v }, "", 6, "36 positions: their mean"},
		"tokens":   {tokens, "", 6, "36 positions: their mean"},
		"a class token": {func(b *builder, v string) string {
			v = b.node("Concat", []string{b.floats(1, 1, 6), tokens(b, v)}, "axis", 1)
			return b.node("Add", []string{v, b.node("ReduceMean", []string{v}, "axes", []int64{1})})
		}, "", 6, "37 positions: the first"},
	} {
		b, v := prelu(13, 1)
		v = c.make(b, v)
		if c.out != "" {
			b.node("Identity", []string{v})
			b.m.Graph.Nodes[len(b.m.Graph.Nodes)-1].Outputs[0], v = c.out, c.out
		}
		net, err := Import(b.model(v), Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if notes := strings.Join(net.Notes, "\n"); !net.Frozen || net.Spec.OutDim() != c.want ||
			!strings.Contains(notes, c.note) || strings.Contains(notes, "classifier") != (c.note == "classifier") {
			t.Errorf("%s: %d values, notes %q", name, net.Spec.OutDim(), net.Notes)
		}
		if got := run(t, net, images(net.Spec.Input, 2, 1), 2); slices.Equal(got[:c.want], got[c.want:]) {
			t.Errorf("%s: two images have the same values", name)
		}
	}
}

// A frozen model with a head comes back from its file with the same values, whatever its opset.
func TestFrozenModelsAreWritten(t *testing.T) {
	for _, opset := range []int64{11, 13, 17, 18, 21} {
		b, v := prelu(opset, 0)
		v = b.node("Flatten", []string{b.node("GlobalAveragePool", []string{v})})
		net, err := Import(b.model(v), Options{Size: 8})
		if err != nil {
			t.Fatal(err)
		}
		spec, err := zoo.WithHead(net.Spec, zoo.Options{Dim: 3, Normalize: true})
		if err != nil {
			t.Fatal(err)
		}
		made, err := nn.New(spec, nn.Options{Seed: 2})
		if err != nil {
			t.Fatal(err)
		}
		state := made.State()
		for i := range state.Tensors {
			if w := net.Weights.Tensor(state.Tensors[i].Name); w != nil {
				state.Tensors[i] = *w
			}
		}
		if err := made.SetState(state); err != nil {
			t.Fatal(err)
		}
		m, err := onnxexport.Export(made, Preparation{Pixels: "unit"})
		if err != nil {
			t.Fatal(err)
		}
		if m.Opset() != opset {
			t.Errorf("opset %d is written as %d", opset, m.Opset())
		}
		back, err := Import(parsed(t, m), Options{})
		if err != nil {
			t.Fatalf("opset %d: %v", opset, err)
		}
		x := images(spec.Input, 2, 4)
		want := slices.Clone(made.Infer(x, 2).Data)
		if d := distance(want, run(t, back, x, 2)); !back.Frozen || !(d <= 1e-6) || back.Preparation.Pixels != "unit" {
			t.Errorf("opset %d: differs by %g, %+v", opset, d, back.Preparation)
		}
	}
	b, v := prelu(9, 1)
	net, err := Import(b.end(v), Options{})
	if err != nil {
		t.Fatal(err)
	}
	made, err := nn.New(net.Spec, nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := onnxexport.Export(made, Preparation{}); err == nil || !strings.Contains(err.Error(), "opset 9") {
		t.Errorf("opset 9: %v", err)
	}
}

// What is wrong with a model in any case is said alone.
func TestWrongModelsAsTheyStand(t *testing.T) {
	b, v := prelu(13, 1)
	fixed := b.model(b.node("Reshape", []string{v, b.ints(1, 216)}))
	b, v = prelu(13, 1)
	foreign := b.end(b.node("Blur", []string{v}))
	texts := newBuilder(1, 77)
	texts.m.Graph.Inputs[0].Type = onnx.Int64
	words := texts.model(texts.node("Gather", []string{texts.floats(9, 4), "x"}))
	for want, c := range map[string]struct {
		m   *onnx.Model
		opt Options
	}{
		"made for images of 8 x 8, not of 12":           {fixed, Options{Size: 12}},
		`network.cut "nowhere" is not a node or tensor`: {fixed, Options{Cut: "nowhere"}},
		"operators of this kind in the model: Blur":     {foreign, Options{}},
		"takes the tokens of a text":                    {words, Options{}},
	} {
		if _, err := Import(c.m, c.opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := Import(fixed, Options{Trainable: true}); err == nil {
		t.Error("a model that is not made of layers can be trained")
	}
}
