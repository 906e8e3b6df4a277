package nn

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

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
		if got := shortNumber(n); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
}
