package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/kindred-ml/kindred/discover"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/internal/base/home"
	dense "github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/mine"
	"github.com/kindred-ml/kindred/nn"
)

// wholeBody, in network.freeze, means all parameters before the embedding layer.
const wholeBody = "body"

// frozenBody reports whether only the embedding layer is trained.
func (n *NetworkConfig) frozenBody() bool { return slices.Contains(n.Freeze, wholeBody) }

// prefixes lists the names in network.freeze other than wholeBody.
func (n *NetworkConfig) prefixes() []string {
	return slices.DeleteFunc(slices.Clone(n.Freeze), func(p string) bool { return p == wholeBody })
}

// halves is a network whose body is frozen. Its input is features. It computes the head, whose
// parameters it shares with the whole network.
type halves struct {
	*nn.Net // the head
	body    *nn.Net
	whole   *nn.Net // the network that is saved
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

// Params returns the parameters of the whole network, so that a checkpoint contains them.
func (h *halves) Params() []*nn.Param { return h.whole.Params() }

// freeze divides a network whose body is frozen, and replaces images by features.
func (t *built) freeze() error {
	t.trained = t.net
	if t.cfg.Network.LoRA.Rank > 0 {
		a := &adapted{t.net}
		t.trained, t.base = a, a.base()
		return nil
	}
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
		t.note("%v: features are not kept for other runs", err)
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

// fillFeatures computes the features of a frozen body before training starts.
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
	wccnHead     = "wccn"
)

// prepare uses the features before training to decide what the configuration may leave open: the policy for positives,
// and the start of the embedding layer and of the proxies.
func (t *built) prepare(ctx context.Context) error {
	n := &t.cfg.Network
	if n.Head == identityHead && !t.opts.Resume {
		if err := t.identityHead(); err != nil {
			return err
		}
	}
	if n.Head == wccnHead && !n.pretrained() {
		return fmt.Errorf("network.head=%s: random features have no layer worth computing: name a start by "+
			"network.pretrained, or leave the key out", wccnHead)
	}
	if err := t.settleProxies(); err != nil {
		return err
	}
	judged := t.judges()
	head := t.tunes() && n.Dim > 0 && n.Head != randomHead && n.Head != identityHead
	if judged || head || t.startsProxies() {
		var err error
		if t.begin, err = t.startFeatures(ctx); err != nil {
			return err
		}
	}
	if head {
		if err := t.startHead(); err != nil {
			return err
		}
	}
	return t.decidePolicies(ctx, judged)
}

// startFeatures are the features of the training samples before training.
type startFeatures struct {
	x      *dense.Dense
	labels []int64 // training labels
	seen   []int64 // labels as the loss gets them
}

// startFeatures computes the features of the training samples before training. Those of a frozen body are kept.
func (t *built) startFeatures(ctx context.Context) (*startFeatures, error) {
	feed, err := newFeed(t.sel.Train, t.cfg.Data, t.cfg.Train.Seed, false, false)
	if err != nil {
		return nil, err
	}
	if t.features != nil {
		x, pos, err := t.features.all(ctx, feed)
		return t.featuresAt(x, pos), err
	}
	body, err := t.net.Body()
	if err != nil {
		return nil, err
	}
	if t.opts.Features != nil {
		feed.data = watched{feed.data, func(done int) { t.opts.Features(done, feed.part.Len()) }}
	}
	e, err := embed(ctx, body, feed, t.cfg.Eval.Batch)
	if err != nil {
		return nil, err
	}
	return t.featuresAt(e.X, e.Pos), nil
}

// featuresAt returns the features of the training samples at the given positions.
func (t *built) featuresAt(x *dense.Dense, pos []int) *startFeatures {
	return &startFeatures{x, pick(t.sel.Train.Label, pos), pick(t.from.seen, pos)}
}

// identityHead makes the embedding layer the identity.
func (t *built) identityHead() error {
	layer := t.net.Spec().Head()
	w := t.net.Param(layer + ".weight")
	n := t.cfg.Network.Dim
	if w == nil || len(w.Value) != n*n {
		return fmt.Errorf("network.head is %s: network.dim must equal the number of features; leave network.dim "+
			"out, or "+
			"set network.head to %s", identityHead, pcaHead)
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

// startHead starts the embedding layer from the features of the training samples, so that training begins with their
// quality: as the projection onto their principal directions or as a wccn layer.
func (t *built) startHead() error {
	n, x := &t.cfg.Network, t.begin.x
	layer := t.net.Spec().Head()
	w := t.net.Param(layer + ".weight")
	if w == nil || min(x.Rows, x.Cols) < n.Dim && n.Head != wccnHead || len(w.Value) != n.Dim*x.Cols {
		if n.Head == pcaHead {
			return fmt.Errorf("network.head: %d principal components cannot be computed from %d samples of %d "+
				"features: lower network.dim",
				n.Dim, x.Rows, x.Cols)
		}
		n.Head = randomHead
		return nil
	}
	bias := t.net.Param(layer + ".bias")
	if bias != nil {
		clear(bias.Value)
	}
	if r := t.imported; r != nil && n.Head == wccnHead { // the file need not have the layer
		of := func(name string) bool { return strings.HasPrefix(name, layer+".") }
		r.Missing = slices.DeleteFunc(r.Missing, of)
	}
	if n.Head == wccnHead {
		c := newWCCN(x, t.begin.labels)
		if c == nil {
			return fmt.Errorf("network.head=%s: %d samples are too few to compute it: it needs %d more than classes",
				wccnHead, x.Rows, wccnFreedom)
		}
		if n.Dim < x.Cols {
			var err error
			if c, err = c.shortened(x, n.Dim); err != nil {
				return err
			}
		}
		copy(w.Value, c.weight.Data)
		if bias != nil {
			copy(bias.Value, c.bias)
		}
		return nil
	}
	n.Head = pcaHead
	axes, err := principal(x, n.Dim)
	if err != nil {
		return err
	}
	copy(w.Value, axes) // both features and weights are in the engine's order
	return nil
}

// principal returns the k eigenvectors of X'X with the largest eigenvalues, one after the
// other. The rows are not centred, because cosine similarity refers to the origin.
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

// positivesKey is the key of the positive policy, which decidePolicies may set.
const positivesKey = "positives"

// judges reports whether the features at the start of a new run decide the policy for
// positives: the configuration leaves it open, and the loss is not defined on all pairs.
func (t *built) judges() bool {
	traits := t.options.Traits()
	return t.tunes() && t.cfg.Mine[positivesKey] == nil && !traits.AllPairs && traits.Proxies == 0
}

// decidePolicies sets the policies for positives and negatives in the options and in the
// configuration. It takes the policies that the configuration names, otherwise the customary
// ones of the loss (objective.Customary). If judged, the features of a pretrained start decide the policy for
// positives.
//
// If labels are coarse, easy positives keep the sub-classes apart. Otherwise random positives
// replace easy ones.
func (t *built) decidePolicies(ctx context.Context, judged bool) error {
	switch {
	case judged:
		if err := t.judge(ctx); err != nil {
			return err
		}
	case t.opts.Miner != nil:
		return nil
	case t.cfg.Mine[positivesKey] != nil:
		t.mined = "as configured"
	default:
		t.mined = "the default of this loss"
	}
	if t.opts.Positives == nil {
		t.cfg.Mine[positivesKey] = t.options.Mine.Positives.String()
	}
	if t.opts.Negatives == nil {
		t.cfg.Mine[negativesKey] = t.options.Mine.Negatives.String()
	}
	return nil
}

// judge decides the policy for positives by features, and notes the reason for the user.
func (t *built) judge(ctx context.Context) error {
	k, err := discover.Judge(ctx, rank.Normalized(t.begin.x), t.begin.labels, discover.Options{Seed: t.cfg.Train.Seed})
	if err != nil {
		return fmt.Errorf("looking for sub-classes: %w", err)
	}
	o := &t.options
	why := "labels have no sub-classes"
	switch {
	case k.Coarse():
		o.Mine.Positives = mine.EasyPositive
		why = "labels are coarse, and easy positives keep their sub-classes apart"
	case k.Half():
		t.grouped = true
		why = "with so few labels, bursts cannot be told from sub-classes; set mine.positives=easy if labels are " +
			"made of unrelated sub-classes, from which other positives learn nothing"
	case k.Several > 0:
		why = "most labels have no sub-classes"
	}
	if !k.Coarse() && o.Mine.Positives == mine.EasyPositive {
		o.Mine.Positives = mine.RandomPositive
	}
	t.note("mine.positives is %v: by the pretrained features, %v: %s", o.Mine.Positives, k, why)
	return nil
}
