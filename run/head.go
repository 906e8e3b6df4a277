package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/kindred-ml/kindred/discover"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/base/home"
	dense "github.com/kindred-ml/kindred/mat"
	"github.com/kindred-ml/kindred/mine"
	"github.com/kindred-ml/kindred/nn"
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

// Values of network.head.
const (
	randomHead   = "random"
	pcaHead      = "pca"
	identityHead = "identity"
)

// prepare decides two things that the configuration may leave open, by the features before
// training: the start of the embedding layer, and which positives to train with.
func (t *built) prepare(ctx context.Context) error {
	n := &t.cfg.Network
	if n.Head == identityHead && !t.opts.Resume {
		if err := t.identityHead(); err != nil {
			return err
		}
	}
	judged := t.judges()
	head := t.tunes() && n.Dim > 0 && (n.Head == "" || n.Head == pcaHead)
	var x *dense.Dense
	var labels []int64
	if judged || head {
		var err error
		if x, labels, err = t.startFeatures(ctx); err != nil {
			return err
		}
	}
	if head {
		if err := t.startHead(x); err != nil {
			return err
		}
	}
	if !judged {
		x = nil
	}
	return t.decidePolicies(ctx, x, labels)
}

// startFeatures are those of the training samples before training, with their labels.
func (t *built) startFeatures(ctx context.Context) (*dense.Dense, []int64, error) {
	feed, err := newFeed(t.sel.Train, t.cfg.Data, t.cfg.Train.Seed, false, false)
	if err != nil {
		return nil, nil, err
	}
	if t.features != nil {
		x, pos, err := t.features.all(ctx, feed)
		return x, pick(t.sel.Train.Label, pos), err
	}
	body, err := t.net.Body()
	if err != nil {
		return nil, nil, err
	}
	if t.opts.Features != nil {
		feed.data = watched{feed.data, func(done int) { t.opts.Features(done, feed.part.Len()) }}
	}
	e, err := embed(ctx, body, feed, t.cfg.Eval.Batch)
	if err != nil {
		return nil, nil, err
	}
	return e.X, pick(t.sel.Train.Label, e.Pos), nil
}

// identityHead makes the embedding layer pass the features on.
func (t *built) identityHead() error {
	layer := t.net.Spec().Head()
	w := t.net.Param(layer + ".weight")
	n := t.cfg.Network.Dim
	if w == nil || len(w.Value) != n*n {
		return fmt.Errorf("network.head: %s needs as many values as there are features; leave network.dim out, or "+
			"choose %s", identityHead, pcaHead)
	}
	clear(w.Value)
	for i := range n {
		w.Value[i*n+i] = 1
	}
	if b := t.net.Param(layer + ".bias"); b != nil {
		clear(b.Value)
	}
	return nil
}

// startHead starts the embedding layer as the projection onto the directions that hold most
// of the features' length, so that training begins with what the features know.
func (t *built) startHead(x *dense.Dense) error {
	n := &t.cfg.Network
	layer := t.net.Spec().Head()
	w := t.net.Param(layer + ".weight")
	if w == nil || min(x.Rows, x.Cols) < n.Dim || len(w.Value) != n.Dim*x.Cols {
		if n.Head == pcaHead {
			return fmt.Errorf("network.head: %d principal components cannot be had from %d samples of %d features",
				n.Dim, x.Rows, x.Cols)
		}
		n.Head = randomHead
		return nil
	}
	n.Head = pcaHead
	axes, err := principal(x, n.Dim)
	if err != nil {
		return err
	}
	copy(w.Value, axes) // features come in the engine's order, as the weights lie there
	if b := t.net.Param(layer + ".bias"); b != nil {
		clear(b.Value)
	}
	return nil
}

// principal returns the k eigenvectors of X'X with the largest eigenvalues, one
// after the other. The rows are not centred: cosines are about the origin.
func principal(x *dense.Dense, k int) ([]float32, error) {
	c := mat.NewSymDense(x.Cols, nil)
	row := mat.NewVecDense(x.Cols, nil)
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			row.SetVec(j, float64(v))
		}
		c.SymRankOne(c, 1, row)
	}
	var e mat.EigenSym
	if !e.Factorize(c, true) {
		return nil, errors.New("network.head: the features have no principal components")
	}
	var v mat.Dense
	e.VectorsTo(&v)
	var out []float32
	for j := range k {
		col := x.Cols - 1 - j
		for i := range x.Cols {
			out = append(out, float32(v.At(i, col)))
		}
	}
	return out, nil
}

// positivesKey is the key that decidePolicies decides about.
const positivesKey = "positives"

// judges tells whether the features of a new run's start decide which positives of an anchor
// count: nobody has said it, and the loss is not one that is defined for all pairs.
func (t *built) judges() bool {
	traits := t.options.Traits()
	return t.tunes() && t.cfg.Mine[positivesKey] == nil && !traits.AllPairs && traits.Proxies == 0
}

// decidePolicies decides which positives and negatives of an anchor count, in the options
// and in the configuration. They are those that the configuration names, and else the loss's customary
// ones, which the options have (objective.Customary); but the features of a pretrained start, x with the
// labels of its rows, decide about positives that are open. x is nil without such features.
//
// Where labels are coarse, easy positives keep the kinds within them apart. Where they are
// not, a random positive takes the place of an easy one.
func (t *built) decidePolicies(ctx context.Context, x *dense.Dense, labels []int64) error {
	switch {
	case x != nil:
		if err := t.judge(ctx, x, labels); err != nil {
			return err
		}
	case t.opts.Miner != nil:
		return nil
	case t.cfg.Mine[positivesKey] != nil:
		t.mined = "as set"
	default:
		t.mined = "as usual for this loss"
	}
	if t.opts.Positives == nil {
		t.cfg.Mine[positivesKey] = t.options.Mine.Positives.String()
	}
	if t.opts.Negatives == nil {
		t.cfg.Mine[negativesKey] = t.options.Mine.Negatives.String()
	}
	return nil
}

// judge decides about the positives by features, and tells the user why.
func (t *built) judge(ctx context.Context, x *dense.Dense, labels []int64) error {
	o := &t.options
	k, err := discover.Judge(ctx, rank.Normalized(x), labels, discover.Options{Seed: t.cfg.Train.Seed})
	if err != nil {
		return err
	}
	why := "a label is one kind of thing"
	switch {
	case k.Coarse():
		o.Mine.Positives = mine.EasyPositive
		why = "labels are coarse, and easy positives keep the kinds within them apart"
	case k.Half():
		t.grouped = true
		why = "of so few labels series of photos cannot be told from kinds; mine.positives=easy is for labels of " +
			"unrelated kinds, from which the usual positives learn nothing"
	case k.Several > 0:
		why = "most labels are one kind of thing"
	}
	if !k.Coarse() && o.Mine.Positives == mine.EasyPositive {
		o.Mine.Positives = mine.RandomPositive
	}
	t.note("mine.positives is %v: by the pretrained features, %v: %s", o.Mine.Positives, k, why)
	return nil
}
