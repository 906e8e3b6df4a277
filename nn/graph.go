package nn

import "github.com/kindred-ml/kindred/internal/budget"

// Graph is what a description comes to: its layers in the order of execution, a
// shortcut before the layers that it bypasses. Sequences are gone. It is what the
// engine runs, and what other engines and formats are made from.
type Graph struct {
	Nodes []Node
	Out   int // the value that the network returns
}

// Node is a layer of a Graph. Values are numbered: 0 is the network's input, and
// Nodes[i] makes value i+1.
type Node struct {
	LayerInfo
	// Layer has its defaults written out: the stride, the width and side padding of a
	// window, groups (-1 too), heads, momentum, eps and start. What it holds in Layers
	// and Shortcut are nodes of their own.
	Layer Layer
	// From are the values that it takes: of residual and multiply what Layers make and
	// what Shortcut makes, of concat one for each branch, else one.
	From []int
	// Prefix is what the names within it start with, with a dot at the end.
	Prefix string
	// Names are those of its parameters and running statistics, as in Net.Params.
	Names []string
}

// Graph lists the layers with what each takes and makes. Its errors are those of
// Check.
func (s *Spec) Graph() (*Graph, error) {
	g, err := s.flatten()
	if err != nil {
		return nil, err
	}
	public := &Graph{Nodes: make([]Node, len(g.nodes)), Out: g.out}
	for i := range g.nodes {
		n := &g.nodes[i]
		in := g.values[n.in]
		p := &public.Nodes[i]
		*p = Node{LayerInfo: g.info(n), Layer: n.layer.resolved(in.shape), Prefix: n.prefix}
		switch {
		case n.layer.is(Residual, Multiply):
			p.From = []int{n.in, n.short}
		case n.layer.Kind == Concat:
			p.From = n.parts
		default:
			p.From = []int{n.in}
		}
		for _, name := range n.layer.params() {
			p.Names = append(p.Names, parameter(n.prefix, name))
		}
	}
	return public, nil
}

// Shapes lists the layers in the order of execution (a shortcut comes before
// the layers it bypasses).
func (s *Spec) Shapes() ([]LayerInfo, error) {
	g, err := s.flatten()
	if err != nil {
		return nil, err
	}
	infos := make([]LayerInfo, len(g.nodes))
	for i := range g.nodes {
		infos[i] = g.info(&g.nodes[i])
	}
	return infos, nil
}

func (g *graph) info(n *node) LayerInfo {
	in, out := g.values[n.in].shape, g.values[n.out].shape
	l := LayerInfo{Path: n.path, Kind: n.layer.Kind, In: in, Out: out}
	learnable, _ := n.layer.weights(g.values[n.in])
	l.Params = int(learnable)
	if l.Kind == Conv || l.Kind == MaxPool || l.Kind == AvgPool {
		st := stride(n.layer)
		l.Unread = [2]int{max(0, n.layer.Pad+in.H-(out.H-1)*st-n.layer.Kernel),
			max(0, n.layer.padW()+in.W-(out.W-1)*st-n.layer.kernelW())}
	}
	switch l.Kind {
	case Linear:
		l.MACs = budget.Product(int64(out.Len()), int64(in.C))
	case Attention:
		l.MACs = budget.Product(2, int64(in.H*in.W), int64(out.Len()))
	case Conv:
		l.MACs = budget.Product(int64(out.Len()), int64(in.C/groups(n.layer, in)), int64(n.layer.Kernel),
			int64(n.layer.kernelW()))
	case Dense:
		l.MACs = int64(n.layer.Out) * int64(in.Len())
	}
	return l
}

// resolved is the layer with its defaults written out.
func (l *Layer) resolved(in Shape) Layer {
	r := *l
	r.Layers, r.Shortcut = nil, nil
	switch l.Kind {
	case Conv, MaxPool, AvgPool:
		r.Stride, r.KernelW, r.PadW = stride(l), l.kernelW(), l.padW()
		if l.Kind == Conv {
			r.Groups = groups(l, in)
		}
	case Attention:
		r.Heads = heads(l)
	case BatchNorm:
		r.Momentum, r.Eps = orDefault(l.Momentum, 0.1), orDefault(l.Eps, 1e-5)
	case LayerNorm:
		r.Eps = orDefault(l.Eps, 1e-5)
	case GEMPool:
		r.Start, r.Eps = orDefault(l.Start, 3), orDefault(l.Eps, 1e-6)
	case Scale:
		r.Start = orDefault(l.Start, 1)
	}
	return r
}

func orDefault(x, otherwise float64) float64 {
	if x == 0 {
		return otherwise
	}
	return x
}
