package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/home"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/nn/onnxnet"
)

// wholeBody, in network.freeze, stands for all parameters before the embedding
// layer.
const wholeBody = "body"

// frozenBody tells whether all but the embedding layer stays as it is.
func (n *NetworkConfig) frozenBody() bool { return slices.Contains(n.Freeze, wholeBody) }

// prefixes lists the names that network.freeze gives beside that.
func (n *NetworkConfig) prefixes() []string {
	return slices.DeleteFunc(slices.Clone(n.Freeze), func(p string) bool { return p == wholeBody })
}

// halves is a network whose body is frozen. What it takes are features: it is the
// head, on parameters that it shares with the whole.
type halves struct {
	*nn.Net // the head
	body    *nn.Net
	whole   *nn.Net // which is saved
}

func newHalves(whole *nn.Net) (*halves, error) {
	body, err := whole.Body()
	if err != nil {
		return nil, fmt.Errorf("network.freeze=%s: %w", wholeBody, err)
	}
	head, err := whole.Tail()
	if err != nil {
		return nil, fmt.Errorf("network.freeze=%s: %w", wholeBody, err)
	}
	return &halves{head, body, whole}, nil
}

// Params lists those of the whole, so that a checkpoint holds them.
func (h *halves) Params() []*nn.Param { return h.whole.Params() }

// bodyDim is the number of features that a frozen body makes of a sample of the given
// shape; 0 if none is frozen.
func (c *Config) bodyDim(file *onnxnet.Network, h, w, ch int) (int, error) {
	if !c.Network.frozenBody() {
		return 0, nil
	}
	if h*w == 1 {
		return 0, fmt.Errorf("network.freeze=%s: a data set of ready features has no body to freeze", wholeBody)
	}
	bare := *c
	bare.Network.Dim, bare.Network.Normalize, bare.Network.HeadNorm = 0, Off, false
	spec, err := networkSpec(&bare, file, h, w, ch)
	if err != nil {
		return 0, err
	}
	return spec.OutDim(), nil
}

// freeze divides a network whose body is frozen, and puts features in the place of
// images.
func (t *built) freeze() error {
	t.trained = t.net
	if !t.cfg.Network.frozenBody() {
		return nil
	}
	h, err := newHalves(t.net)
	if err != nil {
		return err
	}
	t.trained = h
	t.features = &features{body: h.body, cfg: t.cfg.Data, seed: t.cfg.Train.Seed, batch: t.cfg.Eval.Batch,
		progress: t.opts.Features}
	if t.features.dir, err = home.Features(); err != nil {
		t.note("%v: features are computed for this run alone", err)
	}
	t.feed = t.features.of(t.feed, t.cfg.Data.Views)
	for _, s := range t.scored {
		s.qfeed = t.features.of(s.qfeed, 0)
		if s.gfeed != nil {
			s.gfeed = t.features.of(s.gfeed, 0)
		}
		if s.dfeed != nil {
			s.dfeed = t.features.of(s.dfeed, 0)
		}
	}
	return nil
}

// fillFeatures computes what the run needs of a frozen body before it starts.
func (t *built) fillFeatures(ctx context.Context) error {
	if t.features == nil {
		return nil
	}
	feeds := []*feed{t.feed}
	for _, s := range t.scored {
		feeds = append(feeds, s.qfeed)
		if s.gfeed != nil {
			feeds = append(feeds, s.gfeed)
		}
		if s.dfeed != nil {
			feeds = append(feeds, s.dfeed)
		}
	}
	for _, f := range feeds {
		if _, _, err := f.data.(*featureData).fill(ctx); err != nil {
			return err
		}
	}
	t.notes = append(append(t.notes, t.features.refused...), t.features.note())
	return nil
}
