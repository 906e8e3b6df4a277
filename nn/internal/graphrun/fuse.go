package graphrun

// joined is what a product or convolution does with its result before it is stored: a scale and a
// shift for each channel, then a tensor that is added, then an activation.
type joined struct {
	biased       bool // the shift is in place of its own bias
	scale, shift []float32
	reads        []int // the value that is added, beside the node's inputs
	add          int
	relu, relu6  bool
	act          func(y, x []float32)
}

func (p *Program) fuse() {}
