package nn

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/budget"
)

func TestMemoryCountsParametersAndActivations(t *testing.T) {
	for _, c := range []struct {
		name  string
		input Shape
	}{
		{"mnist", Shape{28, 28, 1}}, {"conv4", Shape{28, 28, 1}}, {"conv4", Shape{60, 60, 3}},
		{"resnet18", Shape{32, 32, 3}},
		{"resnet18", Shape{112, 112, 3}}, {"resnet50", Shape{64, 64, 3}}, {"mobilenet_v2", Shape{48, 48, 3}},
		{"mlp", Shape{1, 1, 100}}, {"mobilenet_v1", Shape{96, 96, 3}}, {"mobilenet_v3_large", Shape{96, 96, 3}},
		{"efficientnet_b0", Shape{96, 96, 3}}, {"convnext_tiny", Shape{64, 64, 3}},
		{"vit_s16", Shape{96, 96, 3}}, {"vit_s14", Shape{112, 112, 3}},
	} {
		s, err := Network(c.name, NetworkOptions{Input: c.input, HeadNorm: c.name == "mlp"})
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Memory()
		if err != nil {
			t.Fatal(err)
		}
		e, err := New(s, Options{})
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
		for what, r := range map[string]float64{"training": float64(m.Image) / float64(e.train.size),
			"evaluation": float64(m.Infer) / float64(e.eval.size)} {
			if r < 0.95 || r > 2.7 {
				t.Errorf("%s on %s: activations in %s planned at %.2f times what they are", c.name, c.input, what, r)
			}
		}
	}
}

func TestNetworksBeyondTheLimitAreNotMade(t *testing.T) {
	old := debug.SetMemoryLimit(64 << 20)
	t.Cleanup(func() { debug.SetMemoryLimit(old) })
	dense := func(outs ...int) *Spec {
		s := &Spec{Name: "wide", Input: Shape{1, 1, 1 << 10}}
		for i, n := range outs {
			s.Layers = append(s.Layers, Layer{Kind: Dense, Name: fmt.Sprint("fc", i), Out: n, NoBias: true})
		}
		return s
	}
	const most = 64 << 20 / 8 / 1024 // outputs whose values and gradients just fit
	if _, err := New(dense(most), Options{}); err != nil {
		t.Errorf("all of the limit: %v", err)
	}
	for _, c := range []struct {
		spec *Spec
		says string
	}{
		{dense(most + 1), "network wide of 8.39 M parameters: needs 64 MiB, the limit is 64 MiB"},
		{dense(1<<20, 1<<20), "network wide of 1.1 T parameters: needs 8.01 TiB"},
		{dense(1<<20, 1<<20, 1<<20, 1<<20), "network wide of 3.3 T parameters: needs 24 TiB"},
		{&Spec{Name: "conv", Input: Shape{1 << 10, 1 << 10, 1 << 10}, Layers: []Layer{
			{Kind: Conv, Name: "c", Out: 1 << 20, Kernel: 1 << 20, Pad: 1 << 20, Stride: 1 << 20},
			{Kind: GlobalAvgPool},
		}}, "needs more than 8 EiB"},
		{&Spec{Name: "norms", Input: Shape{1, 1, 1 << 24}, Layers: []Layer{
			{Kind: BatchNorm, Name: "a"}, {Kind: BatchNorm, Name: "b"},
		}}, "network norms of 67.1 M parameters: needs 768 MiB"},
	} {
		_, err := New(c.spec, Options{})
		var e *budget.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("error %v, want one with %q", err, c.says)
		}
	}
}

func TestLayersAreCounted(t *testing.T) {
	deep := func(n int) *Spec {
		s := &Spec{Name: "deep", Input: Shape{1, 1, 4}}
		for range n {
			s.Layers = append(s.Layers, Layer{Kind: ReLU})
		}
		return s
	}
	if err := deep(maxLayers).Check(); err != nil {
		t.Errorf("%d layers: %v", maxLayers, err)
	}
	if err := deep(maxLayers + 1).Check(); err == nil || !strings.Contains(err.Error(), "more than 10000 layers") {
		t.Errorf("%d layers: %v", maxLayers+1, err)
	}
	var norms strings.Builder
	norms.WriteString(`{"format":"kindred-network","version":1,"name":"n","input":{"h":1,"w":1,"c":4},"layers":[`)
	for i := range 200_000 {
		fmt.Fprintf(&norms, `{"kind":"batch_norm","name":"b%d"},`, i)
	}
	norms.WriteString(`{"kind":"relu"}]}`)
	if _, err := ParseSpec([]byte(norms.String())); err == nil ||
		!strings.Contains(err.Error(), "more than 10000 layers") {
		t.Errorf("200,000 norms: %v", err)
	}
	if _, err := ParseSpec([]byte(strings.Repeat(" ", maxSpec+1))); err == nil ||
		!strings.Contains(err.Error(), "8388609 bytes; at most 8388608 are read") {
		t.Errorf("a long text: %v", err)
	}
	if _, err := ParseSpec([]byte(`{"format":"kindred-network","version":1,"layers":` +
		strings.Repeat(`[{"kind":"sequential","layers":`, 1<<16))); err == nil {
		t.Error("65,536 sequences in one another were read")
	}
}

func TestCountIsShort(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1 k", 11_244_096: "11.2 M", 1 << 40: "1.1 T",
		math.MaxInt64: "9.22e+06 T", 999_499: "999 k", 999_500: "1 M"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
}

// FuzzNetworkOfSpec makes the networks that descriptions describe, as reading
// model.json does, within the limit, and runs them.
func FuzzNetworkOfSpec(f *testing.F) {
	for _, name := range []string{"mnist", "linear", "conv4"} {
		s, err := Network(name, NetworkOptions{Input: Shape{28, 28, 1}, Dim: 4, Width: 4})
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
		s, err := ParseSpec(data)
		if err != nil {
			return
		}
		again, err := s.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseSpec(again); err != nil {
			t.Fatalf("what JSON wrote is not read: %v", err)
		}
		m, err := s.Memory()
		if err != nil {
			t.Fatalf("a valid description has no plan: %v", err)
		}
		e, err := New(s, Options{})
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
