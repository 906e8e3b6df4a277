package nn

import "fmt"

// poolLayer is the descriptor of a maximum or average pool.
type poolLayer struct {
	plain
	average bool
}

func (k poolLayer) fields() []string {
	fields := []string{"kernel", "stride", "pad", "pad_end"}
	if k.average {
		fields = append(fields, "no_pad")
	}
	return fields
}

func (k poolLayer) check(l *Layer) error {
	switch {
	case l.Pad+l.PadEnd > l.Kernel/2:
		return fmt.Errorf("pad %d is more than half of the kernel %d", l.Pad+l.PadEnd, l.Kernel)
	case !k.average && l.Kernel > 15:
		return fmt.Errorf("kernel = %d; maximum pools go up to 15", l.Kernel)
	}
	return nil
}

func (poolLayer) defaults(l *Layer, _ Shape) {
	if l.Stride == 0 {
		l.Stride = l.Kernel
	}
	l.KernelW, l.PadW = l.Kernel, l.Pad
}

func (poolLayer) output(l *Layer, in value) (value, error) {
	if err := onGrid(in); err != nil {
		return value{}, err
	}
	h, w, err := windows(l, in.shape)
	return value{shape: Shape{h, w, in.shape.C}}, err
}

func (k poolLayer) step(c *compiler, i int) (step, int) {
	n, in, out := c.at(i)
	l := n.layer
	return &poolStep{unary: unary{path: n.path, in: in, out: out}, kernel: l.Kernel, stride: l.Stride, pad: l.Pad,
		padEnd: l.PadEnd, average: k.average, within: l.NoPad}, i
}

// isHalving tells whether a layer is a maximum pool of 2 x 2 windows side by side.
func isHalving(l *Layer) bool {
	return l.Kind == MaxPool && l.Kernel == 2 && l.Stride == 2 && l.Pad+l.PadEnd == 0
}

// globalPoolLayer is the descriptor of the mean over positions.
type globalPoolLayer struct{ plain }

func (globalPoolLayer) fields() []string { return []string{"at"} }

func (globalPoolLayer) output(l *Layer, in value) (value, error) { return takenFrom(l, in) }

// takenFrom is the output of a layer that makes one position of those from At on.
func takenFrom(l *Layer, in value) (value, error) {
	if err := whole(in, "an image"); err != nil {
		return value{}, err
	}
	if s := in.shape; l.At >= s.H*s.W {
		return value{}, fmt.Errorf("at = %d, but its input has %d positions", l.At, s.H*s.W)
	}
	return value{shape: Shape{1, 1, in.shape.C}}, nil
}

func (globalPoolLayer) step(c *compiler, i int) (step, int) {
	n, in, out := c.at(i)
	return &globalPoolStep{unary: unary{path: n.path, in: in, out: out}, from: n.layer.At}, i
}
