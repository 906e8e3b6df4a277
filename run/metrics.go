package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/eval"
)

// Names of the columns of labels that are scored.
const (
	fineColumn  = "fine"
	labelColumn = "label"
)

var scoredColumns = []string{fineColumn, labelColumn}

// checkMetrics returns an error if a metric of cfg cannot be computed from the labels of a
// set that is scored. It is called before the first step, because training would be lost
// later.
func checkMetrics(sel *data.Selected, cfg *Config) error {
	metrics, err := cfg.metricsOf(true)
	if err != nil {
		return err
	}
	for _, s := range scoredSets(sel, cfg) {
		if err := s.check(cfg, metrics); err != nil {
			return fmt.Errorf("the %s samples cannot be scored: %w\nhow they were chosen: %s\nask for other metrics "+
				"(eval.recall, eval.metrics), another column (data.fine) or more samples (data.split, "+
				"data.test_limit, eval.train)%s", s.set, err, sel.Why, lookUp(sel.Train.Data))
		}
	}
	return nil
}

// lookUp names what photos allow whose labels are not enough for training.
func lookUp(d *data.Dataset) string {
	if d.Source == nil {
		return ""
	}
	return "; photos can be looked up without training: kindred search PHOTO --in FOLDER"
}

// check looks at the labels of one set. With k beyond the number of other items, Recall@k
// would be 1 for every network. Only the default may contain such a k, because nobody asked
// for it.
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
