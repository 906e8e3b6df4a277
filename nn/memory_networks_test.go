package nn_test

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/zoo"
)

func TestMemoryCountsParametersAndActivations(t *testing.T) {
	for _, c := range []struct {
		name           string
		side, channels int
	}{
		{"mnist", 28, 1}, {"conv4", 28, 1}, {"conv4", 60, 3}, {"resnet18", 32, 3}, {"resnet18", 112, 3},
		{"resnet50", 64, 3}, {"mobilenet_v2", 48, 3}, {"mlp", 1, 100}, {"mobilenet_v1", 96, 3},
		{"mobilenet_v3_large", 96, 3}, {"efficientnet_b0", 96, 3}, {"convnext_tiny", 64, 3}, {"vit_s16", 96, 3},
		{"vit_s14", 112, 3},
	} {
		input := nn.Shape{H: c.side, W: c.side, C: c.channels}
		o := zoo.Options{Input: input, HeadNorm: c.name == "mlp"}
		switch {
		case strings.HasPrefix(c.name, "vit"):
			o.Width, o.Heads, o.Depth = 96, 3, 4
		case c.name == "resnet50", c.name == "convnext_tiny":
			o.Multiple = 0.5
		}
		s, err := zoo.Network(c.name, o)
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Memory()
		if err != nil {
			t.Fatal(err)
		}
		e, err := nn.New(s, nn.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var params, trained int
		for _, p := range e.Params() {
			params += len(p.Value)
			trained += len(p.Grad)
		}
		if m.Params != int64(params) || m.Trained != int64(trained) {
			t.Errorf("%s: %d parameters planned, %d of them trained; there are %d and %d", c.name, m.Params, m.Trained,
				params, trained)
		}
		train, eval := e.ArenaSizes()
		for what, r := range map[string]float64{"training": float64(m.Image) / float64(train),
			"evaluation": float64(m.Infer) / float64(eval)} {
			if r < 0.95 || r > 2.7 {
				t.Errorf("%s on %s: activations in %s planned at %.2f times what they are", c.name, input, what, r)
			}
		}
	}
}

// FuzzNetworkOfSpec makes the networks that descriptions describe, as reading
// model.json does, within the limit, and runs them.
func FuzzNetworkOfSpec(f *testing.F) {
	for _, name := range []string{"mnist", "linear", "conv4"} {
		s, err := zoo.Network(name, zoo.Options{Input: nn.Shape{H: 28, W: 28, C: 1}, Dim: 4, Width: 4})
		if err != nil {
			f.Fatal(err)
		}
		b, err := s.JSON()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"format":"kindred-network","version":1,"name":"r","input":{"h":4,"w":4,"c":2},"layers":[{"kind":"residual","layers":[{"kind":"conv","name":"c","out":2,"kernel":3,"pad":1},{"kind":"batch_norm","name":"b"}]},{"kind":"avg_pool","kernel":4},{"kind":"dropout","rate":0.5},{"kind":"l2_normalize"}]}`))
	f.Add([]byte(`{"format":"kindred-network","version":1,"name":"w","input":{"h":1,"w":1,"c":9},"layers":[{"kind":"dense","name":"f","out":1048576},{"kind":"dense","name":"g","out":1048576}]}`))
	old := debug.SetMemoryLimit(32 << 20)
	f.Cleanup(func() { debug.SetMemoryLimit(old) })
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := nn.ParseSpec(data)
		if err != nil {
			return
		}
		again, err := s.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nn.ParseSpec(again); err != nil {
			t.Fatalf("what JSON wrote is not read: %v", err)
		}
		m, err := s.Memory()
		if err != nil {
			t.Fatalf("a valid description has no plan: %v", err)
		}
		e, err := nn.New(s, nn.Options{})
		if err != nil {
			return
		}
		n := 0
		for _, p := range e.Params() {
			n += len(p.Value)
		}
		if int64(n) != m.Params {
			t.Fatalf("%d values, %d planned", n, m.Params)
		}
		infos, err := s.Shapes()
		if err != nil {
			t.Fatal(err)
		}
		var work, params int64
		for _, l := range infos {
			work = budget.Sum(work, l.MACs)
			params += int64(l.Params)
		}
		if params != m.Trained {
			t.Fatalf("%d parameters by layer, %d planned", params, m.Trained)
		}
		if m.Image > 1<<16 || work > 1<<24 {
			return
		}
		if x := e.Infer(make([]float32, s.Input.Len()), 1); x.Cols != s.OutDim() || e.Dim() != s.OutDim() {
			t.Fatalf("embeddings of %d numbers, %d described", x.Cols, s.OutDim())
		}
	})
}
