package run

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/eval"

	"github.com/kindred-ml/kindred/matrix"
	"github.com/kindred-ml/kindred/train"
)

// distractorMetric is Recall@1 of the validation samples among each other, with training
// samples of other classes as distractors:
//
//	share of queries whose nearest item, of the other validation samples and of the
//	training samples with another label than the query's, has the query's label
//
// Training samples of the query's own class are left out, because the network has learned them
// and finds them easily. Without distractors, a few validation classes are told apart from the
// start, and plain Recall@1 stays near its ceiling.
const distractorMetric = "recall@1+distractors"

// marginMetric measures by how much the nearest item of a query's class is nearer than the
// nearest item of another class. The gallery is that of distractorMetric or, without
// distractors, the training samples:
//
//	mean over the queries of tanh((s - t) / u)
//
// s is the nearness of the nearest item with the query's label, and t the nearness of the
// nearest item with another label. Nearness is the similarity or minus the squared distance. u
// is the standard deviation of the nearness over all pairs of different labels, so that scaling
// all distances does not change the measure. Unlike Recall@1 it has no ceiling that a few easy
// classes reach, and does not jump when one sample changes. Unlike MAP@R it does not rise when
// a class is merely pulled together. It chooses the kept epoch.
const (
	marginMetric            = "margin"
	marginDistractorsMetric = "margin+distractors"
)

// Keys of these metrics among the scores.
var (
	distractorKey        = validationKey(distractorMetric)
	marginKey            = validationKey(marginMetric)
	marginDistractorsKey = validationKey(marginDistractorsMetric)
	validationMAPKey     = validationKey((eval.Metric{Kind: validationMetric}).String())
)

func validationKey(name string) string {
	m := validationScore(name, 0)
	return m.Key()
}

func validationScore(name string, v float64) train.Metric {
	return train.Metric{Set: ValidationSet.String(), Column: fineColumn, Name: name, Value: v}
}

// maxDistractors is the largest number of training samples that are embedded as distractors.
const maxDistractors = 5000

// addDistractors adds training samples to the gallery of the validation samples.
func (s *scoredSet) addDistractors(cfg *Config, training *data.Part, bytes bool) (err error) {
	if s.set != ValidationSet || s.gallery != nil ||
		cfg.Train.Best != distractorKey && cfg.Train.Best != marginDistractorsKey {
		return nil
	}
	s.distractorFeed, err = newFeed(sampleEvenly(training, maxDistractors), cfg.Data, cfg.Train.Seed, false, bytes)
	return err
}

// validate scores the last embeddings of the validation samples by the metrics of this file.
func (s *scoredSet) validate(ctx context.Context, cfg *Config, distance eval.Distance) ([]train.Metric, error) {
	name, out := marginMetric, []train.Metric(nil)
	if s.d != nil {
		name = marginDistractorsMetric
		found, err := s.searchOutcomes(ctx, distance)
		if err != nil {
			return nil, err
		}
		out = append(out, validationScore(distractorMetric, hitRate(found)))
	} else if cfg.Train.Best != marginKey {
		return nil, nil
	}
	m, err := s.queryMargins(ctx, distance)
	return append(out, validationScore(name, meanNotNaN(m))), err
}

// outcome is the outcome of searching for a query.
type outcome int8

// The outcomes.
const (
	notSearched outcome = iota // the gallery has no item with the label
	miss
	hit
)

// hitRate returns the share of hits among the queries.
func hitRate(found []outcome) float64 {
	hits, queries := 0, 0
	for _, f := range found {
		if f != notSearched {
			queries++
		}
		if f == hit {
			hits++
		}
	}
	return float64(hits) / float64(max(queries, 1))
}

// searchOutcomes returns for each validation sample, as last embedded, whether the nearest item of its
// gallery has its label.
func (s *scoredSet) searchOutcomes(ctx context.Context, distance eval.Distance) ([]outcome, error) {
	x, labels := s.q.X, s.q.FineLabels()
	var out []outcome
	var err error
	switch {
	case s.d != nil:
		out, err = searchWithDistractors(ctx, x, labels, s.d.X, s.d.FineLabels(), distance)
	case s.g != nil:
		out, _, err = searchGallery(ctx, x, labels, s.g.X, s.g.FineLabels(), distance)
	default:
		out, _, err = searchGallery(ctx, x, labels, nil, labels, distance)
	}
	if err != nil {
		return nil, fmt.Errorf("the %s samples in their gallery: %w", s.set, err)
	}
	return out, nil
}

// searchGallery searches queries in a gallery, or among each other if gallery is nil. It also returns
// the nearest items.
func searchGallery(ctx context.Context, x *matrix.Dense, labels []int64, gallery *matrix.Dense, others []int64,
	distance eval.Distance) ([]outcome, *eval.Neighbours, error) {
	near, err := eval.Nearest(ctx, x, gallery, 1, eval.RankOptions{Distance: distance})
	if err != nil {
		return nil, nil, err
	}
	count := map[int64]int{}
	for _, y := range others {
		count[y]++
	}
	least := 1
	if gallery == nil {
		least = 2 // the query itself and another item
	}
	out := make([]outcome, len(labels))
	for i, y := range labels {
		switch {
		case count[y] < least:
		case others[near.Row[i]] == y:
			out[i] = hit
		default:
			out[i] = miss
		}
	}
	return out, near, nil
}

// searchWithDistractors searches samples among each other and among distractors with another label. At
// equal distances samples precede distractors, and lower rows precede higher ones.
func searchWithDistractors(ctx context.Context, x *matrix.Dense, labels []int64, d *matrix.Dense, others []int64,
	distance eval.Distance) ([]outcome, error) {
	out, near, err := searchGallery(ctx, x, labels, nil, labels, distance)
	if err != nil {
		return nil, err
	}
	asked, same := map[int64]bool{}, map[int64]int{}
	for i, y := range labels {
		asked[y] = asked[y] || out[i] != notSearched
	}
	most := 0
	for _, y := range others {
		if same[y]++; asked[y] {
			most = max(most, same[y])
		}
	}
	k := min(most+1, d.Rows)
	far, err := eval.Nearest(ctx, x, d, k, eval.RankOptions{Distance: distance})
	if err != nil {
		return nil, err
	}
	for i, y := range labels {
		if out[i] != hit {
			continue
		}
		for j := i * k; j < (i+1)*k; j++ {
			if others[far.Row[j]] != y {
				if isNearer(distance, far.Value[j], near.Value[i]) {
					out[i] = miss
				}
				break
			}
		}
	}
	return out, nil
}

// isNearer compares two values of eval.Neighbours: squared distances or similarities.
func isNearer(distance eval.Distance, a, b float64) bool {
	if distance == eval.Euclidean {
		return a < b
	}
	return a > b
}

// queryMargins returns the value of marginMetric for each validation sample, as last embedded. It is
// NaN if the sample's gallery lacks its label or other labels.
func (s *scoredSet) queryMargins(ctx context.Context, distance eval.Distance) ([]float64, error) {
	m := newMargins(s.q.X, s.q.FineLabels(), distance)
	if s.g != nil {
		err := m.add(ctx, s.g.X, s.g.FineLabels(), false)
		return m.values(), err
	}
	if err := m.addEachOther(ctx); err != nil {
		return nil, err
	}
	if s.d != nil {
		if err := m.add(ctx, s.d.X, s.d.FineLabels(), true); err != nil {
			return nil, err
		}
	}
	return m.values(), nil
}

// meanNotNaN returns the mean of the values that are not NaN; 0 if all are NaN.
func meanNotNaN(values []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range values {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	return sum / float64(max(n, 1))
}

// margins collects the sums for marginMetric, one part of the gallery at a time.
type margins struct {
	x              *matrix.Dense
	labels         []int64
	distance       eval.Distance
	same, other    []float32 // nearness of the nearest item with the query's label, and with another
	pairs          float64   // number of pairs with different labels
	sum, ofSquares float64   // sums over the nearness of these pairs
}

func newMargins(x *matrix.Dense, labels []int64, distance eval.Distance) *margins {
	m := &margins{labels: labels, distance: distance, same: make([]float32, x.Rows), other: make([]float32, x.Rows)}
	m.x = m.similarityRows(x)
	for i := range m.same {
		m.same[i], m.other[i] = float32(math.Inf(-1)), float32(math.Inf(-1))
	}
	return m
}

// similarityRows returns rows whose dot products are the similarities; for distances it returns x.
func (m *margins) similarityRows(x *matrix.Dense) *matrix.Dense {
	if m.distance == eval.Cosine {
		return eval.NormalizeRows(x)
	}
	return x
}

// marginBlock is the number of queries that are compared with a part of the gallery at a time.
const marginBlock = 256

// addEachOther compares the queries with each other.
func (m *margins) addEachOther(ctx context.Context) error {
	return m.compare(ctx, m.x, m.labels, true, false)
}

// add compares the queries with a part of their gallery. foreign leaves out items with a query's
// label.
func (m *margins) add(ctx context.Context, gallery *matrix.Dense, labels []int64, foreign bool) error {
	return m.compare(ctx, m.similarityRows(gallery), labels, false, foreign)
}

// compare implements add for placed rows. With itself, row i of g is query i, which is left out
// of its own search.
func (m *margins) compare(ctx context.Context, g *matrix.Dense, labels []int64, itself, foreign bool) error {
	near := matrix.New(min(marginBlock, m.x.Rows), g.Rows)
	for at := 0; at < m.x.Rows; at += marginBlock {
		n := min(marginBlock, m.x.Rows-at)
		q, d := m.x.RowRange(at, at+n), near.RowRange(0, n)
		sign := float32(1)
		if m.distance == eval.Euclidean {
			matrix.SquaredDistances(q, g, d)
			sign = -1
		} else {
			matrix.Gemm(false, true, 1, q, g, 0, d)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for i := range n {
			m.addRow(at+i, d.Row(i), labels, sign, itself, foreign)
		}
	}
	return nil
}

func (m *margins) addRow(query int, near []float32, labels []int64, sign float32, itself, foreign bool) {
	y := m.labels[query]
	var sum, ofSquares float64
	for j, v := range near {
		v *= sign
		switch {
		case labels[j] != y:
			m.other[query] = max(m.other[query], v)
			sum += float64(v)
			ofSquares += float64(v) * float64(v)
			m.pairs++
		case !foreign && !(itself && j == query):
			m.same[query] = max(m.same[query], v)
		}
	}
	m.sum += sum
	m.ofSquares += ofSquares
}

// values returns the value of marginMetric for each query.
func (m *margins) values() []float64 {
	mean := m.sum / max(m.pairs, 1)
	u := math.Sqrt(max(m.ofSquares/max(m.pairs, 1)-mean*mean, 0))
	out := make([]float64, len(m.same))
	for i, same := range m.same {
		switch d := float64(same) - float64(m.other[i]); {
		case math.IsInf(d, 0):
			out[i] = math.NaN()
		case d != 0: // u is 0 if all pairs are equally near
			out[i] = math.Tanh(d / max(u, math.SmallestNonzeroFloat64))
		}
	}
	return out
}

// pairedMargins implements train.EarlyStopping.Paired. It returns the margin (marginMetric) of each validation sample
// by the current network, or for epoch 0 by the untrained network with the layer that would be computed for
// it (wccn). Samples that were taken together (data.group) count as one sample with their mean.
func (t *trainer) pairedMargins(ctx context.Context, epoch int) ([]float64, error) {
	p := t.plan
	sets, net, cfg := p.feeds.scored, p.network.trained, &p.cfg
	if u := p.untrained; epoch == 0 && u != nil && u.mayKeep(cfg) {
		sets, net, cfg = u.scored, u.net, u.cfg
	}
	distance, err := eval.ParseDistance(cfg.Eval.Distance)
	if err != nil {
		return nil, err
	}
	s := sets[slices.IndexFunc(sets, func(s *scoredSet) bool { return s.set == ValidationSet })]
	if err := s.embedAll(ctx, net, cfg.Eval.Batch); err != nil {
		return nil, err
	}
	if epoch == 0 && t.computesWCCN() {
		w, err := t.computeWCCNFrom(ctx, s, net, cfg)
		if err != nil {
			return nil, err
		}
		if w != nil {
			s = s.withWCCN(w)
		}
	}
	margin, err := s.queryMargins(ctx, distance)
	if err != nil {
		return nil, err
	}
	return p.groupMeans(s, margin), nil
}

// groupMeans returns the mean of the values of each group of the samples of s, as last embedded. It skips NaN.
func (p *plan) groupMeans(s *scoredSet, values []float64) []float64 {
	var groups [][]float64
	place := map[int]int{} // index in groups
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		of := s.query.Index[s.q.Pos[i]]
		if p.split.Groups != nil {
			of = p.split.Groups[of]
		}
		k, ok := place[of]
		if !ok {
			k = len(groups)
			place[of], groups = k, append(groups, nil)
		}
		groups[k] = append(groups[k], v)
	}
	out := make([]float64, len(groups))
	for k, g := range groups {
		out[k] = meanNotNaN(g)
	}
	return out
}
