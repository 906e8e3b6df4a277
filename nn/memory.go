package nn

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// Memory is what a network needs, in values of 4 bytes, determined from its
// description before anything is allocated. Numbers that int64 cannot hold are
// math.MaxInt64.
type Memory struct {
	Params  int64 // parameters, running statistics and what a graph of operators holds beside them
	Trained int64 // parameters; each has a gradient beside its value
	// Image is an estimate of the activations of one image and their gradients in
	// training: the engine shares buffers where it can.
	Image int64
	// Infer is an estimate of the activations of one image in evaluation.
	Infer int64
}

// Memory computes the memory of the network that s describes. Its errors are
// those of Check.
func (s *Spec) Memory() (Memory, error) {
	g, err := s.flatten()
	if err != nil {
		return Memory{}, err
	}
	return g.memory(), nil
}

func (g *graph) memory() Memory {
	var m Memory
	var largest, lasting, kept int64
	pooled := g.pooledNodes()
	for i := range g.nodes {
		n := &g.nodes[i]
		in, made := g.values[n.input()], g.outputLen(i)
		weights, buffers := n.countWeights(in)
		m.Trained = budget.Sum(m.Trained, weights)
		m.Params = budget.Sum(m.Params, weights, buffers)
		kept = budget.Sum(kept, n.kind.savedValues(g, i))
		if n.layer.Kind == Operators { // packed weights, and the values of one image at a time
			m.Params = budget.Sum(m.Params, buffers, int64(n.layer.Room))
		}
		largest = max(largest, made)
		if !pooled[i] {
			lasting = max(lasting, made)
		}
	}
	// Backward needs what every layer made; gradients live for a step or two.
	m.Image = budget.Sum(kept, largest)
	// In 8 bits a convolution that stays in float32 is not pooled in its own pass.
	m.Infer = max(budget.Product(3, lasting), budget.Sum(largest, lasting))
	return m
}

// pooledNodes tells of each node whether evaluation in float32 pools what it makes before that is
// stored.
func (g *graph) pooledNodes() []bool {
	pooled, readers := make([]bool, len(g.nodes)), g.readers()
	for i := range g.nodes {
		l := g.nodes[i].layer
		if l.Kind != MaxPool || !isPool3x3(l.Kernel, l.Stride, l.Pad, g.values[g.nodes[i].input()].shape) {
			continue
		}
		for k := i - 1; k >= 0 && g.nodes[k].out == g.nodes[k+1].input() && readers[g.nodes[k].out] == 1; k-- {
			n := &g.nodes[k]
			if n.layer.Kind == Conv {
				if newConvStep(n, &tensorRef{shape: g.values[n.input()].shape}, nil, nil).shape.CanPool() {
					for j := k; j < i; j++ {
						pooled[j] = true
					}
				}
				break
			}
			if _, act := n.kind.(actLayer); !act && n.layer.Kind != BatchNorm {
				break
			}
		}
	}
	return pooled
}

// countWeights counts the learnable values of a node, and its running statistics and weights that
// are never trained.
func (n *node) countWeights(in value) (learnable, buffers int64) {
	for _, p := range n.kind.params(n, in) {
		size := budget.Product(int64(p.dims[0]), int64(p.dims[1]), int64(p.dims[2]), int64(p.dims[3]))
		if p.Buffer || p.Frozen {
			buffers = budget.Sum(buffers, size)
		} else {
			learnable = budget.Sum(learnable, size)
		}
	}
	return learnable, buffers
}

// check compares the values and gradients of the parameters with the limit.
func (m Memory) check(name string) error {
	return budget.Check(fmt.Sprintf("network %s of %s parameters", name, shortNumber(m.Trained)),
		budget.Product(4, budget.Sum(m.Params, m.Trained)))
}

// shortNumber writes a large number short: 11.2 M.
func shortNumber(n int64) string {
	v, units := float64(n), []string{"", " k", " M", " G", " T"}
	u := 0
	for u+1 < len(units) && v >= 999.5 {
		v, u = v/1000, u+1
	}
	return fmt.Sprintf("%.3g%s", v, units[u])
}
