package run

import (
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/nn/optim"
	"github.com/kindred-ml/kindred/train"
)

// Engine runs a network and updates its parameters in place of package nn, on a GPU for
// example. *xla.Net is one. Checkpoints and the files of a run are written from the
// nn.Net that the engine was made from, which holds copies of the parameters.
type Engine interface {
	train.Remote
	optim.Device
}

// bytes tells whether images are to be given as bytes: an engine normalises them.
func (t *built) bytes() bool { return t.opts.Engine != nil }

// engage makes the engine compute what is trained.
func (t *built) engage() error {
	if t.opts.Engine == nil {
		return nil
	}
	switch {
	case t.features != nil:
		return fmt.Errorf("network.freeze=%s: only the embedding layer is trained, for which kindred train needs no "+
			"other engine", wholeBody)
	case t.opts.Ranks != nil:
		return errors.New("an engine and ranks do not go together")
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
