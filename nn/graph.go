package nn

// Graph is a network's layers in the order of execution, a shortcut before the layers
// that it bypasses, without sequences. The engine runs it; other engines and file
// formats are made from it.
type Graph struct {
	Nodes []Node
	Out   int // the value that the network returns
	// Params are the parameters in the order of Nodes, without values. The first Body of
	// them belong to Spec.Body.
	Params []*Param
	Body   int
}

// Node is a layer of a Graph. Values are numbered: 0 is the network's input, and
// Nodes[i] makes value i+1.
type Node struct {
	LayerInfo
	// Layer has its defaults filled in: the stride, the width and side padding of a
	// window, groups (also for -1), heads, momentum, eps and start. The layers in Layers
	// and Shortcut are separate nodes.
	Layer Layer
	// From are the values that it takes: for residual and multiply the results of Layers
	// and of Shortcut, for concat one for each branch, otherwise one.
	From []int
	// Prefix starts the names of all that it contains, with a dot at the end.
	Prefix string
	taken  value // the first value that it takes
	// Names are the names of its parameters and running statistics, as in Net.Params.
	Names []string
}

// Graph lists the layers with their inputs and outputs. It returns the errors of Check.
func (s *Spec) Graph() (*Graph, error) {
	g, err := s.flatten()
	if err != nil {
		return nil, err
	}
	public := &Graph{Nodes: make([]Node, len(g.nodes)), Out: g.out}
	head := headIndex(s.Layers)
	for i := range g.nodes {
		n := &g.nodes[i]
		p := &public.Nodes[i]
		*p = Node{LayerInfo: g.info(n), Layer: *n.layer, From: n.from, Prefix: n.prefix, taken: g.values[n.input()]}
		p.Layer.Layers, p.Layer.Shortcut = nil, nil
		for _, name := range n.kind.names(n.layer) {
			p.Names = append(p.Names, parameter(n.prefix, name))
		}
		public.Params = append(public.Params, g.params(i)...)
		if n.top < head {
			public.Body = len(public.Params)
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
	l := n.layer
	in, out := g.values[n.input()].shape, g.values[n.out].shape
	learnable, _ := n.countWeights(g.values[n.input()])
	info := LayerInfo{Path: n.path, Kind: l.Kind, In: in, Out: out, Params: int(learnable),
		MACs: n.kind.macs(l, in, out)}
	if l.Kernel > 0 {
		info.UncoveredEdge = [2]int{max(0, l.Pad+in.H-(out.H-1)*l.Stride-l.Kernel),
			max(0, l.PadW+in.W-(out.W-1)*l.Stride-l.KernelW)}
	}
	return info
}

func valueOr(x, otherwise float64) float64 {
	if x == 0 {
		return otherwise
	}
	return x
}
