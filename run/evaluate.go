package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/eval/cluster"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/mat"
)

// Names of the columns of labels that are scored.
const (
	fineColumn  = "fine"
	labelColumn = "label"
)

var scoredColumns = []string{fineColumn, labelColumn}

// scored is a set of samples that evaluations score: test, seen or train.
type scored struct {
	name           string
	query, gallery *data.Part // gallery nil: the query's own samples
	qfeed, gfeed   feed
	// q and g are the embeddings as last scored.
	q, g *Embedded
}

// scoredSets lists the sets to score, without a way to read them yet.
func scoredSets(sel *data.Selected, cfg *Config) []*scored {
	sets := []*scored{{name: "test", query: sel.Query}}
	if sel.Gallery != sel.Query {
		sets[0].gallery = sel.Gallery
	}
	if sel.Seen != nil {
		sets = append(sets, &scored{name: "seen", query: sel.Seen})
	}
	if n := cfg.Eval.Train; n != 0 {
		sets = append(sets, &scored{name: "train", query: spread(sel.Train, n)})
	}
	return sets
}

// newScored lists the sets to score.
func newScored(sel *data.Selected, cfg *Config) ([]*scored, error) {
	sets := scoredSets(sel, cfg)
	for _, s := range sets {
		var err error
		if s.qfeed, err = newFeed(s.query, cfg.Data, cfg.Train.Seed, false); err != nil {
			return nil, err
		}
		if s.gallery != nil {
			if s.gfeed, err = newFeed(s.gallery, cfg.Data, cfg.Train.Seed, false); err != nil {
				return nil, err
			}
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

// embed computes the embeddings of a whole part in evaluation mode. Samples left
// out as unreadable have no row.
func embed(ctx context.Context, net Network, f feed, p *data.Part, batch int) (*Embedded, error) {
	out := &Embedded{X: mat.New(p.Len(), net.Dim()), Part: p}
	st := f.sequential(ctx, batch)
	defer st.Close()
	for {
		b, err := st.Next()
		if errors.Is(err, io.EOF) {
			out.X = out.X.RowRange(0, len(out.Pos))
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if b.N == 0 {
			continue
		}
		e := net.Infer(b.Pixels[:b.N*b.H*b.W*b.C], b.N)
		for i := range b.N {
			copy(out.X.Row(len(out.Pos)+i), e.Row(i))
		}
		out.Pos = append(out.Pos, b.Pos[:b.N]...)
	}
}

// pick returns the labels at the given positions.
func pick(labels []int64, pos []int) []int64 {
	out := make([]int64, len(pos))
	for i, p := range pos {
		out[i] = labels[p]
	}
	return out
}

// embedAll computes the embeddings of a set and keeps them.
func (s *scored) embedAll(ctx context.Context, net Network, batch int) (err error) {
	if s.q, err = embed(ctx, net, s.qfeed, s.query, batch); err != nil || s.gallery == nil {
		return err
	}
	s.g, err = embed(ctx, net, s.gfeed, s.gallery, batch)
	return err
}

// score embeds a set and measures it.
func (s *scored) score(ctx context.Context, net Network, cfg *Config, metrics map[string][]eval.Metric) ([]Metric,
	error) {
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
	var out []Metric
	for c, name := range names {
		wanted := metrics[name]
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
			return nil, fmt.Errorf("evaluating the %s samples: %w", s.name, err)
		}
		for _, v := range rep.Columns[0].Values {
			out = append(out, Metric{Set: s.name, Column: name, Name: v.Metric.String(), Value: v.Value})
		}
	}
	return out, nil
}

// checkMetrics returns an error if a metric of cfg cannot be had for the labels of
// a set that is scored: before the first step, not after the last.
func checkMetrics(sel *data.Selected, cfg *Config) error {
	metrics, err := cfg.metricsOf(true)
	if err != nil {
		return err
	}
	for _, s := range scoredSets(sel, cfg) {
		if err := s.check(cfg, metrics); err != nil {
			return fmt.Errorf("the %s samples cannot be scored: %w\nask for other metrics (eval.recall, "+
				"eval.metrics), another column (data.fine) or more samples (data.split, data.test_limit, eval.train)",
				s.name, err)
		}
	}
	return nil
}

// check looks at the labels of one set. With a k beyond all others Recall@k would
// be 1 for every network; only those of the default, which nobody asked for, may be.
func (s *scored) check(cfg *Config, metrics map[string][]eval.Metric) error {
	names, query, gallery := s.columns()
	var errs []error
	for c, name := range names {
		var g [][]int64
		others := len(query[c]) - 1
		if gallery != nil {
			g = gallery[c : c+1]
			others = len(gallery[c])
		}
		if err := eval.Check(query[c:c+1], g,
			eval.Config{Metrics: metrics[name], Columns: names[c : c+1]}); err != nil {
			errs = append(errs, err)
			continue
		}
		unasked := slices.Equal(cfg.Eval.Recall, Default().Eval.Recall)
		for _, m := range metrics[name] {
			if m.K > others && !(unasked && m.Kind == eval.Recall && slices.Contains(cfg.Eval.Recall, m.K)) {
				errs = append(errs,
					fmt.Errorf("%s by %q needs %d items beside the query, and there are %d", m, name, m.K, others))
			}
		}
	}
	return errors.Join(errs...)
}

// metricsOf lists what to measure by column of labels after an epoch, and after
// the last one.
func (c *Config) metricsOf(last bool) (map[string][]eval.Metric, error) {
	out := map[string][]eval.Metric{}
	add := func(column string, m eval.Metric) {
		if !slices.Contains(out[column], m) {
			out[column] = append(out[column], m)
		}
	}
	for _, column := range scoredColumns {
		for _, k := range c.Eval.Recall {
			add(column, eval.Metric{Kind: eval.Recall, K: k})
		}
	}
	if !last {
		return out, nil
	}
	for _, name := range c.Eval.Metrics {
		columns, m, err := parseMetric(name)
		if err != nil {
			return nil, err
		}
		for _, column := range columns {
			add(column, m)
		}
	}
	return out, nil
}

// parseMetric reads "nmi", for both columns of labels, or "fine:nmi" and
// "label:nmi+30" for one.
func parseMetric(name string) (columns []string, m eval.Metric, err error) {
	columns = scoredColumns
	if column, rest, ok := strings.Cut(name, ":"); ok {
		if !slices.Contains(scoredColumns, column) {
			return nil, m,
				fmt.Errorf("%q: the column before the colon must be %s", name, strings.Join(scoredColumns, " or "))
		}
		columns, name = []string{column}, rest
	}
	m, err = eval.ParseMetric(name)
	return columns, m, err
}
