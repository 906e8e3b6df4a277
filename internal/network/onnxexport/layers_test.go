package onnxexport

import (
	"path"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/network/published"
	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/nn"
)

// TestEveryKindIsWritten: Export writes every kind of layer wherever it may stand, as a
// model whose shapes agree.
func TestEveryKindIsWritten(t *testing.T) {
	for _, k := range nn.Kinds() {
		if writers[k] == nil && k != nn.Sequential {
			t.Errorf("%s is not written", k)
		}
	}
	for name, spec := range netcases.Layers() {
		net, err := nn.New(spec, nn.Options{Seed: 5})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := Export(net, published.Preparation{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Operators are named by the path of their layer, or of what an unnamed one is in.
func TestNamesOfOperators(t *testing.T) {
	net, err := nn.New(&nn.Spec{Name: "names", Input: nn.Shape{H: 8, W: 8, C: 3}, Layers: []nn.Layer{
		{Kind: nn.ReLU}, {Kind: nn.Sequential, Name: "body", Layers: []nn.Layer{
			{Kind: nn.Conv, Name: "conv", Out: 4, Kernel: 3}, {Kind: nn.ReLU},
			{Kind: nn.Sequential, Name: "deep", Layers: []nn.Layer{{Kind: nn.Sigmoid}}}}},
		{Kind: nn.GlobalAvgPool}, {Kind: nn.Dense, Name: "fc", Out: 2}}}, nn.Options{Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Export(net, published.Preparation{})
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for _, n := range m.Graph.Nodes {
		at[path.Dir(n.Name)+" "+n.Op]++
		if strings.Contains(n.Name, "//") {
			t.Errorf("an operator %s", n.Name)
		}
	}
	for _, want := range []string{"/ Relu", "/body/conv Conv", "/body Relu", "/body/deep Sigmoid",
		"/ GlobalAveragePool", "/fc Gemm"} {
		if at[want] != 1 {
			t.Errorf("%d operators %s among %v", at[want], want, at)
		}
	}
}
