package run

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/spell"
	"github.com/kindred-ml/kindred/nn"
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
	if t.side == 0 || t.cfg.Data.Size == t.side && t.cfg.Network.Dim == 0 {
		return nil, nil
	}
	u = &untrained{}
	if u.bareNet, err = t.bare(t.side); err != nil {
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

// before scores the untrained network, which the run ends with if it is scored last.
func (t *trainer) before(ctx context.Context, last bool) ([]train.Metric, error) {
	if last {
		if err := t.fallBack(ctx); err != nil {
			return nil, err
		}
	}
	return t.evaluateAs(ctx, t.untrained.scored, t.untrained.net, t.untrained.cfg, 0, last)
}

// fallBack makes the untrained network the one that the run ends with, with the layer of wccn where
// that can be computed. The network that the run trains has the weights of its start.
func (t *trainer) fallBack(ctx context.Context) error {
	if t.fellBack {
		return nil
	}
	t.fellBack = true
	if u := t.untrained; u != nil && u.keeps(&t.cfg) {
		t.trainedSize = t.cfg.Data.Size
		t.cfg.Data = u.cfg.Data
		t.net, t.trained, t.scored = u.net, u.net, u.scored
	} else if u != nil || t.cfg.Network.Dim > 0 || t.side == 0 {
		return nil
	}
	w, err := t.compute(ctx)
	if err != nil || w == nil {
		return err
	}
	opt := nn.Options{FrozenNorm: true, Precision: nn.Precision(t.cfg.Network.Precision)}
	if t.net, err = w.after(t.net, opt); err != nil {
		return err
	}
	t.trained, t.computed = t.net, w.samples
	for _, s := range t.scored { // by the network without the layer
		s.q, s.g, s.d = nil, nil, nil
	}
	if t.untrained != nil {
		t.untrained.net = t.net
	}
	return nil
}

// verdict says in a sentence how the run compares with not training, by the score that
// chose the epoch, why, and what to do; "" if it did better, or if there is nothing to
// compare.
func (t *built) verdict(r *train.Result) string {
	says := t.against(r)
	if name := t.missed; name != "" {
		random := fmt.Sprintf("this run started from random weights, as no pretrained network could be fetched: on "+
			"photographs a pretrained start is worth more than any other setting. Get one with "+
			"'kindred weights get %s' where there is a network, or name a file with --set network.pretrained=FILE, "+
			"and train again", name)
		return strings.TrimSuffix(random+"; "+says, "; ")
	}
	return says
}

// against says how the trained network compares with not training.
func (t *built) against(r *train.Result) string {
	key := t.cfg.Best().Metric
	before, err := train.MetricOf(r.Untrained, key)
	if key == "" || err != nil {
		return ""
	}
	if r.Epoch == 0 {
		with := ""
		if t.computed > 0 {
			with = fmt.Sprintf(", with a layer computed from %d of the training samples (wccn)", t.computed)
		}
		return fmt.Sprintf("the network before training is kept, at %d px%s: %s; %s", t.cfg.Data.Size, with,
			t.whyUntrained(r, key, before), t.wayOut(r))
	}
	after, err := train.MetricOf(r.Metrics, key)
	if err == nil && after < before {
		return fmt.Sprintf("training ended below the features that it started from (%s %.4f, and %.4f at %d px): "+
			"leave network.dim out, which keeps the features as they are, or %s", key, after, before, t.side,
			t.wayOut(r))
	}
	if n := len(r.History); r.Epoch == n && n == t.cfg.Train.Epochs {
		return fmt.Sprintf("the last epoch was the best, so more may be better: train.epochs=%d makes the run longer",
			2*n)
	}
	return ""
}

// highest is the highest value of a metric that an epoch had.
func highest(history []train.Epoch, key string) float64 {
	most := math.Inf(-1)
	for _, row := range history {
		if v, err := row.Metric(key); err == nil {
			most = max(most, v)
		}
	}
	return most
}

// whyUntrained says what showed that the trained network is no better.
func (t *built) whyUntrained(r *train.Result, key string, before float64) string {
	most, c := highest(r.History, key), r.Compared
	switch {
	case c == nil:
		return fmt.Sprintf("no epoch had a higher %s than %.4f (%.4f at most)", key, before, most)
	case c.Samples == 0:
		return "no validation sample has another of its class, so nothing can be compared"
	case c.Gain <= 0:
		return fmt.Sprintf("by %s training made it worse (%.4f before, %.4f at most after)", key, before, most)
	}
	return fmt.Sprintf("%s rose (%.4f before, %.4f at most after), but by no more than chance explains on %s (p %.2f)",
		key, before, most, spell.Count(c.Samples, "validation sample"), c.P)
}

// wayOut is what to try where training made the network no better: what the run can be told
// to lack first.
func (t *built) wayOut(r *train.Result) string {
	var ways []string
	classes, samples := t.from.classes, t.sel.Train.Len()
	if c := r.Compared; c != nil && c.Gain > 0 && c.Samples > 0 {
		ways = append(ways, "more validation samples tell more (data.validation=as-test:0.4)")
	}
	if classes < fewClasses {
		ways = append(ways, fmt.Sprintf("photographs of more classes: %d teach little of what tells others apart",
			classes))
	}
	if samples < fewOfClass*classes {
		ways = append(ways, fmt.Sprintf("more photographs of each class: there are %.1f to train with",
			float64(samples)/float64(max(classes, 1))))
	}
	if n := cmp.Or(t.trainedSize, t.cfg.Data.Size); t.untrained != nil && n < t.side {
		ways = append(ways, fmt.Sprintf("data.size=%d: training had images of %d px", t.side, n))
	}
	if t.grouped {
		ways = append(ways, "mine.positives=easy, if the labels are of several unrelated kinds each")
	}
	if !samePartition(t.sel.Train.Label, t.sel.Train.Fine) {
		ways = append(ways, "finer labels (data.label)")
	}
	if !t.cfg.Network.frozenBody() {
		ways = append(ways, "network.freeze=body, which trains a layer alone")
	}
	return "what may help: " + strings.Join(append(ways, "a lower train.lr"), "; ")
}

// fewOfClass is below how many samples a class is few enough to be named as a cause.
const fewOfClass = 8
