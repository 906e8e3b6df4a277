package eval

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/compute/cluster"
	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/matrix"
)

// Config describes an evaluation. Fields other than Metrics have defaults.
type Config struct {
	// Metrics to compute, for every column of labels.
	Metrics []Metric
	// Columns names the columns of labels for messages and reports; default
	// "label", "label_1", ...
	Columns []string
	// Names has the names of the classes of each column, for reports; optional.
	Names []map[int64]string
	// Files are the names of the queries, and GalleryFiles those of a separate gallery, for
	// reports; optional.
	Files, GalleryFiles []string
	// SelfRows has the row of a separate gallery that each query itself is, or -1: that row is left out of the query's
	// ranking, positives and pairs. nil means that no query is an item of the gallery.
	SelfRows []int32
	// Distance that orders the gallery; default Euclidean. With Cosine, k-means
	// runs on rows of length 1.
	Distance Distance
	// Clustering configures k-means.
	Clustering ClusteringOptions
	// Pairs, if set, are the pairs on which decisions are measured instead of all pairs. A and B
	// are rows of the queries. It cannot be combined with a gallery.
	Pairs []Pair
	// Assignments, if set, is a clustering to score instead of running k-means.
	Assignments []int64
	// Bootstrap is the number of resamples for the confidence intervals of retrieval and of
	// decisions; 0 means no intervals. Intervals of retrieval by class do not resample, but rank
	// up to 20 more times.
	Bootstrap int
	// Confidence is the share of resamples that an interval contains; default 0.95.
	Confidence float64
	// Seed of the resampling.
	Seed uint64
	// PerClass requests the retrieval measures of every class.
	PerClass bool
	// NumWorst is the number of worst queries to list.
	NumWorst int
	// Memory bounds the bytes of working storage; see RankOptions.
	Memory int64
	// Rank, if set, replaces RankPositives, for example to rank on other machines.
	Rank func(ctx context.Context, queries Set, gallery *Set, opt RankOptions, visit func(RankedQuery)) error
	// Progress, if set, is called with the stage and the share of it that is done.
	Progress func(stage string, done float64)
}

// Value is one measured number.
type Value struct {
	Metric Metric
	Value  float64
	// ByQuery and ByClass are confidence intervals, nil unless requested.
	//
	// ByClass covers the mean value for sets of as many new classes, drawn in the same way and
	// independently. For retrieval it is computed by leaving classes out of queries and gallery in
	// turn, and for decisions by resampling classes. With fewer than three classes the interval of
	// retrieval is 0 to 1.
	//
	// ByQuery resamples the queries. It covers other queries of these classes with this gallery,
	// and is too narrow for anything else. Decisions have only ByClass, because a row is in many
	// pairs.
	ByQuery, ByClass *Interval
	// Decision is the threshold of the value, or nil.
	Decision *Decision
}

// Decision is a threshold with its error rate.
type Decision struct {
	// Threshold is the largest distance that is accepted.
	Threshold float64
	// Rate is the error rate of the threshold on these data, FMR or FPIR. It is at most the
	// requested rate.
	Rate float64
}

// AcceptsNothing reports whether the threshold is below all possible distances.
func (d *Decision) AcceptsNothing() bool {
	const smallest = 0x1p-1022 // below it are only keys next to 0
	return d.Threshold < 0 && d.Threshold > -smallest
}

// Text returns the threshold with a number of digits, or all of them if that is -1; "none" if it accepts nothing.
func (d *Decision) Text(digits int) string {
	if d.AcceptsNothing() {
		return "none"
	}
	return strconv.FormatFloat(d.Threshold, 'g', digits, 64)
}

// Column holds the results for one column of labels.
type Column struct {
	Name  string
	Names map[int64]string // names of classes; may be nil
	// Classes is the number of different labels among the queries.
	Classes int
	// Queries is the number of queries with a positive in the gallery. Excluded is the number of
	// queries without a positive, which the retrieval measures leave out.
	Queries, Excluded int
	Values            []Value
	// PerClass has the retrieval measures of every class that has a query with a positive, by
	// increasing label. Worst has the queries with the lowest mean of the retrieval measures, the
	// worst first. Both are nil unless requested.
	PerClass []Class
	Worst    []Query
	// Pairs counts the pairs on which decisions were measured. Open counts the queries of an open
	// set. Each is nil if no metric needs it.
	Pairs   *Counts
	OpenSet *OpenSet
}

// ClusteringOptions configure k-means. The number of clusters is that of the metric.
type ClusteringOptions struct {
	// Restarts is the number of starts; default 1. The result with the least inertia is kept.
	Restarts int
	// Iterations is the largest number of rounds of assignment and update; default 100.
	Iterations int
	// BatchSize, if positive, is the number of random rows that every round uses instead of all rows,
	// for very large sets.
	BatchSize int
	// Seed of the random choices. Restart r draws from stream r of the seed.
	Seed uint64
}

// Clustering describes how the clustering with K clusters was made.
type Clustering struct {
	K          int
	Init       string
	Seed       uint64
	Restarts   int
	Iterations int
	Converged  bool
	Inertia    float64
	Refilled   int
	Empty      int
}

// Report is the result of Evaluate.
type Report struct {
	Distance    Distance
	Columns     []Column
	Clusterings []Clustering
	// SelfQueries counts the queries that are also items of a separate gallery.
	SelfQueries int
	// Notes are remarks on the numbers, for example on a k larger than the gallery, or on fewer
	// distinct rows than clusters.
	Notes []string
}

// Metric returns the value of a metric by its name, such as "recall@1", on a column of labels; "" is the first column.
// The error lists what the report has.
func (r *Report) Metric(column, name string) (Value, error) {
	var columns []string
	for i := range r.Columns {
		c := &r.Columns[i]
		columns = append(columns, c.Name)
		if c.Name != column && (column != "" || i > 0) {
			continue
		}
		var names []string
		for _, v := range c.Values {
			if v.Metric.String() == name {
				return v, nil
			}
			names = append(names, v.Metric.String())
		}
		return Value{}, fmt.Errorf("the report has no metric %q on column %s: must be one of %s", name, c.Name,
			strings.Join(names, ", "))
	}
	return Value{}, fmt.Errorf("the report has no column %q: must be one of %s", column, strings.Join(columns, ", "))
}

// Evaluate computes the metrics of cfg for every column of labels. A nil gallery means that the queries
// are the gallery, and each query is left out of its own ranking by its index. Clusterings are of the
// queries' embeddings.
//
// It returns an error if lengths differ, if a row is not finite (the error names it), or if Check
// returns one. Every loop checks ctx, so that Evaluate ends well within a second once ctx is done. It
// then returns ctx.Err(), wrapped with the stage.
func Evaluate(ctx context.Context, queries Set, gallery *Set, cfg Config) (*Report, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if err := cfg.Distance.Check(); err != nil {
		return nil, err
	}
	if err := CheckSets(queries, gallery); err != nil {
		return nil, err
	}
	var galleryLabels [][]int64
	if gallery != nil {
		galleryLabels = gallery.Labels
	}
	if err := cfg.checkFiles(queries, gallery); err != nil {
		return nil, err
	}
	if err := Check(queries.Labels, galleryLabels, cfg); err != nil {
		return nil, err
	}
	rep := &Report{Distance: cfg.Distance}
	rep.noteSelfQueries(cfg.SelfRows)
	for c, labels := range queries.Labels {
		col := Column{Name: cfg.columnName(c), Classes: countDistinct(labels)}
		if c < len(cfg.Names) {
			col.Names = cfg.Names[c]
		}
		rep.Columns = append(rep.Columns, col)
	}
	rep.noteOnlySelfPositives(queries, gallery, cfg.SelfRows)
	if err := measureRetrieval(ctx, queries, gallery, cfg, rep); err != nil {
		return nil, err
	}
	if err := measureClusterings(ctx, queries, cfg, rep); err != nil {
		return nil, err
	}
	if err := measureDecisions(ctx, queries, gallery, cfg, rep); err != nil {
		return nil, err
	}
	for c := range rep.Columns {
		if rep.Columns[c].Queries == 0 { // no retrieval measure is requested
			rep.Columns[c].Queries = queries.X.Rows
		}
	}
	return rep, nil
}

// checkFiles checks that the numbers of names and rows agree.
func (c *Config) checkFiles(queries Set, gallery *Set) error {
	if c.Files != nil && len(c.Files) != queries.X.Rows {
		return fmt.Errorf("there are %d file names for %d queries", len(c.Files), queries.X.Rows)
	}
	if err := c.checkSelf(len(queries.Labels[0]), gallery); err != nil {
		return err
	}
	if gallery != nil && c.GalleryFiles != nil && len(c.GalleryFiles) != gallery.X.Rows {
		return fmt.Errorf("there are %d file names for the %d items of the gallery", len(c.GalleryFiles),
			gallery.X.Rows)
	}
	return nil
}

func (c *Config) columnName(i int) string {
	switch {
	case i < len(c.Columns):
		return c.Columns[i]
	case i == 0:
		return "label"
	}
	return fmt.Sprintf("label_%d", i)
}

func countDistinct(labels []int64) int {
	seen := make(map[int64]struct{})
	for _, y := range labels {
		seen[y] = struct{}{}
	}
	return len(seen)
}

// measureRetrieval fills in the retrieval measures of all columns from one ranking.
func measureRetrieval(ctx context.Context, queries Set, gallery *Set, cfg Config, rep *Report) error {
	var metrics []Metric
	for _, m := range cfg.Metrics {
		if m.isRetrieval() {
			metrics = append(metrics, m)
		}
	}
	if len(metrics) == 0 {
		return nil
	}
	g := queries
	if gallery != nil {
		g = *gallery
	}
	opt := RankOptions{Distance: cfg.Distance, Memory: cfg.Memory, SelfRows: cfg.SelfRows}
	if cfg.Progress != nil {
		opt.Progress = func(done float64) { cfg.Progress("ranking", done) }
	}
	others := exact.Self{Same: gallery == nil, Item: cfg.SelfRows}.MaxOthers(g.X.Rows)
	for _, m := range metrics {
		if m.K > others {
			rep.Notes = append(rep.Notes,
				fmt.Sprintf("%s: a query has only %d other items to retrieve, so the ranking ends there", m, others))
		}
	}
	opt.Depth, opt.FirstOnly = requiredDepth(metrics, largestClass(g))
	tables := make([]*queryMeasures, len(rep.Columns))
	for c := range tables {
		tables[c] = newQueryMeasures(metrics, queries.Labels[c], others, cfg.needsDetails())
	}
	positives := RankPositives
	if cfg.Rank != nil {
		positives = cfg.Rank
	}
	err := positives(ctx, queries, gallery, opt, func(q RankedQuery) { tables[q.Column].add(q) })
	if err != nil {
		return err
	}
	for c, t := range tables {
		col := &rep.Columns[c]
		col.Queries, col.Excluded = t.queries, t.excluded
		for i, v := range t.means() {
			col.Values = append(col.Values, Value{Metric: metrics[i], Value: v})
		}
		if cfg.Bootstrap > 0 && t.queries > 0 {
			confidence := cmp.Or(cfg.Confidence, defaultConfidence)
			err := t.addQueryIntervals(ctx, cfg, confidence, col.Values)
			if err == nil {
				err = t.addClassIntervals(ctx, queries, gallery, c, opt, cfg, confidence, col.Values)
			}
			if err != nil {
				return fmt.Errorf("the confidence intervals by %q: %w", col.Name, err)
			}
			rep.addNote(intervalNote)
			if n := col.Values[0].ByClass.Groups; n > 0 {
				rep.addNote(fmt.Sprintf("%s: the classes form %d groups of look-alikes; intervals by classes count "+
					"each "+
					"group as one class, and cover sets of as many new groups", col.Name, n))
			}
		}
		if cfg.PerClass {
			col.PerClass = t.classMeans()
		}
		if cfg.NumWorst > 0 {
			var x *matrix.Dense
			var labels []int64
			if gallery != nil {
				x, labels = gallery.X, gallery.Labels[c]
			}
			if col.Worst, err = t.worstQueries(ctx, queries.X, x, labels, cfg); err != nil {
				return err
			}
		}
	}
	return nil
}

// requiredDepth returns the rank to which all metrics need the ranking (0 for all of it), given the largest R
// of a query, and whether they only need the nearest positive.
func requiredDepth(metrics []Metric, maxR int) (depth int, first bool) {
	unbounded := false
	first = true
	for _, m := range metrics {
		e, d := m.Kind.measure(), m.K
		if e.needsClassSize {
			d = max(maxR, 1)
		}
		unbounded = unbounded || d == 0
		depth = max(depth, d)
		first = first && e.needsOnlyFirst
	}
	if unbounded {
		depth = 0
	}
	return depth, first
}

func largestClass(g Set) int {
	largest := 0
	for _, labels := range g.Labels {
		count := make(map[int64]int)
		for _, y := range labels {
			count[y]++
			largest = max(largest, count[y])
		}
	}
	return largest
}

// measureClusterings computes the measures of clusterings, with one k-means for each number of clusters.
func measureClusterings(ctx context.Context, queries Set, cfg Config, rep *Report) error {
	assigned := make(map[int][]int64)
	for _, m := range cfg.Metrics {
		if !m.isClustering() {
			continue
		}
		for c := range rep.Columns {
			col := &rep.Columns[c]
			a := cfg.Assignments
			if a == nil {
				k := col.Classes * max(m.Factor, 1)
				if assigned[k] == nil {
					res, err := runKMeans(ctx, queries.X, k, cfg)
					if err != nil {
						return fmt.Errorf("%s by %q: %w", m, col.Name, err)
					}
					assigned[k] = res.Assignment
					rep.addClustering(res)
				}
				a = assigned[k]
			}
			t, err := cluster.NewTable(queries.Labels[c], a)
			if err != nil {
				return err
			}
			v, err := m.Kind.measure().clustering(ctx, t)
			if err != nil {
				return fmt.Errorf("%s by %q: %w", m, col.Name, err)
			}
			col.Values = append(col.Values, Value{Metric: m, Value: v})
		}
	}
	return nil
}

func runKMeans(ctx context.Context, x *matrix.Dense, k int, cfg Config) (*cluster.Result, error) {
	o := cfg.Clustering
	conf := cluster.Config{K: k, Restarts: o.Restarts, Iterations: o.Iterations, BatchSize: o.BatchSize, Seed: o.Seed}
	if cfg.Progress != nil {
		conf.Progress = func(done float64) { cfg.Progress(fmt.Sprintf("k-means, %d clusters", k), done) }
	}
	if cfg.Distance == Cosine {
		x = NormalizeRows(x)
	}
	return cluster.KMeans(ctx, x, conf)
}

func (rep *Report) addClustering(r *cluster.Result) {
	rep.Clusterings = append(rep.Clusterings, Clustering{
		K: r.K, Init: r.Init.String(), Seed: r.Seed, Restarts: r.Restarts, Iterations: r.Iterations,
		Converged: r.Converged, Inertia: r.Inertia, Refilled: r.Refilled, Empty: r.Empty,
	})
	if r.Empty > 0 {
		rep.Notes = append(rep.Notes, fmt.Sprintf("k-means with %d clusters: only %d distinct rows, %d clusters "+
			"stayed empty", r.K, r.K-r.Empty, r.Empty))
	}
	if !r.Converged {
		rep.Notes = append(rep.Notes,
			fmt.Sprintf("k-means with %d clusters stopped after %d iterations before it converged", r.K, r.Iterations))
	}
}
