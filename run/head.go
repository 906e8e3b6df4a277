package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/kindred-ml/kindred/discover"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/home"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/objective"
	"github.com/kindred-ml/kindred/run/internal/feed"
	"github.com/kindred-ml/kindred/run/internal/wccn"
)

// freezeBody divides a network whose body is frozen, and replaces images by features.
func (p *plan) freezeBody() error {
	p.network.trained = p.network.net
	if p.cfg.Network.LoRA.Rank > 0 {
		a := &adapterNet{p.network.net}
		p.network.trained, p.network.adapterBase = a, a.baseDigest()
		return nil
	}
	if !p.cfg.Network.hasFrozenBody() {
		return nil
	}
	h, err := newHeadNetwork(p.network.net)
	if err != nil {
		return err
	}
	p.network.trained = h
	dir, err := home.Features()
	if err != nil {
		p.notes.add("%v: features are not kept for other runs", err)
	}
	p.feeds.features = feed.NewCache(feed.CacheConfig{Body: h.body, Prepared: p.cfg.Data.prepared(p.cfg.Train.Seed),
		Batch: p.cfg.Eval.Batch, Dir: dir, Progress: p.opts.FeatureProgress})
	p.feeds.features.ReplaceImages(p.feeds.training, p.cfg.Data.Views)
	for _, s := range p.feeds.scored {
		for _, f := range s.feeds() {
			p.feeds.features.ReplaceImages(f, 0)
		}
	}
	return nil
}

// computeBodyFeatures computes the features of a frozen body before training starts.
func (p *plan) computeBodyFeatures(ctx context.Context) error {
	if p.feeds.features == nil {
		return nil
	}
	feeds := []*feed.Feed{p.feeds.training}
	for _, s := range p.feeds.scored {
		feeds = append(feeds, s.feeds()...)
	}
	remarks, err := p.feeds.features.Fill(ctx, feeds)
	p.notes = append(p.notes, remarks...)
	return err
}

// chooseByFeatures uses the features before training to decide what the configuration may leave open: the
// policy for positives, and the start of the embedding layer and of the proxies.
func (p *plan) chooseByFeatures(ctx context.Context) (features *startFeatures, err error) {
	n := &p.cfg.Network
	if n.Head == identityHead && !p.opts.Resume {
		if err := setIdentityHead(p.network.net, n.Dim); err != nil {
			return nil, err
		}
	}
	if n.Head == wccnHead && !n.isPretrained() {
		return nil, fmt.Errorf("network.head=%s: random features have no layer worth computing: name a start by "+
			"network.pretrained, or leave the key out", wccnHead)
	}
	numProxies := p.loss.options.Traits().Proxies
	if err := chooseProxyStart(&p.cfg, numProxies, p.start.fineTunes); err != nil {
		return nil, err
	}
	judged := p.choosesPositives()
	head := p.start.fineTunes && n.Dim > 0 && n.Head != randomHead && n.Head != identityHead
	if judged || head || p.usesMeanProxies() {
		if features, err = p.computeStartFeatures(ctx); err != nil {
			return nil, err
		}
	}
	if head {
		if err := p.initHead(features); err != nil {
			return nil, err
		}
	}
	if judged {
		err = p.choosePositives(ctx, features)
	}
	p.recordPolicies(judged)
	return features, err
}

// startFeatures are the features of the training samples before training.
type startFeatures struct {
	x      *matrix.Dense
	labels []int64 // training labels
	seen   []int64 // labels as the loss gets them
}

// computeStartFeatures computes the features of the training samples before training. Those of a frozen body are kept.
func (p *plan) computeStartFeatures(ctx context.Context) (*startFeatures, error) {
	f, err := newFeed(p.split.Train, p.cfg.Data, p.cfg.Train.Seed, false, false)
	if err != nil {
		return nil, err
	}
	if p.feeds.features != nil {
		x, pos, err := p.feeds.features.EvaluationFeatures(ctx, f)
		return p.featuresAt(x, pos), err
	}
	body, err := p.network.net.Body()
	if err != nil {
		return nil, err
	}
	if report := p.opts.FeatureProgress; report != nil {
		f.ReportProgress(func(done int) { report(done, f.Part.Len()) })
	}
	x, pos, err := f.Embed(ctx, body, p.cfg.Eval.Batch)
	if err != nil {
		return nil, err
	}
	return p.featuresAt(x, pos), nil
}

// featuresAt returns the features of the training samples at the given positions.
func (p *plan) featuresAt(x *matrix.Dense, pos []int) *startFeatures {
	return &startFeatures{x, lists.At(p.split.Train.Label, pos), lists.At(p.batches.population.lossLabels, pos)}
}

// setIdentityHead makes the embedding layer, of n values, the identity.
func setIdentityHead(net *nn.Net, n int) error {
	layer := net.Spec().Head()
	w := net.Param(layer + ".weight")
	if w == nil || len(w.Value) != n*n {
		return fmt.Errorf("network.head is %s: network.dim must equal the number of features; leave network.dim "+
			"out, or set network.head to %s", identityHead, pcaHead)
	}
	clear(w.Value)
	for i := range n {
		w.Value[i*n+i] = 1
	}
	if b := net.Param(layer + ".bias"); b != nil {
		clear(b.Value)
	}
	return nil
}

// initHead starts the embedding layer from the features of the training samples, so that training begins with their
// quality: as the projection onto their principal directions or as a wccn layer.
func (p *plan) initHead(features *startFeatures) error {
	n, x := &p.cfg.Network, features.x
	layer := p.network.net.Spec().Head()
	w := p.network.net.Param(layer + ".weight")
	if w == nil || min(x.Rows, x.Cols) < n.Dim && n.Head != wccnHead || len(w.Value) != n.Dim*x.Cols {
		if n.Head == pcaHead {
			return fmt.Errorf("network.head: %d principal components cannot be computed from %d samples of %d "+
				"features: lower network.dim", n.Dim, x.Rows, x.Cols)
		}
		n.Head = randomHead
		return nil
	}
	bias := p.network.net.Param(layer + ".bias")
	if bias != nil {
		clear(bias.Value)
	}
	if r := p.network.imported; r != nil && n.Head == wccnHead { // the file need not have the layer
		of := func(name string) bool { return strings.HasPrefix(name, layer+".") }
		r.Missing = slices.DeleteFunc(r.Missing, of)
	}
	if n.Head == wccnHead {
		c := wccn.New(x, features.labels)
		if c == nil {
			return fmt.Errorf("network.head=%s: %d samples are too few to compute it: it needs %d more than classes",
				wccnHead, x.Rows, wccn.MinFreedom)
		}
		if n.Dim < x.Cols {
			var err error
			if c, err = c.Reduced(x, n.Dim); err != nil {
				return err
			}
		}
		copy(w.Value, c.Weight.Data)
		if bias != nil {
			copy(bias.Value, c.Bias)
		}
		return nil
	}
	n.Head = pcaHead
	axes, err := wccn.PrincipalDirections(x, n.Dim)
	if err != nil {
		return err
	}
	copy(w.Value, axes) // both features and weights are in the engine's order
	return nil
}

// choosesPositives reports whether the features at the start of a new run decide the policy for
// positives: the configuration leaves it open, and the loss is not defined on all pairs.
func (p *plan) choosesPositives() bool {
	traits := p.loss.options.Traits()
	return p.start.fineTunes && p.cfg.Mine[positivesKey] == nil && !traits.AllPairs && traits.Proxies == 0
}

// recordPolicies enters the policies for positives and negatives in the configuration: those that it names, otherwise
// the customary ones of the loss (objective.DefaultMining). If judged, the features decided the policy for positives.
func (p *plan) recordPolicies(judged bool) {
	switch {
	case judged:
	case p.opts.Miner != nil:
		return
	case p.cfg.Mine[positivesKey] != nil:
		p.loss.positivesReason = "as configured"
	default:
		p.loss.positivesReason = "the default of this loss"
	}
	if p.opts.Positives == nil {
		p.cfg.Mine[positivesKey] = p.loss.options.Mine.Positives.String()
	}
	if p.opts.Negatives == nil {
		p.cfg.Mine[negativesKey] = p.loss.options.Mine.Negatives.String()
	}
}

// choosePositives decides the policy for positives by features, and notes the reason for the user. If labels are
// coarse, easy positives keep the sub-classes apart. Otherwise random positives replace easy ones.
func (p *plan) choosePositives(ctx context.Context, features *startFeatures) error {
	k, err := discover.Judge(ctx, eval.NormalizeRows(features.x), features.labels,
		discover.Options{Seed: p.cfg.Train.Seed})
	if err != nil {
		return fmt.Errorf("looking for sub-classes: %w", err)
	}
	o := &p.loss.options
	why := "labels have no sub-classes"
	switch {
	case k.HasCoarseLabels():
		o.Mine.Positives = objective.EasyPositive
		why = "labels are coarse, and easy positives keep their sub-classes apart"
	case k.IsHalfDivided():
		p.loss.unclearGroups = true
		why = "with so few labels, bursts cannot be told from sub-classes; set mine.positives=easy if labels are " +
			"made of unrelated sub-classes, from which other positives learn nothing"
	case k.NumDivided > 0:
		why = "most labels have no sub-classes"
	}
	if !k.HasCoarseLabels() && o.Mine.Positives == objective.EasyPositive {
		o.Mine.Positives = objective.RandomPositive
	}
	p.notes.add("mine.positives is %v: by the pretrained features, %v: %s", o.Mine.Positives, k, why)
	return nil
}

// chooseProxyStart settles how the proxies of the loss start, if it has any. From a pretrained start the means of the
// classes are known, and training does not have to find them first.
func chooseProxyStart(cfg *Config, numProxies int, fineTunes bool) error {
	c := &cfg.Train
	switch {
	case numProxies == 0 && c.Proxies != "":
		return fmt.Errorf("train.proxies is %s, but loss.name=%v has no proxies: leave the key out", c.Proxies,
			cfg.Loss["name"])
	case numProxies == 0:
	case fineTunes:
		c.Proxies = cmp.Or(c.Proxies, meanProxies)
	default:
		c.Proxies = cmp.Or(c.Proxies, randomProxies)
	}
	return nil
}

// usesMeanProxies reports whether the proxies start at the means of their classes. A checkpoint has the proxies of a
// resumed run.
func (p *plan) usesMeanProxies() bool {
	return p.cfg.Train.Proxies == meanProxies && !p.opts.Resume
}

// initProxies starts the proxies of each class, the first parameter of the loss, as the mean of the unit embeddings
// of its samples before training (imprinted weights: Qi, Brown and Lowe 2018, arXiv 1712.07136). Several proxies of a
// class share its samples in turn. A proxy without samples stays random.
func (p *plan) initProxies(made *objective.Objective, features *startFeatures) error {
	if !p.usesMeanProxies() {
		return nil
	}
	x, err := embedFeatures(p.network.net, features.x)
	if err != nil {
		return err
	}
	per, value := p.loss.options.Traits().Proxies, made.Params()[0].Value
	sums := make([][]float64, len(value)/x.Cols)
	turn := map[int64]int{} // samples of the label so far
	for i := range x.Rows {
		y := features.seen[i]
		k := int(y)*per + turn[y]%per
		turn[y]++
		if sums[k] == nil {
			sums[k] = make([]float64, x.Cols)
		}
		for j, v := range x.Row(i) {
			sums[k][j] += float64(v)
		}
	}
	for k, sum := range sums {
		length := floats.Norm(sum, 2)
		if length == 0 {
			continue
		}
		for j, v := range sum {
			value[k*x.Cols+j] = float32(v / length)
		}
	}
	return nil
}

// embedFeatures returns the unit embeddings that the embedding layer of net makes of features.
func embedFeatures(net *nn.Net, x *matrix.Dense) (*matrix.Dense, error) {
	if net.Spec().Head() != "" {
		tail, err := net.Tail()
		if err != nil {
			return nil, err
		}
		x = tail.Infer(x.Data[:x.Rows*x.Cols], x.Rows)
	}
	return eval.NormalizeRows(x), nil
}
