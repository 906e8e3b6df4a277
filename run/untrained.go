package run

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/train"
)

// untrained is the pretrained network as it is, at its own image size. It is the score to
// beat, whatever size the run trains at.
type untrained struct {
	*bareNet
	scored []*scored
}

// newUntrained makes it if training takes images of another size or adds an embedding
// layer; otherwise epoch 0 of the run is the same, and it is nil.
func (t *built) newUntrained() (u *untrained, err error) {
	if t.origin.side == 0 || t.cfg.Data.Size == t.origin.side && t.cfg.Network.Dim == 0 {
		return nil, nil
	}
	u = &untrained{}
	if u.bareNet, err = t.bare(t.origin.side); err != nil {
		return nil, err
	}
	if u.scored, err = newScored(t.sel, u.cfg, false); err != nil {
		return nil, err
	}
	among(t.opts.Ranks, u.scored)
	return u, nil
}

// keeps tells whether the run can end with the untrained network: not with one that
// lacks the embedding layer that was asked for.
func (u *untrained) keeps(c *Config) bool { return c.Network.Dim == 0 }

// before scores the untrained network.
func (t *trainer) before(ctx context.Context, last bool) ([]train.Metric, error) {
	return t.evaluateAs(ctx, t.untrained.scored, t.untrained.net, t.untrained.cfg, 0, last)
}

// fallBack makes the untrained network the one that the run ends with.
func (t *trainer) fallBack() {
	u := t.untrained
	if u == nil || t.fellBack {
		return
	}
	t.fellBack = true
	t.cfg.Data = u.cfg.Data
	t.net, t.trained, t.scored = u.net, u.net, u.scored
}

// verdict says in a sentence how the run compares with not training, by the score that
// chose the epoch; "" if it did better, or if there is nothing to compare.
func (t *built) verdict(r *train.Result) string {
	key := t.cfg.best().Metric
	before, err := train.MetricOf(r.Untrained, key)
	if key == "" || err != nil {
		return ""
	}
	const way = "try other labels (data.label), more photographs of each class, network.freeze=body, which trains a " +
		"layer alone, or a lower train.lr"
	if r.Epoch == 0 {
		return fmt.Sprintf("no epoch was better than the network before training (%s %.4f), which is kept as it was, "+
			"at %d px: %s", key, before, t.cfg.Data.Size, way)
	}
	after, err := train.MetricOf(r.Metrics, key)
	if err != nil || after >= before {
		return ""
	}
	return fmt.Sprintf("training ended below the features that it started from (%s %.4f, and %.4f at %d px): leave "+
		"network.dim out, which keeps the features as they are, or %s", key, after, before, t.origin.side, way)
}
