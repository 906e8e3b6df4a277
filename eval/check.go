package eval

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/budget"
)

// Check returns an error if the labels show that Evaluate cannot compute a metric of cfg: the metric
// is not valid, no query has a positive, or k-means needs more clusters than there are rows. queries
// and gallery hold the columns of labels as in Set. A nil gallery means that the queries are the
// gallery. The error names every such metric with its column, its needs and the numbers given. Check
// needs no embeddings, so a run can check before its first step.
//
// A K larger than the gallery is not an error. The ranking then ends with the gallery, and Evaluate
// adds a note.
func Check(queries, gallery [][]int64, cfg Config) error {
	if err := cfg.check(); err != nil {
		return err
	}
	if len(queries) == 0 {
		return errors.New("no labels")
	}
	if gallery != nil && cfg.Pairs != nil {
		return errors.New("both a list of pairs and a gallery were given: give only one of them")
	}
	if gallery != nil && len(gallery) != len(queries) {
		return fmt.Errorf("the queries have %d columns of labels, but the gallery has %d", len(queries), len(gallery))
	}
	var errs []error
	for c, labels := range queries {
		if len(labels) == 0 {
			return fmt.Errorf("column %q has no labels of queries", cfg.columnName(c))
		}
		if slices.ContainsFunc(cfg.Metrics, Metric.isClustering) && cfg.Assignments != nil &&
			len(cfg.Assignments) != len(labels) {
			return fmt.Errorf("there are %d class labels, but %d cluster assignments", len(labels),
				len(cfg.Assignments))
		}
		var g []int64
		if gallery != nil {
			g = gallery[c]
		}
		if gallery != nil {
			if err := CheckSelf(cfg.SelfRows, len(labels), len(g)); err != nil {
				return err
			}
		}
		errs = append(errs, cfg.checkDecisions(cfg.columnName(c), labels, g, gallery == nil)...)
		errs = append(errs, cfg.checkColumn(cfg.columnName(c), labels, g, gallery == nil)...)
	}
	return errors.Join(errs...)
}

// check returns an error if cfg is wrong for all labels.
func (c *Config) check() error {
	if len(c.Metrics) == 0 {
		return errors.New("no metric to compute")
	}
	if c.Bootstrap < 0 || c.NumWorst < 0 || !(c.Confidence >= 0 && c.Confidence < 1) {
		return fmt.Errorf("%d resamples at confidence %g, %d worst queries: must be 0 or more, and the confidence "+
			"below 1", c.Bootstrap, c.Confidence, c.NumWorst)
	}
	// The values are of each metric for each resample, of queries and of classes.
	if err := budget.Check(fmt.Sprintf("%d resamples of %d metrics", c.Bootstrap, len(c.Metrics)),
		budget.Product(2, 8, int64(len(c.Metrics)), int64(c.Bootstrap))); err != nil {
		return err
	}
	clusters, decides := false, false
	for _, m := range c.Metrics {
		if err := m.Check(); err != nil {
			return err
		}
		clusters = clusters || m.isClustering()
		if m.Kind.measure().list != nil && c.Pairs == nil {
			return fmt.Errorf("%s needs a list of pairs with folds, and no list was given", m)
		}
		decides = decides || m.isPairs()
		if m.isOpenSet() && c.Pairs != nil {
			return fmt.Errorf("%s searches queries in a gallery: it cannot use a list of pairs", m)
		}
		if c.Assignments != nil && m.Factor > 1 {
			return fmt.Errorf("%s runs k-means with %d clusters for each class: it cannot use given assignments", m,
				m.Factor)
		}
	}
	if c.Assignments != nil && !clusters {
		return fmt.Errorf("a clustering was given, but no metric scores it: name one of %s",
			joinKinds((*measure).isClustering))
	}
	if c.Pairs != nil && !decides {
		return fmt.Errorf("a list of pairs was given, but no metric uses it: name one of %s",
			joinKinds((*measure).isPairs))
	}
	for i, name := range c.Columns {
		if slices.Contains(c.Columns[:i], name) {
			return fmt.Errorf("two columns of labels are called %q", name)
		}
	}
	return nil
}

// checkColumn returns an error for each reason why metrics cannot be computed for a column of labels.
// same means that the queries are the gallery.
func (c *Config) checkColumn(name string, labels, gallery []int64, same bool) (errs []error) {
	var retrieval []string
	for _, m := range c.Metrics {
		if m.isRetrieval() {
			retrieval = append(retrieval, m.String())
		}
		if !m.isClustering() {
			continue
		}
		factor, classes := max(m.Factor, 1), countDistinct(labels)
		if c.Assignments == nil && factor > len(labels)/classes {
			errs = append(errs, fmt.Errorf("%s by %q needs k-means with %d x %d clusters (classes x factor), and "+
				"there are %d rows", m, name, classes, factor, len(labels)))
		}
	}
	if len(retrieval) > 0 && c.numWithMates(labels, gallery, same) == 0 {
		why := "has no item of a query's class"
		if c.SelfRows != nil {
			why = "has no item of a query's class but the query itself"
		}
		if same {
			why = "is the queries themselves, each the only one of its class"
		}
		errs = append(errs, fmt.Errorf("%s by %q: no query has a positive in the gallery, which %s: all %d would be "+
			"left out", strings.Join(retrieval, ", "), name, why, len(labels)))
	}
	return errs
}

// checkDecisions returns an error for each reason why decisions cannot be measured for a column of
// labels.
func (c *Config) checkDecisions(name string, labels, gallery []int64, same bool) (errs []error) {
	var pairs, open []Metric
	for _, m := range c.Metrics {
		if m.isPairs() && c.Pairs == nil {
			pairs = append(pairs, m)
		}
		if m.isOpenSet() {
			open = append(open, m)
		}
	}
	if len(pairs) > 0 {
		if c.numWithMates(labels, gallery, same) == 0 {
			errs = append(errs, fmt.Errorf("%s by %q: %w", joinMetrics(pairs), name, ErrNoGenuine))
		}
		if countDistinct(slices.Concat(labels, gallery)) < 2 {
			errs = append(errs, fmt.Errorf("%s by %q: %w", joinMetrics(pairs), name, ErrNoImpostor))
		}
	}
	if len(open) > 0 {
		mated := c.numWithMates(labels, gallery, same)
		if mated == 0 {
			errs = append(errs, fmt.Errorf("%s by %q: %w", joinMetrics(open), name, ErrNoMated))
		}
		if mated == len(labels) {
			errs = append(errs, fmt.Errorf("%s by %q: %w; give a gallery that lacks some of the classes of the queries",
				joinMetrics(open), name, ErrNoUnmated))
		}
	}
	return errs
}

// numWithMates returns the number of queries that have a gallery item of their label other than
// themselves.
func (c *Config) numWithMates(labels, gallery []int64, same bool) (n int) {
	in, least := make(map[int64]int), 1
	if same {
		gallery, least = labels, 2
	}
	for _, y := range gallery {
		in[y]++
	}
	for i, y := range labels {
		most := in[y]
		if !same && c.SelfRows != nil && c.SelfRows[i] >= 0 && gallery[c.SelfRows[i]] == y {
			most-- // itself
		}
		if most >= least {
			n++
		}
	}
	return n
}
