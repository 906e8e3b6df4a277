package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/kindred-ml/kindred/discover"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/home"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/objective"
)

// wholeBody, in network.freeze, means all parameters before the embedding layer.
const wholeBody = "body"

// hasFrozenBody reports whether only the embedding layer is trained.
func (n *NetworkConfig) hasFrozenBody() bool { return slices.Contains(n.Freeze, wholeBody) }

// frozenPrefixes lists the names in network.freeze other than wholeBody.
func (n *NetworkConfig) frozenPrefixes() []string {
	return slices.DeleteFunc(slices.Clone(n.Freeze), func(p string) bool { return p == wholeBody })
}

// headNetwork is a network whose body is frozen. Its input is features. It computes the head, whose
// parameters it shares with the whole network.
type headNetwork struct {
	*nn.Net // the head
	body    *nn.Net
	whole   *nn.Net // the network that is saved
}

func newHeadNetwork(whole *nn.Net) (*headNetwork, error) {
	body, err := whole.Body()
	if err != nil {
		return nil, fmt.Errorf("network.freeze=%s: %w", wholeBody, err)
	}
	head, err := whole.Tail()
	if err != nil {
		return nil, fmt.Errorf("network.freeze=%s: %w", wholeBody, err)
	}
	return &headNetwork{head, body, whole}, nil
}

// Params returns the parameters of the whole network, so that a checkpoint contains them.
func (h *headNetwork) Params() []*nn.Param { return h.whole.Params() }

// freezeBody divides a network whose body is frozen, and replaces images by features.
func (t *trainingStage) freezeBody() error {
	t.trainedNet = t.net
	if t.cfg.Network.LoRA.Rank > 0 {
		a := &adapterNet{t.net}
		t.trainedNet, t.adapterBase = a, a.baseDigest()
		return nil
	}
	if !t.cfg.Network.hasFrozenBody() {
		return nil
	}
	h, err := newHeadNetwork(t.net)
	if err != nil {
		return err
	}
	t.trainedNet = h
	t.features = &featureCache{body: h.body, cfg: t.cfg.Data, seed: t.cfg.Train.Seed, batch: t.cfg.Eval.Batch,
		progress: t.opts.FeatureProgress}
	if t.features.dir, err = home.Features(); err != nil {
		t.addNote("%v: features are not kept for other runs", err)
	}
	t.feed = t.features.replaceImages(t.feed, t.cfg.Data.Views)
	for _, s := range t.scored {
		s.queryFeed = t.features.replaceImages(s.queryFeed, 0)
		if s.galleryFeed != nil {
			s.galleryFeed = t.features.replaceImages(s.galleryFeed, 0)
		}
		if s.distractorFeed != nil {
			s.distractorFeed = t.features.replaceImages(s.distractorFeed, 0)
		}
	}
	return nil
}

// computeBodyFeatures computes the features of a frozen body before training starts.
func (t *trainingStage) computeBodyFeatures(ctx context.Context) error {
	if t.features == nil {
		return nil
	}
	feeds := []*feed{t.feed}
	for _, s := range t.scored {
		feeds = append(feeds, s.queryFeed)
		if s.galleryFeed != nil {
			feeds = append(feeds, s.galleryFeed)
		}
		if s.distractorFeed != nil {
			feeds = append(feeds, s.distractorFeed)
		}
	}
	for _, f := range feeds {
		if _, _, err := f.data.(*featureData).fillViews(ctx); err != nil {
			return err
		}
	}
	t.notes = append(append(t.notes, t.features.fileErrors...), t.features.describeUse())
	return nil
}

// Values of network.head.
const (
	randomHead   = "random"
	pcaHead      = "pca"
	identityHead = "identity"
	wccnHead     = "wccn"
)

// chooseByFeatures uses the features before training to decide what the configuration may leave open: the
// policy for positives, and the start of the embedding layer and of the proxies.
func (t *trainingStage) chooseByFeatures(ctx context.Context) error {
	n := &t.cfg.Network
	if n.Head == identityHead && !t.opts.Resume {
		if err := t.setIdentityHead(); err != nil {
			return err
		}
	}
	if n.Head == wccnHead && !n.isPretrained() {
		return fmt.Errorf("network.head=%s: random features have no layer worth computing: name a start by "+
			"network.pretrained, or leave the key out", wccnHead)
	}
	if err := t.chooseProxyStart(); err != nil {
		return err
	}
	judged := t.choosesPositives()
	head := t.isFineTuning() && n.Dim > 0 && n.Head != randomHead && n.Head != identityHead
	if judged || head || t.usesMeanProxies() {
		var err error
		if t.initialFeatures, err = t.computeStartFeatures(ctx); err != nil {
			return err
		}
	}
	if head {
		if err := t.initHead(); err != nil {
			return err
		}
	}
	return t.choosePolicies(ctx, judged)
}

// startFeatures are the features of the training samples before training.
type startFeatures struct {
	x      *matrix.Dense
	labels []int64 // training labels
	seen   []int64 // labels as the loss gets them
}

// computeStartFeatures computes the features of the training samples before training. Those of a frozen body are kept.
func (t *trainingStage) computeStartFeatures(ctx context.Context) (*startFeatures, error) {
	feed, err := newFeed(t.sel.Train, t.cfg.Data, t.cfg.Train.Seed, false, false)
	if err != nil {
		return nil, err
	}
	if t.features != nil {
		x, pos, err := t.features.evaluationFeatures(ctx, feed)
		return t.featuresAt(x, pos), err
	}
	body, err := t.net.Body()
	if err != nil {
		return nil, err
	}
	if t.opts.FeatureProgress != nil {
		feed.data = progressData{feed.data, func(done int) { t.opts.FeatureProgress(done, feed.part.Len()) }}
	}
	e, err := embedFeed(ctx, body, feed, t.cfg.Eval.Batch)
	if err != nil {
		return nil, err
	}
	return t.featuresAt(e.X, e.Pos), nil
}

// featuresAt returns the features of the training samples at the given positions.
func (t *trainingStage) featuresAt(x *matrix.Dense, pos []int) *startFeatures {
	return &startFeatures{x, labelsAt(t.sel.Train.Label, pos), labelsAt(t.population.lossLabels, pos)}
}

// setIdentityHead makes the embedding layer the identity.
func (t *trainingStage) setIdentityHead() error {
	layer := t.net.Spec().Head()
	w := t.net.Param(layer + ".weight")
	n := t.cfg.Network.Dim
	if w == nil || len(w.Value) != n*n {
		return fmt.Errorf("network.head is %s: network.dim must equal the number of features; leave network.dim "+
			"out, or set network.head to %s", identityHead, pcaHead)
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

// initHead starts the embedding layer from the features of the training samples, so that training begins with their
// quality: as the projection onto their principal directions or as a wccn layer.
func (t *trainingStage) initHead() error {
	n, x := &t.cfg.Network, t.initialFeatures.x
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
		c := newWCCN(x, t.initialFeatures.labels)
		if c == nil {
			return fmt.Errorf("network.head=%s: %d samples are too few to compute it: it needs %d more than classes",
				wccnHead, x.Rows, minWCCNFreedom)
		}
		if n.Dim < x.Cols {
			var err error
			if c, err = c.reduced(x, n.Dim); err != nil {
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
	axes, err := principalDirections(x, n.Dim)
	if err != nil {
		return err
	}
	copy(w.Value, axes) // both features and weights are in the engine's order
	return nil
}

// principalDirections returns the k eigenvectors of X'X with the largest eigenvalues, one after the
// other. The rows are not centred, because cosine similarity refers to the origin.
func principalDirections(x *matrix.Dense, k int) ([]float32, error) {
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

// positivesKey is the key of the positive policy, which choosePolicies may set.
const positivesKey = "positives"

// choosesPositives reports whether the features at the start of a new run decide the policy for
// positives: the configuration leaves it open, and the loss is not defined on all pairs.
func (t *trainingStage) choosesPositives() bool {
	traits := t.lossOptions.Traits()
	return t.isFineTuning() && t.cfg.Mine[positivesKey] == nil && !traits.AllPairs && traits.Proxies == 0
}

// choosePolicies sets the policies for positives and negatives in the options and in the
// configuration. It takes the policies that the configuration names, otherwise the customary
// ones of the loss (objective.DefaultMining). If judged, the features of a pretrained start decide the policy for
// positives.
//
// If labels are coarse, easy positives keep the sub-classes apart. Otherwise random positives
// replace easy ones.
func (t *trainingStage) choosePolicies(ctx context.Context, judged bool) error {
	switch {
	case judged:
		if err := t.choosePositives(ctx); err != nil {
			return err
		}
	case t.opts.Miner != nil:
		return nil
	case t.cfg.Mine[positivesKey] != nil:
		t.positivesReason = "as configured"
	default:
		t.positivesReason = "the default of this loss"
	}
	if t.opts.Positives == nil {
		t.cfg.Mine[positivesKey] = t.lossOptions.Mine.Positives.String()
	}
	if t.opts.Negatives == nil {
		t.cfg.Mine[negativesKey] = t.lossOptions.Mine.Negatives.String()
	}
	return nil
}

// choosePositives decides the policy for positives by features, and notes the reason for the user.
func (t *trainingStage) choosePositives(ctx context.Context) error {
	k, err := discover.Judge(ctx, eval.NormalizeRows(t.initialFeatures.x), t.initialFeatures.labels,
		discover.Options{Seed: t.cfg.Train.Seed})
	if err != nil {
		return fmt.Errorf("looking for sub-classes: %w", err)
	}
	o := &t.lossOptions
	why := "labels have no sub-classes"
	switch {
	case k.HasCoarseLabels():
		o.Mine.Positives = objective.EasyPositive
		why = "labels are coarse, and easy positives keep their sub-classes apart"
	case k.IsHalfDivided():
		t.unclearGroups = true
		why = "with so few labels, bursts cannot be told from sub-classes; set mine.positives=easy if labels are " +
			"made of unrelated sub-classes, from which other positives learn nothing"
	case k.NumDivided > 0:
		why = "most labels have no sub-classes"
	}
	if !k.HasCoarseLabels() && o.Mine.Positives == objective.EasyPositive {
		o.Mine.Positives = objective.RandomPositive
	}
	t.addNote("mine.positives is %v: by the pretrained features, %v: %s", o.Mine.Positives, k, why)
	return nil
}
