package nn

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/budget"
)

// Memory is what a network needs, in values of 4 bytes, determined from its
// description before anything is allocated. Numbers that int64 cannot hold are
// math.MaxInt64.
type Memory struct {
	Params  int64 // parameters and running statistics
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
	var largest, kept int64
	for i := range g.nodes {
		n := &g.nodes[i]
		in, out := g.values[n.in], g.values[n.out]
		weights, buffers := n.layer.weights(in)
		m.Trained = budget.Sum(m.Trained, weights)
		m.Params = budget.Sum(m.Params, weights, buffers)
		if g.keeps(i) {
			kept = budget.Sum(kept, int64(out.shape.Len()))
		}
		if n.layer.Kind == Attention { // a sum for each head and position
			kept = budget.Sum(kept, budget.Product(int64(heads(n.layer)), int64(in.shape.H), int64(in.shape.W)))
		}
		largest = max(largest, int64(out.shape.Len()))
	}
	// Backward needs what every layer made; gradients live for a step or two.
	m.Image = budget.Sum(kept, largest)
	m.Infer = budget.Product(3, largest)
	return m
}

// keeps tells whether what node i makes has a buffer of its own in training, that
// backward reads.
func (g *graph) keeps(i int) bool {
	n := &g.nodes[i]
	after := func(k Kind) bool { return i > 0 && g.nodes[i-1].out == n.in && g.nodes[i-1].layer.Kind == k }
	switch n.layer.Kind {
	case Flatten:
		return n.layer.ChannelFirst
	case ReLU, ReLU6, Residual:
		return false
	case SiLU, HardSwish, Sigmoid, HardSigmoid, GELU, GELUTanh, QuickGELU:
		return !after(BatchNorm)
	case Scale:
		return !after(Linear)
	case BatchNorm:
		return !g.pooledNorm(i)
	}
	return true
}

// pooledNorm tells whether node i is a batch norm whose activation goes straight
// into a pool: the engine makes the pool's output at once.
func (g *graph) pooledNorm(i int) bool {
	if i+2 >= len(g.nodes) {
		return false
	}
	norm, act, pool := g.nodes[i].layer.Kind, g.nodes[i+1].layer.Kind, g.nodes[i+2].layer
	return norm == BatchNorm && (act == ReLU || act == ReLU6) && pool.Kind == MaxPool && isHalving(pool)
}

// weights counts the learnable values of a layer and its running statistics.
func (l *Layer) weights(in value) (learnable, buffers int64) {
	s := in.shape
	bias := int64(l.Out)
	if l.NoBias {
		bias = 0
	}
	switch l.Kind {
	case Conv:
		w := budget.Product(int64(l.Out), int64(s.C/groups(l, s)), int64(l.Kernel), int64(l.kernelW()))
		return budget.Sum(w, bias), 0
	case Dense:
		return budget.Sum(budget.Product(int64(l.Out), int64(s.Len())), bias), 0
	case Linear:
		return budget.Sum(budget.Product(int64(l.Out), int64(s.C)), bias), 0
	case BatchNorm:
		n := 2 * int64(features(in))
		return n, n
	case LayerNorm:
		return 2 * int64(features(in)), 0
	case Tokens:
		return budget.Product(int64(l.Out), int64(s.C)), 0
	case Positions:
		return int64(s.Len()), 0
	case Scale, Shift:
		return int64(features(in)), 0
	case GEMPool:
		return 1, 0
	}
	return 0, 0
}

// check compares the values and gradients of the parameters with the limit.
func (m Memory) check(name string) error {
	return budget.Check(fmt.Sprintf("network %s of %s parameters", name, count(m.Trained)),
		budget.Product(4, budget.Sum(m.Params, m.Trained)))
}

// count writes a large number short: 11.2 M.
func count(n int64) string {
	v, units := float64(n), []string{"", " k", " M", " G", " T"}
	u := 0
	for u+1 < len(units) && v >= 999.5 {
		v, u = v/1000, u+1
	}
	return fmt.Sprintf("%.3g%s", v, units[u])
}
