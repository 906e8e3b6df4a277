package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

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

// scored is a set of samples that evaluations score: test, seen or train.
type scored struct {
	name           string
	query, gallery *data.Part // gallery nil: the query's own samples
	qfeed, gfeed   feed
}

// newScored lists the sets to score.
func newScored(sel *data.Selected, cfg *Config) ([]*scored, error) {
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

// embed computes the embeddings of a whole feed in evaluation mode. Samples
// left out as unreadable are missing: kept lists the positions of the rows.
func embed(ctx context.Context, net Network, f feed, n, batch int) (x *mat.Dense, kept []int, err error) {
	x = mat.New(n, net.Dim())
	st := f.sequential(ctx, batch)
	defer st.Close()
	rows := 0
	for {
		b, err := st.Next()
		if errors.Is(err, io.EOF) {
			return x.RowRange(0, rows), kept, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if b.N == 0 {
			continue
		}
		e := net.Infer(b.Pixels[:b.N*b.H*b.W*b.C], b.N)
		for i := range b.N {
			copy(x.Row(rows+i), e.Row(i))
		}
		rows += b.N
		kept = append(kept, b.Pos...)
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

// score embeds a set and measures it.
func (s *scored) score(ctx context.Context, net Network, cfg *Config, metrics []eval.Metric) ([]Metric, error) {
	names, qLabels, gLabels := s.columns()
	set := func(f feed, p *data.Part, labels [][]int64) (*eval.Set, error) {
		x, kept, err := embed(ctx, net, f, p.Len(), cfg.Eval.Batch)
		if err != nil {
			return nil, err
		}
		out := &eval.Set{X: x}
		for _, l := range labels {
			out.Labels = append(out.Labels, pick(l, kept))
		}
		return out, nil
	}
	q, err := set(s.qfeed, s.query, qLabels)
	if err != nil {
		return nil, err
	}
	var g *eval.Set
	if s.gallery != nil {
		if g, err = set(s.gfeed, s.gallery, gLabels); err != nil {
			return nil, err
		}
	}
	distance, err := rank.ParseDistance(cfg.Eval.Distance)
	if err != nil {
		return nil, err
	}
	rep, err := eval.Evaluate(ctx, *q, g, eval.Config{
		Metrics: metrics, Columns: names, Distance: distance, Clustering: cluster.Config{Seed: cfg.Train.Seed},
	})
	if err != nil {
		return nil, fmt.Errorf("evaluating the %s samples: %w", s.name, err)
	}
	var out []Metric
	for _, c := range rep.Columns {
		for _, v := range c.Values {
			out = append(out, Metric{Set: s.name, Column: c.Name, Name: v.Metric.String(), Value: v.Value})
		}
	}
	return out, nil
}

// metricsOf lists what to measure after an epoch, and after the last one.
func (c *Config) metricsOf(last bool) ([]eval.Metric, error) {
	var out []eval.Metric
	for _, k := range c.Eval.Recall {
		out = append(out, eval.Metric{Kind: eval.Recall, K: k})
	}
	if last {
		for _, name := range c.Eval.Metrics {
			m, err := eval.ParseMetric(name)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	return out, nil
}
