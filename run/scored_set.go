package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/lists"
	"github.com/kindred-ml/kindred/run/internal/feed"
	"github.com/kindred-ml/kindred/run/internal/validation"
	"github.com/kindred-ml/kindred/run/internal/wccn"
	"github.com/kindred-ml/kindred/train"
)

// validationMetric scores the validation samples, in addition to eval.recall. It chooses the
// best epoch if the gallery of the validation samples holds training samples of their classes.
const validationMetric = eval.MAPAtR

// scoredSet is a set of samples that evaluations score: test, seen or train.
type scoredSet struct {
	set            Set
	query, gallery *data.Part // gallery is nil if queries are searched among each other
	// selfPositions has for each query the position in gallery of the same picture, or -1; nil if there are none.
	selfPositions          []int
	queryFeed, galleryFeed *feed.Feed
	distractorFeed         *feed.Feed // reads the distractors; nil without distractors
	// q, g and d are the embeddings that were scored last.
	q, g, d *Embeddings
}

// feeds lists the feeds of the set.
func (s *scoredSet) feeds() []*feed.Feed {
	return slices.DeleteFunc([]*feed.Feed{s.queryFeed, s.galleryFeed, s.distractorFeed},
		func(f *feed.Feed) bool { return f == nil })
}

// findSet returns the set of a list, or nil.
func findSet(sets []*scoredSet, set Set) *scoredSet {
	for _, s := range sets {
		if s.set == set {
			return s
		}
	}
	return nil
}

// shareEvaluation lets the ranks share the evaluation of sets.
func shareEvaluation(ranks train.Ranks, sets []*scoredSet) {
	for _, s := range sets {
		for _, f := range s.feeds() {
			f.Ranks = ranks
		}
	}
}

// listScoredSets lists the sets to score, without their feeds.
func listScoredSets(sel *split.Parts, cfg *Config) []*scoredSet {
	sets := []*scoredSet{{set: TestSet, query: sel.Query}}
	if sel.Gallery != sel.Query {
		sets[0].gallery = sel.Gallery
	}
	if v := sel.Validation; v != nil {
		s := &scoredSet{set: ValidationSet, query: v}
		if sel.ValidationGallery != v {
			s.gallery = sel.ValidationGallery
		}
		sets = append(sets, s)
	}
	for _, s := range sets {
		if s.gallery != nil {
			s.selfPositions = s.query.SelfRows(s.gallery)
		}
	}
	if sel.Seen != nil {
		sets = append(sets, &scoredSet{set: SeenSet, query: sel.Seen})
	}
	if n := cfg.Eval.Train; n != 0 {
		sets = append(sets, &scoredSet{set: TrainSet, query: sampleEvenly(sel.Train, n)})
	}
	return sets
}

// newScoredSets lists the sets to score, with their feeds. bytes is as in newFeed.
func newScoredSets(sel *split.Parts, cfg *Config, bytes bool) ([]*scoredSet, error) {
	sets := listScoredSets(sel, cfg)
	for _, s := range sets {
		if err := s.openFeeds(cfg, bytes); err != nil {
			return nil, err
		}
		if err := s.addDistractors(cfg, sel.Train, bytes); err != nil {
			return nil, err
		}
	}
	return sets, nil
}

// openFeeds makes the feeds of the queries and of the gallery.
func (s *scoredSet) openFeeds(cfg *Config, bytes bool) (err error) {
	s.queryFeed, err = newFeed(s.query, cfg.Data, cfg.Train.Seed, false, bytes)
	if err == nil && s.gallery != nil {
		s.galleryFeed, err = newFeed(s.gallery, cfg.Data, cfg.Train.Seed, false, bytes)
	}
	return err
}

// sampleEvenly returns n samples of a part at equal distances, or all if n is negative or at least
// their number.
func sampleEvenly(p *data.Part, n int) *data.Part {
	if n < 0 || n >= p.Len() {
		return p
	}
	pos := make([]int, n)
	for i := range pos {
		pos[i] = i * p.Len() / n
	}
	return p.Subset(pos)
}

// columns names the label columns that can be scored: the fine label, and the training label if it groups the samples
// differently.
func (s *scoredSet) columns() []string {
	if s.query.HasTwoLevels() {
		return scoredColumns
	}
	return scoredColumns[:1]
}

// embedAll computes the embeddings of a set and keeps them.
func (s *scoredSet) embedAll(ctx context.Context, net train.Network, batch int) (err error) {
	for _, of := range []struct {
		feed *feed.Feed
		to   **Embeddings
	}{{s.queryFeed, &s.q}, {s.galleryFeed, &s.g}, {s.distractorFeed, &s.d}} {
		if of.feed != nil && err == nil {
			*of.to, err = embedFeed(ctx, net, of.feed, batch)
		}
	}
	return err
}

// scoreAll scores sets by a network, with the metrics of cfg for an epoch or for the last one.
func scoreAll(ctx context.Context, sets []*scoredSet, net train.Network, cfg *Config, last bool) (
	[]train.Metric, error) {
	metrics, err := cfg.epochMetrics(last)
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

// score embeds a set and measures it by the metrics of each column.
func (s *scoredSet) score(ctx context.Context, net train.Network, cfg *Config, metrics map[string][]eval.Metric) (
	[]train.Metric, error) {
	if err := s.embedAll(ctx, net, cfg.Eval.Batch); err != nil {
		return nil, err
	}
	distance, err := eval.ParseDistance(cfg.Eval.Distance)
	if err != nil {
		return nil, err
	}
	var out []train.Metric
	for _, name := range s.columns() {
		wanted := metrics[name]
		if m := (eval.Metric{Kind: validationMetric}); s.set == ValidationSet && !slices.Contains(wanted, m) {
			wanted = append(slices.Clone(wanted), m)
		}
		if len(wanted) == 0 {
			continue
		}
		rep, err := eval.Evaluate(ctx, *s.q.columnSet(name), s.g.columnSet(name), eval.Config{
			Metrics: wanted, Columns: []string{name}, Distance: distance, SelfRows: s.selfRows(),
			Clustering: eval.ClusteringOptions{Seed: cfg.Train.Seed},
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

// selfRows returns the row of the gallery's last embeddings that each embedded query is, or -1; nil if there are none.
func (s *scoredSet) selfRows() []int32 {
	if s.selfPositions == nil {
		return nil
	}
	at := make(map[int]int32, len(s.g.Pos))
	for row, pos := range s.g.Pos {
		at[pos] = int32(row)
	}
	out := make([]int32, len(s.q.Pos))
	for row, pos := range s.q.Pos {
		g, ok := at[s.selfPositions[pos]]
		if !ok {
			g = -1
		}
		out[row] = g
	}
	return out
}

// checkMetrics returns an error if a metric of cfg cannot be computed from the labels of a
// scored set. It is called before the first step, because a later error would waste the
// training.
func checkMetrics(sel *split.Parts, cfg *Config) error {
	metrics, err := cfg.epochMetrics(true)
	if err != nil {
		return err
	}
	for _, s := range listScoredSets(sel, cfg) {
		if err := s.checkLabels(cfg, metrics); err != nil {
			return fmt.Errorf("the %s samples cannot be scored: %w\nhow they were chosen: %s\nask for other metrics "+
				"(eval.recall, eval.metrics), another column (data.fine) or more samples (data.split, "+
				"data.test_limit, eval.train)%s", s.set, err, sel.Why, adviseSearch(sel.Train.Data))
		}
	}
	return nil
}

// checkLabels checks the labels of one set. If k exceeds the number of other items, Recall@k would
// be 1 for every network. Only the default may contain such a k.
func (s *scoredSet) checkLabels(cfg *Config, metrics map[string][]eval.Metric) error {
	var errs []error
	for _, name := range s.columns() {
		var gallery [][]int64
		var self []int32
		query := [][]int64{columnLabels(s.query, name)}
		others := s.query.Len() - 1
		if s.gallery != nil {
			gallery = [][]int64{columnLabels(s.gallery, name)}
			others = s.gallery.Len()
		}
		for _, pos := range s.selfPositions {
			self = append(self, int32(pos))
		}
		if self != nil && !slices.Contains(self, -1) {
			others--
		}
		if err := eval.Check(query, gallery,
			eval.Config{Metrics: metrics[name], Columns: []string{name}, SelfRows: self}); err != nil {
			errs = append(errs, err)
			continue
		}
		unasked := slices.Equal(cfg.Eval.Recall, Default().Eval.Recall)
		for _, m := range metrics[name] {
			if m.K > others && !(unasked && m.Kind == eval.Recall && slices.Contains(cfg.Eval.Recall, m.K)) {
				errs = append(errs,
					fmt.Errorf("%s by %q needs %d items besides the query, but there are %d", m, name, m.K, others))
			}
		}
	}
	return errors.Join(errs...)
}

// epochMetrics returns the metrics to compute after an epoch, or after the last one, by column of
// labels.
func (c *Config) epochMetrics(last bool) (map[string][]eval.Metric, error) {
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

// minRise is the least difference by which the margin or MAP@R of an epoch must exceed that of the
// kept epoch. They still creep up long after photos of other days stop gaining.
const minRise = 0.005

// choosesByValidation reports whether the validation part chooses the kept epoch.
func (c *Config) choosesByValidation() bool {
	return strings.HasPrefix(c.Train.Best, ValidationSet.prefix())
}

// BestRule returns the rule by which a resolved configuration chooses the kept epoch.
func (c *Config) BestRule() train.EarlyStopping {
	if c.Train.Best == none {
		return train.EarlyStopping{}
	}
	b := train.EarlyStopping{Metric: c.Train.Best, Smooth: c.Train.Smooth, Patience: c.Train.Patience}
	if slices.Contains([]string{marginKey, marginDistractorsKey, validationMAPKey}, c.Train.Best) {
		b.MinDelta = minRise
	}
	return b
}

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
		found, err := validation.SearchWithDistractors(ctx, s.q.rows(), s.d.rows(), distance)
		if err != nil {
			return nil, fmt.Errorf("the %s samples in their gallery: %w", s.set, err)
		}
		out = append(out, validationScore(distractorMetric, validation.HitRate(found)))
	} else if cfg.Train.Best != marginKey {
		return nil, nil
	}
	m, err := s.queryMargins(ctx, distance)
	return append(out, validationScore(name, validation.MeanNotNaN(m))), err
}

// queryMargins returns the value of marginMetric for each validation sample, as last embedded. It is
// NaN if the sample's gallery lacks its label or other labels.
func (s *scoredSet) queryMargins(ctx context.Context, distance eval.Distance) ([]float64, error) {
	return validation.QueryMargins(ctx, s.q.rows(), s.g.rows(), s.d.rows(), distance)
}

// numImages returns the number of samples that a score of the set embeds.
func (s *scoredSet) numImages() (n int) {
	for _, f := range s.feeds() {
		n += f.Part.Len()
	}
	return n
}

// gallerySize returns the number of samples and of classes that a query is compared with.
func (s *scoredSet) gallerySize() (samples, classes int) {
	p := s.query
	if s.gallery != nil {
		p = s.gallery
	}
	return p.Len(), len(lists.Set(p.Fine))
}

// withWCCN returns the set with its embeddings behind the layer.
func (s *scoredSet) withWCCN(w *wccn.Layer) *scoredSet {
	out := *s
	for _, e := range []**Embeddings{&out.q, &out.g, &out.d} {
		if *e != nil {
			behind := **e
			behind.X = eval.NormalizeRows(w.Apply(behind.X))
			*e = &behind
		}
	}
	return &out
}
