package nn

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
)

// Param is one tensor of a network. Value and Grad are in the engine's layout:
// filters [out][h][w][in], dense weights after a flatten [out][h][w][in
// channel]. ToTorch and FromTorch convert to and from PyTorch's layout.
type Param struct {
	Name  string
	Shape []int // PyTorch's, for example [out, in, h, w]
	Value []float32
	Grad  []float32 // nil for running statistics and frozen parameters
	// Frozen parameters get no gradient, and optimizers leave them alone.
	Frozen bool
	// Buffer marks running statistics: saved with the network, never trained.
	Buffer bool

	dims [4]int // out, in, height, width as PyTorch orders them
	// fanIn of the layer, for the default start; filters x area for fan out.
	fanIn, fanOut int
	init          Init
	bias          bool
	constant      float32 // start of parameters that are not drawn
	isDrawn       bool
	grid          grid // of a position embedding: what its positions are
	zeros         [2]int
	adapter       bool // of LoRA
}

// IsAdapter reports whether the parameter is A or B of a linear layer with Rank.
func (p *Param) IsAdapter() bool { return p.adapter }

// Zeros returns the range of values that are always 0: the biases of keys in a layer with
// NoKeyBias. For another parameter lo is hi.
func (p *Param) Zeros() (lo, hi int) { return p.zeros[0], p.zeros[1] }

// Grid describes the rows of a position embedding: first those of the tokens, then those
// of h x w positions. For another parameter it returns 0.
func (p *Param) Grid() (tokens, h, w int) { return p.grid.tokens, p.grid.h, p.grid.w }

// ToTorch writes the value in PyTorch's order; len(dst) must be len(Value).
func (p *Param) ToTorch(dst []float32) {
	if len(dst) != len(p.Value) {
		panic("nn: destination is not as long as parameter " + p.Name)
	}
	p.permute(func(torch, engine int) { dst[torch] = p.Value[engine] })
}

// FromTorch sets the value from src in PyTorch's order; len(src) must be
// len(Value).
func (p *Param) FromTorch(src []float32) {
	if len(src) != len(p.Value) {
		panic("nn: source is not as long as parameter " + p.Name)
	}
	p.permute(func(torch, engine int) { p.Value[engine] = src[torch] })
	clear(p.Value[p.zeros[0]:p.zeros[1]])
}

// permute calls f with matching offsets in PyTorch's and the engine's layout,
// which are one for a parameter that was made outside this package.
func (p *Param) permute(f func(torch, engine int)) {
	if p.dims == [4]int{} {
		for i := range p.Value {
			f(i, i)
		}
		return
	}
	out, in, h, w := p.dims[0], p.dims[1], p.dims[2], p.dims[3]
	i := 0
	for k := range out {
		for c := range in {
			for r := range h {
				for s := range w {
					f(i, ((k*h+r)*w+s)*in+c)
					i++
				}
			}
		}
	}
}

// initialize sets the start value. Every parameter has a random stream of its own,
// fixed by the seed and its name, so that adding a layer changes no other.
func (p *Param) initialize(seed uint64) {
	if !p.isDrawn {
		for i := range p.Value {
			p.Value[i] = p.constant
		}
		return
	}
	h := fnv.New64a()
	h.Write([]byte(p.Name))
	rng := rand.New(rand.NewPCG(seed, h.Sum64()))
	bound := 1 / math.Sqrt(float64(p.fanIn))
	sd := 0.01
	if p.init == InitKaimingOut {
		sd = math.Sqrt(2 / float64(p.fanOut))
	}
	torch := make([]float32, len(p.Value))
	for i := range torch {
		switch {
		case p.init == InitDefault:
			torch[i] = float32((2*rng.Float64() - 1) * bound)
		case p.init == InitTruncated && !p.bias:
			z := rng.NormFloat64()
			for math.Abs(z) > 2 {
				z = rng.NormFloat64()
			}
			torch[i] = float32(0.02 * z)
		case !p.bias:
			torch[i] = float32(rng.NormFloat64() * sd)
		}
	}
	p.FromTorch(torch)
}

// params describes the parameters of node i, without their values.
func (g *graph) params(i int) []*Param {
	n := &g.nodes[i]
	return n.kind.params(n, g.values[n.input()])
}

// parameter joins the prefix of a layer, with its dot, and one of its params.
func parameter(prefix, name string) string {
	if name == "" {
		return strings.TrimSuffix(prefix, ".")
	}
	return prefix + name
}

// perFeature makes a parameter of one value for each channel, or for each value
// of a vector.
func perFeature(name string, in value) *Param {
	dims := [4]int{1, in.shape.C, 1, 1}
	if in.flat {
		dims[2], dims[3] = in.shape.H, in.shape.W
	}
	p := tensor(name, dims, 4)
	p.Shape = []int{p.len()}
	return p
}

// weightNames are the names of a layer's parameters, with or without a bias.
func weightNames(l *Layer) []string {
	if l.NoBias {
		return []string{"weight"}
	}
	return []string{"weight", "bias"}
}

func weightAndBias(w *Param, n *node, fanIn, fanOut int) []*Param {
	w.isDrawn, w.init, w.fanIn, w.fanOut = true, n.layer.Init, fanIn, fanOut
	if n.layer.NoBias {
		return []*Param{w}
	}
	b := tensor(n.prefix+"bias", [4]int{n.layer.Out, 1, 1, 1}, 1)
	b.isDrawn, b.init, b.fanIn, b.bias = true, n.layer.Init, fanIn, true
	return []*Param{w, b}
}

func tensor(name string, dims [4]int, rank int) *Param {
	return &Param{Name: name, Shape: append([]int(nil), dims[:rank]...), dims: dims}
}

// len is the number of values, which there is room for once the network is made.
func (p *Param) len() int { return p.dims[0] * p.dims[1] * p.dims[2] * p.dims[3] }
