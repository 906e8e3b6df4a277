package nn

import (
	"fmt"
	"slices"
)

// Body returns the network without its head. Its output are the features that
// the head projects to the embedding. The head is the last dense layer, if only
// batch norm and normalisation follow it, with these and a dropout before it. A
// network without a head is returned unchanged, except for a final
// normalisation, which is left out.
func (s *Spec) Body() (*Spec, error) {
	body := *s
	body.Layers = slices.Clone(s.Layers[:headIndex(s.Layers)])
	if err := body.Check(); err != nil {
		return nil, fmt.Errorf("without its head: %w", err)
	}
	return &body, nil
}

// Tail returns the part that Body leaves out as a network, which takes the
// body's output. A network without a head has no tail.
func (s *Spec) Tail() (*Spec, error) {
	body, err := s.Body()
	if err != nil {
		return nil, err
	}
	g, err := body.flatten()
	if err != nil {
		return nil, err
	}
	v := g.values[g.out]
	tail := Spec{Name: s.Name, Input: v.shape, Layers: slices.Clone(s.Layers[len(body.Layers):])}
	if v.flat && v.shape.H*v.shape.W > 1 {
		tail.Layers = append([]Layer{{Kind: Flatten}}, tail.Layers...)
	}
	if err := tail.Check(); err != nil {
		return nil, fmt.Errorf("the head by itself: %w", err)
	}
	return &tail, nil
}

// Head returns the name of the embedding layer, the dense layer that Body leaves
// out; "" without one.
func (s *Spec) Head() string {
	for _, l := range s.Layers[headIndex(s.Layers):] {
		if l.Kind == Dense {
			return l.Name
		}
	}
	return ""
}

// headIndex returns the number of layers before the head.
func headIndex(layers []Layer) int {
	n := len(layers)
	for n > 0 && layers[n-1].isOneOf(L2Normalize, BatchNorm) {
		n--
	}
	if n == 0 || layers[n-1].Kind != Dense {
		for n = len(layers); n > 0 && layers[n-1].Kind == L2Normalize; {
			n--
		}
		return n
	}
	for n--; n > 0 && layers[n-1].Kind == Dropout; {
		n--
	}
	return n
}
