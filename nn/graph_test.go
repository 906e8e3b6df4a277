package nn_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/netcases"
	"github.com/kindred-ml/kindred/nn"
)

// TestGraph: every node takes values made before it, of the shapes it says, and the
// names of all nodes are those of the network's parameters, in their order.
func TestGraph(t *testing.T) {
	for name, spec := range netcases.Layers() {
		g, err := spec.Graph()
		if err != nil {
			t.Fatal(err)
		}
		net, err := nn.New(spec, nn.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		infos, err := spec.Shapes()
		if err != nil {
			t.Fatal(err)
		}
		shapes := []nn.Shape{spec.Input}
		var names, want []string
		for i, n := range g.Nodes {
			if n.LayerInfo != infos[i] {
				t.Errorf("%s: layer %d is %+v, Shapes says %+v", name, i, n.LayerInfo, infos[i])
			}
			for _, v := range n.From {
				if v < 0 || v > i {
					t.Fatalf("%s: layer %s takes value %d, but makes value %d", name, n.Path, v, i+1)
				}
			}
			if len(n.From) == 0 || shapes[n.From[0]] != n.In {
				t.Errorf("%s: layer %s takes %v, which are not %s", name, n.Path, n.From, n.In)
			}
			for _, p := range n.Names {
				if p != n.Path && !strings.HasPrefix(p, n.Prefix) {
					t.Errorf("%s: parameter %s of layer %s does not start with %q", name, p, n.Path, n.Prefix)
				}
			}
			shapes, names = append(shapes, n.Out), append(names, n.Names...)
		}
		for _, p := range net.Params() {
			want = append(want, p.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: parameters %v, want %v", name, names, want)
		}
		if shapes[g.Out].Len() != net.Dim() {
			t.Errorf("%s: the graph returns %s, the network %d values", name, shapes[g.Out], net.Dim())
		}
	}
	if _, err := (&nn.Spec{Name: "none", Input: nn.Shape{H: 1, W: 1, C: 1}}).Graph(); err == nil {
		t.Error("a network of no layers has a graph")
	}
}

// TestGraphWritesDefaults: a reader of a graph needs to know no default.
func TestGraphWritesDefaults(t *testing.T) {
	spec := &nn.Spec{Name: "defaults", Input: nn.Shape{H: 8, W: 8, C: 6}, Layers: []nn.Layer{
		{Kind: nn.Conv, Name: "a", Out: 6, Kernel: 3, Pad: 1, Groups: -1},
		{Kind: nn.BatchNorm, Name: "b"},
		{Kind: nn.Residual, Layers: []nn.Layer{{Kind: nn.Conv, Name: "c", Out: 6, Kernel: 1, KernelW: 3, PadW: 1}}},
		{Kind: nn.MaxPool, Kernel: 2},
		{Kind: nn.LayerNorm, Name: "d", Eps: 1e-3},
		{Kind: nn.Attention},
		{Kind: nn.Scale, Name: "e"},
		{Kind: nn.GEMPool, Name: "f"},
	}}
	g, err := spec.Graph()
	if err != nil {
		t.Fatal(err)
	}
	got := map[nn.Kind]nn.Layer{}
	for _, n := range g.Nodes {
		if n.Layer.Name != "a" { // the other convolution
			got[n.Kind] = n.Layer
		}
		if len(n.Layer.Layers)+len(n.Layer.Shortcut) > 0 {
			t.Errorf("layer %s holds layers that are nodes", n.Path)
		}
	}
	if a := g.Nodes[0].Layer; a.Stride != 1 || a.KernelW != 3 || a.PadW != 1 || a.Groups != 6 {
		t.Errorf("convolution: %+v", a)
	}
	if c := got[nn.Conv]; c.Stride != 1 || c.Kernel != 1 || c.KernelW != 3 || c.Pad != 0 || c.PadW != 1 ||
		c.Groups != 1 {
		t.Errorf("wide convolution: %+v", c)
	}
	if b := got[nn.BatchNorm]; b.Momentum != 0.1 || b.Eps != 1e-5 {
		t.Errorf("batch norm: %+v", b)
	}
	if p := got[nn.MaxPool]; p.Stride != 2 || p.KernelW != 2 {
		t.Errorf("pool: %+v", p)
	}
	if d := got[nn.LayerNorm]; d.Eps != 1e-3 {
		t.Errorf("layer norm: %+v", d)
	}
	if got[nn.Attention].Heads != 1 || got[nn.Scale].Start != 1 {
		t.Errorf("attention %+v, scale %+v", got[nn.Attention], got[nn.Scale])
	}
	if f := got[nn.GEMPool]; f.Start != 3 || f.Eps != 1e-6 {
		t.Errorf("generalised mean: %+v", f)
	}
	if s := spec.Layers[0]; s.Stride != 0 || s.Groups != -1 {
		t.Errorf("the description has changed: %+v", s)
	}
}
