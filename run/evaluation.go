package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/split"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/run/internal/feed"
	"github.com/kindred-ml/kindred/run/internal/record"
	"github.com/kindred-ml/kindred/run/internal/validation"
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
		var err error
		if s.queryFeed, err = newFeed(s.query, cfg.Data, cfg.Train.Seed, false, bytes); err != nil {
			return nil, err
		}
		if s.gallery != nil {
			if s.galleryFeed, err = newFeed(s.gallery, cfg.Data, cfg.Train.Seed, false, bytes); err != nil {
				return nil, err
			}
		}
		if err = s.addDistractors(cfg, sel.Train, bytes); err != nil {
			return nil, err
		}
	}
	return sets, nil
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

// labelColumns returns the label columns that can be scored and their names: the fine label, and the
// training label if it groups the samples differently.
func (s *scoredSet) labelColumns() (names []string, query, gallery [][]int64) {
	names, query = []string{fineColumn}, [][]int64{s.query.Fine}
	if s.gallery != nil {
		gallery = [][]int64{s.gallery.Fine}
	}
	if s.query.HasTwoLevels() {
		names, query = append(names, labelColumn), append(query, s.query.Label)
		if s.gallery != nil {
			gallery = append(gallery, s.gallery.Label)
		}
	}
	return names, query, gallery
}

// embedAll computes the embeddings of a set and keeps them.
func (s *scoredSet) embedAll(ctx context.Context, net train.Network, batch int) (err error) {
	if s.q, err = embedFeed(ctx, net, s.queryFeed, batch); err != nil {
		return err
	}
	if s.gallery != nil {
		if s.g, err = embedFeed(ctx, net, s.galleryFeed, batch); err != nil {
			return err
		}
	}
	if s.distractorFeed != nil {
		s.d, err = embedFeed(ctx, net, s.distractorFeed, batch)
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

// score embeds a set and measures it.
func (s *scoredSet) score(ctx context.Context, net train.Network, cfg *Config, metrics map[string][]eval.Metric) (
	[]train.Metric, error) {
	if err := s.embedAll(ctx, net, cfg.Eval.Batch); err != nil {
		return nil, err
	}
	names, qLabels, gLabels := s.labelColumns()
	set := func(e *Embeddings, labels [][]int64) *eval.Set {
		out := &eval.Set{X: e.X}
		for _, l := range labels {
			out.Labels = append(out.Labels, labelsAt(l, e.Pos))
		}
		return out
	}
	var g *eval.Set
	if s.g != nil {
		g = set(s.g, gLabels)
	}
	distance, err := eval.ParseDistance(cfg.Eval.Distance)
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
			Metrics: wanted, Columns: names[c : c+1], Distance: distance, SelfRows: s.selfRows(),
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

// evaluate scores all sets after an epoch.
func (t *trainer) evaluate(ctx context.Context, epoch int, last bool) ([]train.Metric, error) {
	p := t.plan
	if last && epoch == 0 {
		if err := t.returnUntrained(ctx); err != nil {
			return nil, err
		}
	}
	if epoch == 0 && !last && t.pace != nil && p.untrained == nil { // fitMinutes has made this evaluation
		return t.pace.scores, t.writeScored(p.feeds.scored, epoch)
	}
	return t.evaluateSets(ctx, p.feeds.scored, p.network.trained, &p.cfg, epoch, last)
}

// evaluateValidation scores the validation set if it chooses the best epoch, and otherwise all
// sets.
func (t *trainer) evaluateValidation(ctx context.Context) ([]train.Metric, error) {
	p := t.plan
	var sets []*scoredSet
	for _, s := range p.feeds.scored {
		if s.set == ValidationSet && p.cfg.choosesByValidation() {
			sets = append(sets, s)
		}
	}
	if sets == nil {
		sets = p.feeds.scored
	}
	return scoreAll(ctx, sets, p.network.trained, &p.cfg, false)
}

// evaluateSets scores sets by a network, and writes embeddings to the run folder.
func (t *trainer) evaluateSets(ctx context.Context, sets []*scoredSet, net train.Network, cfg *Config, epoch int,
	last bool) ([]train.Metric, error) {
	out, err := scoreAll(ctx, sets, net, cfg, last)
	if err != nil {
		return nil, t.evaluationError(epoch, err)
	}
	return out, t.writeScored(sets, epoch)
}

// writeScored writes the embeddings of scored sets to the run folder, as far as they are kept.
func (t *trainer) writeScored(sets []*scoredSet, epoch int) error {
	for _, s := range sets {
		before := epoch == 0 && s.set == TestSet // for comparison with the trained network
		if (t.plan.cfg.Eval.Keep || before) && t.record != nil {
			if err := t.record.WriteSnapshot(epoch, s.set.String(), s.q.recorded()); err != nil {
				return err
			}
		}
	}
	return nil
}

// evaluationError adds advice to the error of an evaluation.
func (t *trainer) evaluationError(epoch int, err error) error {
	device := (*train.DeviceError)(nil)
	if t.record == nil || epoch == 0 || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) || errors.As(err, &device) {
		return err
	}
	return option.Errorf("%w\nthe trained network is kept in %s: continue with %s, and with %s to measure something "+
		"else", err, t.plan.opts.Dir, record.OptResume.WithValue(t.plan.opts.Dir),
		overrides.WithValue("eval.metrics=... (or eval.recall)"))
}

// Names of the columns of labels that are scored.
const (
	fineColumn  = "fine"
	labelColumn = "label"
)

var scoredColumns = []string{fineColumn, labelColumn}

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

// adviseSearch returns advice for photos whose labels are not enough for training.
func adviseSearch(d *data.Dataset) string {
	if d.Source == nil {
		return ""
	}
	return "; kindred search finds photos without training"
}

// checkLabels checks the labels of one set. If k exceeds the number of other items, Recall@k would
// be 1 for every network. Only the default may contain such a k.
func (s *scoredSet) checkLabels(cfg *Config, metrics map[string][]eval.Metric) error {
	names, query, gallery := s.labelColumns()
	var errs []error
	for c, name := range names {
		var g [][]int64
		var self []int32
		others := len(query[c]) - 1
		if gallery != nil {
			g = gallery[c : c+1]
			others = len(gallery[c])
		}
		for _, pos := range s.selfPositions {
			self = append(self, int32(pos))
		}
		if self != nil && !slices.Contains(self, -1) {
			others--
		}
		if err := eval.Check(query[c:c+1], g,
			eval.Config{Metrics: metrics[name], Columns: names[c : c+1], SelfRows: self}); err != nil {
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
		out[k] = validation.MeanNotNaN(g)
	}
	return out
}
