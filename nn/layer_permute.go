package nn

import (
	"fmt"
)

// channelsLayer is the descriptor of a part of the channels.
type channelsLayer struct{ baseLayer }

func (channelsLayer) fields() []string { return []string{"out", "at"} }

func (channelsLayer) output(l *Layer, in value) (value, error) {
	if err := checkChannels(in); err != nil {
		return value{}, err
	}
	if l.At+l.Out > in.shape.C {
		return value{}, fmt.Errorf("channels %d to %d, but its input has %d", l.At, l.At+l.Out-1, in.shape.C)
	}
	in.shape.C = l.Out
	return in, nil
}

// checkChannels tests that the input has channels: a vector's values are its channels.
func checkChannels(in value) error {
	if in.shape.H*in.shape.W > 1 {
		return checkPositions(in, "channels")
	}
	return nil
}

func (channelsLayer) step(c *compiler, i int) (step, int) {
	at := c.g.nodes[i].layer.At
	return c.newPermuteStep(i, func(k int) int { return at + k })
}

// shuffleLayer is the descriptor of groups of channels that are interleaved.
type shuffleLayer struct{ baseLayer }

func (shuffleLayer) fields() []string { return []string{"groups"} }

func (shuffleLayer) check(l *Layer) error {
	if l.Groups < 1 {
		return fmt.Errorf("groups = %d; it must be positive", l.Groups)
	}
	return nil
}

func (shuffleLayer) output(l *Layer, in value) (value, error) {
	if err := checkChannels(in); err != nil {
		return value{}, err
	}
	if in.shape.C%l.Groups != 0 {
		return value{}, fmt.Errorf("%d groups do not divide %d channels", l.Groups, in.shape.C)
	}
	return in, nil
}

func (shuffleLayer) step(c *compiler, i int) (step, int) {
	groups, channels := c.g.nodes[i].layer.Groups, c.ref(c.g.nodes[i].out).shape.C
	return c.newPermuteStep(i, func(k int) int { return shuffleSource(k, groups, channels) })
}

// flattenLayer is the descriptor of a vector of all values.
type flattenLayer struct{ baseLayer }

func (flattenLayer) fields() []string { return []string{"channel_first"} }

func (flattenLayer) output(l *Layer, in value) (value, error) {
	s := in.shape
	if l.ChannelFirst {
		s = Shape{1, 1, s.Len()}
	}
	return value{shape: s, flat: true}, nil
}

func (flattenLayer) savedValues(g *graph, i int) int64 {
	if !g.nodes[i].layer.ChannelFirst {
		return 0
	}
	return g.outputLen(i)
}

func (flattenLayer) step(c *compiler, i int) (step, int) {
	if !c.g.nodes[i].layer.ChannelFirst {
		return nil, i
	}
	// Of positions x channels the first channel comes first.
	_, in, out := c.nodeAt(i)
	return c.newPermuteStep(i, func(k int) int { return shuffleSource(k, in.shape.H*in.shape.W, out.shape.C) })
}

// permuteStep makes each channel one of its input's: a part of them, or all in another
// order. A vector's values are its channels.
type permuteStep struct {
	plainStep
	from []int // the input's channel of each
}

// newPermuteStep makes the step of node i in which channel k is the input's channel from(k).
func (c *compiler) newPermuteStep(i int, from func(k int) int) (step, int) {
	n, in, out := c.nodeAt(i)
	s := &permuteStep{plainStep: plainStep{stepBase: stepBase{n.path, in, out}}, from: make([]int, out.shape.C)}
	for k := range s.from {
		s.from[k] = from(k)
	}
	return s, i
}

// shuffleSource is the channel that becomes channel i of c when groups are interleaved.
func shuffleSource(i, groups, c int) int { return i%groups*(c/groups) + i/groups }

// rows is how many times an image has channels.
func (s *permuteStep) rows() int { return s.out.shape.H * s.out.shape.W }

func (s *permuteStep) forward(e *Net, n int) {
	e.rows.permute = s
	e.rows.runChunks(n*s.rows(), s.in.shape.Len()/s.rows(), permuteKernel)
}

func (s *permuteStep) backward(e *Net, n int) {
	e.rows.permute = s
	e.rows.runChunks(n*s.rows(), s.in.shape.Len()/s.rows(), permuteGradKernel)
}

func permuteKernel(t *rowTask, _, lo, hi int) {
	s := t.permute
	c, k := s.in.shape.Len()/s.rows(), s.out.shape.C
	for i := lo; i < hi; i++ {
		x, y := s.in.x.data[i*c:(i+1)*c], s.out.x.data[i*k:(i+1)*k]
		for j, from := range s.from {
			y[j] = x[from]
		}
	}
}

func permuteGradKernel(t *rowTask, _, lo, hi int) {
	s := t.permute
	c, k := s.in.shape.Len()/s.rows(), s.out.shape.C
	for i := lo; i < hi; i++ {
		dx, dy := s.in.g.data[i*c:(i+1)*c], s.out.g.data[i*k:(i+1)*k]
		if !s.accumulate {
			clear(dx)
		}
		for j, from := range s.from {
			dx[from] += dy[j]
		}
	}
}
