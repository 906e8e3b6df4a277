package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"

	"github.com/kindred-ml/kindred/internal/app/cli"
	"github.com/kindred-ml/kindred/internal/app/cli/results"
	"github.com/kindred-ml/kindred/internal/app/cli/shards"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
	"github.com/kindred-ml/kindred/internal/compute/selfmatch"
	"github.com/kindred-ml/kindred/internal/page/report/verifyreport"
	"github.com/kindred-ml/kindred/matrix"
)

// evalFlags are the options of kindred eval as typed.
type evalFlags struct {
	embeddings, labels     string
	gallery, galleryLabels string
	columns                []string
	distance, metrics      string
	assignments            string
	pairs                  string
	restarts, iterations   int
	scratch                int
	batch                  int
	bootstrap, worst       int
	perClass               bool
	format                 string
	dims                   []int
	strict, forceNetwork   bool
	queued                 queueFlags
	shard                  int
	outDir
}

func newEval(a *app) *cobra.Command {
	var f evalFlags
	rankings, clusterings, pairs, probes := eval.MetricNames()
	named := func(names []string) string { return strings.Join(names, " ") }
	cmd := &cobra.Command{
		Use:   "eval --embeddings FILE [--labels FILE]",
		Short: "Measure retrieval, clustering and decisions of embeddings",
		Long: fmt.Sprintf(`eval ranks a gallery exactly for every query, clusters the queries by k-means,
and prints the metrics asked for. Without --gallery the embeddings are both
queries and gallery, and each query is left out of its own ranking, by index. So
is a query that is also an item of --gallery: its embedding is equal in every bit
and, if both files have ids or paths, its id or path.

Metrics, separated by commas:
  %s
  %s
recall@1..1000 means all of them; nmi+10 clusters into 10 x classes clusters.
nmi and ami use the arithmetic mean of the entropies.

Metrics of decisions (are two items the same? who is an item?):
  %s: of all pairs, exactly; accuracy of a list of --pairs, by its folds
  %s: of queries in a --gallery that lacks some of their classes
Each value is printed with its threshold. --pairs reads LFW's pairs.txt, or CSV
with two ids and same or different.

--dims 64,128 measures embeddings cut to their first 64 numbers, then to their
first 128. loss.nested trains for such cuts. Use --distance cosine with it, as a
cut changes the norms.

With --queue the workers of a queue rank the queries; each job ranks some of them
against the whole gallery (docs/workers.md). This process still makes clusterings and
intervals by classes.`, named(rankings), named(clusterings),
			named(pairs), named(probes)),
		Example: `  kindred eval --embeddings E.npy --labels Y.npy
  kindred eval --embeddings Q.npy --labels QY.npy --gallery G.npy --gallery-labels GY.npy --metrics recall@1,recall@10
  kindred eval --embeddings E.npy --labels Y.npy --assignments A.npy --metrics nmi,ami,ari --json
  kindred eval --embeddings E.npy --labels Y.npy --metrics fnmr@fmr=1e-3,eer --bootstrap 1000 --out decisions
  kindred eval --embeddings LFW.parquet --pairs pairs.txt
  kindred eval --embeddings E.npy --labels Y.npy --distance cosine --dims 4,8`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runEval(cmd, a, &f) },
	}
	fs := newFlags(cmd)
	fs.embeddings(&f.embeddings, "embeddings of the queries")
	fs.labels(&f.labels, "labels of the queries")
	fs.text(&f.gallery, "gallery", "", "embeddings of a separate gallery", completeFiles)
	fs.forceNetwork(&f.forceNetwork)
	fs.text(&f.galleryLabels, "gallery-labels", "", "labels of the gallery", completeFiles)
	fs.list(&f.columns, "columns", nil,
		"columns of labels to use; default: label, fine and coarse, as far as they exist", completeNothing)
	fs.distance(&f.distance, "euclidean", "", anyDistance...)
	fs.text(&f.metrics, "metrics", "recall@1,recall@2,recall@4,recall@8,map@r,r-precision,nmi",
		"metrics to compute; with --pairs the default is "+pairMetrics, completeList(metricNames()...))
	fs.text(&f.assignments, "assignments", "", "score this clustering instead of running k-means", completeFiles)
	fs.text(&f.pairs, "pairs", "", "decide about the pairs of this list instead of all pairs", completeFiles)
	fs.IntVar(&f.restarts, "restarts", 1, "k-means: number of starts; the best one is used")
	fs.IntVar(&f.iterations, "iterations", 100, "k-means: most iterations per start")
	fs.scratch(&f.scratch)
	fs.IntVar(&f.batch, "batch", 0, "k-means: rows to look at per round, for very large sets; default all")
	fs.IntVar(&f.bootstrap, "bootstrap", 0,
		"95 % intervals from this many resamples: of queries for retrieval (and from leaving classes out of queries "+
			"and gallery in turn), of classes for decisions; default: no intervals")
	fs.BoolVar(&f.perClass, "per-class", false, "also list every class")
	fs.IntVar(&f.worst, "worst", 0, "also list this many of the worst queries with their neighbours")
	fs.text(&f.format, "format", "table", "what to print: table, csv or markdown",
		completeWords("table", "csv", "markdown"))
	fs.IntSliceVar(&f.dims, "dims", nil,
		"measure embeddings cut to each of these lengths")
	cli.AddStrictRows(fs.FlagSet, &f.strict)
	f.add(cmd, "folder for eval.json, eval.csv, eval.md, classes.csv, and eval.html with DET and ROC of decisions")
	f.queued.addLeader(cmd)
	fs.IntVar(&f.shard, "shard", 4096, "with --queue: queries of a job")
	return cmd
}

// pairMetrics are the default metrics of a list of pairs.
const pairMetrics = "accuracy,fnmr@fmr=0.01,eer,auc"

func runEval(cmd *cobra.Command, a *app, f *evalFlags) error {
	if f.pairs != "" && !cmd.Flags().Changed("metrics") {
		f.metrics = pairMetrics
	}
	cfg, err := f.config(a)
	if err != nil {
		return usageError(err)
	}
	names := []string{"eval.json", "eval.csv", "eval.md", "eval.html"}
	if f.perClass {
		names = append(names, "classes.csv")
	}
	if err := f.chooseDir("", names...); err != nil {
		return err
	}
	q, err := f.loadQueries(a, &cfg)
	if err != nil {
		return err
	}
	if !cmd.Flags().Changed("metrics") && f.pairs != "" {
		a.removeAccuracy(&cfg)
	}
	cfg.Columns, cfg.Files = q.ColumnNames(), q.RowNames()
	queries := eval.Set{X: q.X}
	var gallery *eval.Set
	if f.gallery == "" {
		queries.Labels, cfg.Names = q.NamedLabels()
	} else {
		g, err := f.loadGallery(a, q)
		if err != nil {
			return err
		}
		gallery, cfg.GalleryFiles = &eval.Set{X: g.X}, g.RowNames()
		if queries.Labels, gallery.Labels, cfg.Names, err = q.LabelsWith(g); err != nil {
			return err
		}
		cfg.SelfRows = a.findSelfRows(q, g)
	}
	if err := f.makeDir(); err != nil {
		return err
	}
	if len(f.dims) > 0 {
		return f.evalByLength(cmd.Context(), a, queries, gallery, cfg)
	}
	taken := func() error { return nil }
	if f.queued.queue != "" {
		q, err := f.queued.openAsLeader(cmd.Context(), a, f.queued.newKit(a))
		if err != nil {
			return err
		}
		defer q.close()
		r := &shards.Ranking{Runner: q, Rows: f.shard}
		cfg.Rank = r.Positives
		taken = func() error { return q.Forget(cmd.Context(), r.Jobs) }
	}
	rep, err := eval.Evaluate(cmd.Context(), queries, gallery, cfg)
	if err != nil {
		return err
	}
	if err := f.writeFiles(rep); err != nil {
		return err
	}
	if err := taken(); err != nil {
		return err
	}
	switch {
	case a.json:
		return a.printJSON(rep)
	case f.format == "csv":
		if rep.SelfQueries > 0 { // the table has no notes
			fmt.Fprintln(a.err, rep.Notes[0])
		}
		return rep.WriteCSV(a.raw)
	case f.format == "markdown":
		return rep.WriteMarkdown(a.out)
	}
	return rep.WriteText(a.out)
}

// findSelfRows returns the row of the gallery that each query is itself, and prints a remark about copies.
func (a *app) findSelfRows(q, g *embedding.Table) []int32 {
	pairs := selfmatch.Pair(tableRows(q), tableRows(g))
	if pairs.Renamed > 0 {
		fmt.Fprintf(a.err, "note: %d queries have the embedding of an item of the gallery with another name, bit by "+
			"bit: they count as different items; if they are copies, a score says little\n", pairs.Renamed)
	}
	return pairs.Row
}

// tableRows returns the rows of a table, with the names that tell which rows of two tables are the same item.
func tableRows(t *embedding.Table) selfmatch.Rows {
	r := selfmatch.Rows{X: t.X}
	if t.ID != nil {
		r.ID = t.ID.At
	}
	if t.Files != nil {
		r.Path = t.RowName
	}
	if t.Digests != nil {
		r.Digest = func(i int) string { return t.Digests[i] }
	}
	return r
}

// loadQueries reads the queries, and their clusters or the list of their pairs. A list of pairs
// replaces labels, so with it every item without a label is a class by itself.
func (f *evalFlags) loadQueries(a *app, cfg *eval.Config) (*embedding.Table, error) {
	if f.pairs == "" {
		return f.loadClustered(a, cfg)
	}
	q, err := embeddingFormats().Read(f.embeddings)
	if err != nil {
		return nil, err
	}
	if f.labels != "" || len(f.columns) > 0 || !cfg.OnlyPairs() {
		if q, err = a.readLabelled(f.embeddings, f.labels, f.columns, f.strict); err != nil {
			return nil, err
		}
	} else if q.X == nil {
		return nil, q.NoEmbeddingsError()
	} else {
		q.Columns = []embedding.Column{{Name: "pairs", IDs: make([]int64, q.X.Rows)}}
		for i := range q.Columns[0].IDs {
			q.Columns[0].IDs[i] = int64(i)
		}
	}
	cfg.Pairs, err = readPairs(f.pairs, q)
	return q, err
}

// loadClustered reads the queries, and their clusters if --assignments names them.
func (f *evalFlags) loadClustered(a *app, cfg *eval.Config) (*embedding.Table, error) {
	q, err := a.readColumns(f.embeddings, f.labels, f.columns)
	if err != nil {
		return nil, err
	}
	if f.assignments != "" {
		if cfg.Assignments, err = a.addAssignments(q, f.assignments); err != nil {
			return nil, err
		}
	}
	q, out, err := a.keepLabelled(q, f.embeddings, f.strict)
	for _, i := range slices.Backward(out) {
		if cfg.Assignments != nil {
			cfg.Assignments = slices.Delete(cfg.Assignments, i, i+1)
		}
	}
	return q, err
}

// loadGallery reads the gallery, with the columns of labels that the queries have.
func (f *evalFlags) loadGallery(a *app, q *embedding.Table) (*embedding.Table, error) {
	g, err := a.readTable(f.gallery, f.galleryLabels)
	if err != nil {
		return nil, err
	}
	missing := func(name string) bool { return g.Column(name) == nil }
	if names := q.ColumnNames(); len(f.columns) == 0 && !slices.ContainsFunc(names, missing) {
		g, err = g.Select(names...)
	} else {
		g, err = g.Select(f.columns...)
	}
	if err != nil {
		return nil, err
	}
	if err := provenance.CheckSameNetwork(provenance.SourceOfTable(g, f.gallery),
		provenance.SourceOfTable(q, f.embeddings), f.forceNetwork,
		a.err); err != nil {
		return nil, err
	}
	g, _, err = a.keepLabelled(g, f.gallery, f.strict)
	return g, err
}

// writeFiles writes the report in all its forms to the folder of --out.
func (f *evalFlags) writeFiles(rep *eval.Report) error {
	if f.dir == "" {
		return nil
	}
	texts := []results.Text{
		results.NewText("eval.json", func(w io.Writer) error { return json.NewEncoder(w).Encode(rep) }),
		results.NewText("eval.csv", rep.WriteCSV), results.NewText("eval.md", rep.WriteMarkdown),
	}
	if page, ok := verifyreport.Page(rep, escape.Command(os.Args...)); ok {
		texts = append(texts, results.NewText("eval.html", htmlWriter(page)))
	}
	if f.perClass {
		texts = append(texts, results.NewText("classes.csv", rep.WriteClassesCSV))
	}
	_, err := f.writeResults(texts...)
	return err
}

func (f *evalFlags) config(a *app) (eval.Config, error) {
	var cfg eval.Config
	var err error
	switch {
	case f.embeddings == "":
		return cfg, errors.New("missing --embeddings")
	case f.gallery != "" && f.pairs != "":
		return cfg, errors.New("--pairs does not apply to --gallery: the list replaces a gallery")
	case f.gallery == "" && f.galleryLabels != "":
		return cfg, errors.New("--gallery-labels without --gallery")
	case f.gallery == "" && f.forceNetwork:
		return cfg, errors.New("--" + provenance.ForceFlag + " without --gallery: " + reasonFile)
	case len(f.dims) > 0 && (f.dir != "" || f.format != "table" || f.queued.queue != "" || f.assignments != ""):
		return cfg, errors.New("--dims prints only tables or JSON: leave out --out, --format, --queue and " +
			"--assignments")
	case f.format != "table" && f.format != "csv" && f.format != "markdown":
		return cfg, fmt.Errorf("--format %q: want table, csv or markdown", f.format)
	}
	if err := cmp.Or(checkAtLeast("restarts", f.restarts, 1), checkAtLeast("iterations", f.iterations, 1),
		checkAtLeast("bootstrap", f.bootstrap, 0),
		checkAtLeast("worst", f.worst, 0), checkAtLeast("batch", f.batch, 0), checkMebibytes("scratch", f.scratch),
		checkAtLeast("shard", f.shard, 1)); err != nil {
		return cfg, err
	}
	if cfg.Distance, err = eval.ParseDistance(f.distance); err != nil {
		return cfg, err
	}
	if cfg.Metrics, err = eval.ParseMetrics(f.metrics); err != nil {
		return cfg, err
	}
	cfg.Memory = int64(f.scratch) << 20
	cfg.Seed, cfg.Bootstrap, cfg.PerClass, cfg.NumWorst = a.seed, f.bootstrap, f.perClass, f.worst
	cfg.Clustering.Seed = a.seed
	cfg.Clustering.BatchSize = f.batch
	cfg.Clustering.Restarts = f.restarts
	cfg.Clustering.Iterations = f.iterations
	return cfg, nil
}

// lengthReport is the report on embeddings that were cut to a length.
type lengthReport struct {
	Dim    int          `json:"dim"` // numbers kept of each embedding
	Report *eval.Report `json:"report"`
}

// evalByLength measures the embeddings cut to each length of --dims.
func (f *evalFlags) evalByLength(ctx context.Context, a *app, queries eval.Set, gallery *eval.Set,
	cfg eval.Config) error {
	all := []lengthReport{}
	for _, n := range f.dims {
		if n < 1 || n > queries.X.Cols {
			return usagef("--dims %d: the embeddings have %d numbers", n, queries.X.Cols)
		}
	}
	for _, n := range f.dims {
		q, g := queries, gallery
		q.X = truncateRows(queries.X, n)
		if g != nil {
			cut := *gallery
			cut.X = truncateRows(gallery.X, min(n, gallery.X.Cols))
			g = &cut
		}
		rep, err := eval.Evaluate(ctx, q, g, cfg)
		if err != nil {
			return err
		}
		all = append(all, lengthReport{n, rep})
		if a.json {
			continue
		}
		fmt.Fprintf(a.out, "the first %d of %d numbers:\n", n, queries.X.Cols)
		if err := rep.WriteText(a.out); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(all)
	}
	return nil
}

// truncateRows copies the first n numbers of each row.
func truncateRows(x *matrix.Dense, n int) *matrix.Dense {
	out := matrix.New(x.Rows, n)
	for i := range x.Rows {
		copy(out.Row(i), x.Row(i))
	}
	return out
}
