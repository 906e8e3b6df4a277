package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/eval/cluster"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/train"
)

// validationMetric scores the validation samples, beside eval.recall. The best epoch is
// chosen by it where the gallery of the validation samples holds training samples of their
// own classes.
const validationMetric = eval.MAPAtR

// scored is a set of samples that evaluations score: test, seen or train.
type scored struct {
	set            Set
	query, gallery *data.Part // gallery nil: the query's own samples
	qfeed, gfeed   *feed
	dfeed          *feed // distractors; nil without
	// q, g and d are the embeddings as last scored.
	q, g, d *Embedded
}

// scoredSets lists the sets to score, without a way to read them yet.
func scoredSets(sel *data.Selected, cfg *Config) []*scored {
	sets := []*scored{{set: TestSet, query: sel.Query}}
	if sel.Gallery != sel.Query {
		sets[0].gallery = sel.Gallery
	}
	if v := sel.Validation; v != nil {
		s := &scored{set: ValidationSet, query: v}
		if sel.ValidationGallery != v {
			s.gallery = sel.ValidationGallery
		}
		sets = append(sets, s)
	}
	if sel.Seen != nil {
		sets = append(sets, &scored{set: SeenSet, query: sel.Seen})
	}
	if n := cfg.Eval.Train; n != 0 {
		sets = append(sets, &scored{set: TrainSet, query: spread(sel.Train, n)})
	}
	return sets
}

// newScored lists the sets to score. bytes is as newFeed takes it.
func newScored(sel *data.Selected, cfg *Config, bytes bool) ([]*scored, error) {
	sets := scoredSets(sel, cfg)
	for _, s := range sets {
		var err error
		if s.qfeed, err = newFeed(s.query, cfg.Data, cfg.Train.Seed, false, bytes); err != nil {
			return nil, err
		}
		if s.gallery != nil {
			if s.gfeed, err = newFeed(s.gallery, cfg.Data, cfg.Train.Seed, false, bytes); err != nil {
				return nil, err
			}
		}
		if err = s.addDistractors(cfg, sel.Train, bytes); err != nil {
			return nil, err
		}
	}
	return sets, nil
}

// spread takes n samples of a part at equal distances; all if n is negative or
// not less than there are.
func spread(p *data.Part, n int) *data.Part {
	if n < 0 || n >= p.Len() {
		return p
	}
	pos := make([]int, n)
	for i := range pos {
		pos[i] = i * p.Len() / n
	}
	return subset(p, pos)
}

// columns returns the label columns that can be scored and their names: the
// fine one, and the training label where it says something else.
func (s *scored) columns() (names []string, query, gallery [][]int64) {
	names, query = []string{fineColumn}, [][]int64{s.query.Fine}
	if s.gallery != nil {
		gallery = [][]int64{s.gallery.Fine}
	}
	if !samePartition(s.query.Label, s.query.Fine) {
		names, query = append(names, labelColumn), append(query, s.query.Label)
		if s.gallery != nil {
			gallery = append(gallery, s.gallery.Label)
		}
	}
	return names, query, gallery
}

// samePartition reports whether two columns group the samples alike.
func samePartition(a, b []int64) bool {
	ab, ba := map[int64]int64{}, map[int64]int64{}
	for i := range a {
		if v, ok := ab[a[i]]; ok && v != b[i] {
			return false
		}
		if v, ok := ba[b[i]]; ok && v != a[i] {
			return false
		}
		ab[a[i]], ba[b[i]] = b[i], a[i]
	}
	return true
}

// embedAll computes the embeddings of a set and keeps them.
func (s *scored) embedAll(ctx context.Context, net train.Network, batch int) (err error) {
	if s.q, err = embed(ctx, net, s.qfeed, batch); err != nil {
		return err
	}
	if s.gallery != nil {
		if s.g, err = embed(ctx, net, s.gfeed, batch); err != nil {
			return err
		}
	}
	if s.dfeed != nil {
		s.d, err = embed(ctx, net, s.dfeed, batch)
	}
	return err
}

// scoreAll scores sets by a network, by what cfg measures after an epoch or the last one.
func scoreAll(ctx context.Context, sets []*scored, net train.Network, cfg *Config, last bool) ([]train.Metric, error) {
	metrics, err := cfg.metricsOf(last)
	if err != nil {
		return nil, err
	}
	var out []train.Metric
	for _, s := range sets {
		m, err := s.score(ctx, net, cfg, metrics)
		if err != nil {
			return nil, err
		}
		out = append(out, m...)
	}
	return out, nil
}

// score embeds a set and measures it.
func (s *scored) score(ctx context.Context, net train.Network, cfg *Config, metrics map[string][]eval.Metric) (
	[]train.Metric, error) {
	if err := s.embedAll(ctx, net, cfg.Eval.Batch); err != nil {
		return nil, err
	}
	names, qLabels, gLabels := s.columns()
	set := func(e *Embedded, labels [][]int64) *eval.Set {
		out := &eval.Set{X: e.X}
		for _, l := range labels {
			out.Labels = append(out.Labels, pick(l, e.Pos))
		}
		return out
	}
	var g *eval.Set
	if s.g != nil {
		g = set(s.g, gLabels)
	}
	distance, err := rank.ParseDistance(cfg.Eval.Distance)
	if err != nil {
		return nil, err
	}
	q := set(s.q, qLabels)
	var out []train.Metric
	for c, name := range names {
		wanted := metrics[name]
		if m := (eval.Metric{Kind: validationMetric}); s.set == ValidationSet && !slices.Contains(wanted, m) {
			wanted = append(slices.Clone(wanted), m)
		}
		one := eval.Set{X: q.X, Labels: q.Labels[c : c+1]}
		var gallery *eval.Set
		if g != nil {
			gallery = &eval.Set{X: g.X, Labels: g.Labels[c : c+1]}
		}
		rep, err := eval.Evaluate(ctx, one, gallery, eval.Config{
			Metrics: wanted, Columns: names[c : c+1], Distance: distance,
			Clustering: cluster.Config{Seed: cfg.Train.Seed},
		})
		if err != nil {
			return nil, fmt.Errorf("evaluating the %s samples: %w", s.set, err)
		}
		for _, v := range rep.Columns[0].Values {
			out = append(out, train.Metric{Set: s.set.String(), Column: name, Name: v.Metric.String(), Value: v.Value})
		}
	}
	if s.set == ValidationSet {
		m, err := s.validate(ctx, cfg, distance)
		if err != nil {
			return nil, err
		}
		out = append(out, m...)
	}
	return out, nil
}
