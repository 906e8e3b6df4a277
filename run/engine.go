package run

import (
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/nn/optim"
	"github.com/kindred-ml/kindred/train"
)

// Engine computes a network, and moves its parameters, elsewhere than package nn
// does: on a GPU, say. *xla.Net is one. The nn.Net that it was made from holds the
// copies of its parameters that checkpoints and the run's files are written from.
type Engine interface {
	train.Remote
	optim.Device
}

// bytes tells whether images are to be given as bytes: an engine normalises them.
func (t *assembly) bytes() bool { return t.opts.Engine != nil }

// engage has the engine compute what is trained.
func (t *assembly) engage() error {
	if t.opts.Engine == nil {
		return nil
	}
	switch {
	case t.features != nil:
		return fmt.Errorf("network.freeze=%s: only the embedding layer is trained, for which kindred train needs no "+
			"other engine", wholeBody)
	case t.cfg.Train.Chunk > 0:
		return errors.New("train.chunk: this engine takes a batch whole; leave it out, or use kindred train")
	}
	e, err := t.opts.Engine(t.net, &t.cfg)
	if err != nil {
		return err
	}
	t.trained, t.device = e, e
	if l := t.feed.loader; l != nil && !l.Bytes() {
		t.note("images go to the device as float32, which augmentation and resizing make of them; with " +
			"data.rounded=true they are bytes, a quarter of that")
	}
	return nil
}
