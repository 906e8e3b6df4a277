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
	"github.com/kindred-ml/kindred/internal/app/cli/complete"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/flags"
	"github.com/kindred-ml/kindred/internal/app/cli/inputs"
	"github.com/kindred-ml/kindred/internal/app/cli/outputs"
	"github.com/kindred-ml/kindred/internal/app/cli/queues"
	"github.com/kindred-ml/kindred/internal/app/cli/results"
	"github.com/kindred-ml/kindred/internal/app/cli/shards"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/collection/provenance"
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
	queued                 queues.Flags
	shard                  int
	outputs.Folder
}

func newEval(a *console.Console) *cobra.Command {
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
	fs := flags.New(cmd)
	fs.Embeddings(&f.embeddings, "embeddings of the queries")
	fs.Labels(&f.labels, "labels of the queries")
	fs.Text(&f.gallery, "gallery", "", "embeddings of a separate gallery", complete.Files)
	fs.ForceNetwork(&f.forceNetwork)
	fs.Text(&f.galleryLabels, "gallery-labels", "", "labels of the gallery", complete.Files)
	fs.List(&f.columns, "columns", nil,
		"columns of labels to use; default: label, fine and coarse, as far as they exist", complete.Nothing)
	fs.Distance(&f.distance, "euclidean", "", flags.AnyDistance...)
	fs.Text(&f.metrics, "metrics", "recall@1,recall@2,recall@4,recall@8,map@r,r-precision,nmi",
		"metrics to compute; with --pairs the default is "+pairMetrics, complete.List(complete.MetricNames()...))
	fs.Text(&f.assignments, "assignments", "", "score this clustering instead of running k-means", complete.Files)
	fs.Text(&f.pairs, "pairs", "", "decide about the pairs of this list instead of all pairs", complete.Files)
	fs.IntVar(&f.restarts, "restarts", 1, "k-means: number of starts; the best one is used")
	fs.IntVar(&f.iterations, "iterations", 100, "k-means: most iterations per start")
	fs.Scratch(&f.scratch)
	fs.IntVar(&f.batch, "batch", 0, "k-means: rows to look at per round, for very large sets; default all")
	fs.IntVar(&f.bootstrap, "bootstrap", 0,
		"95 % intervals from this many resamples: of queries for retrieval (and from leaving classes out of queries "+
			"and gallery in turn), of classes for decisions; default: no intervals")
	fs.BoolVar(&f.perClass, "per-class", false, "also list every class")
	fs.IntVar(&f.worst, "worst", 0, "also list this many of the worst queries with their neighbours")
	fs.Text(&f.format, "format", "table", "what to print: table, csv or markdown",
		complete.Words("table", "csv", "markdown"))
	fs.IntSliceVar(&f.dims, "dims", nil,
		"measure embeddings cut to each of these lengths")
	cli.AddStrictRows(fs.FlagSet, &f.strict)
	f.Add(cmd, "folder for eval.json, eval.csv, eval.md, classes.csv, and eval.html with DET and ROC of decisions")
	f.queued.AddLeader(cmd)
	fs.IntVar(&f.shard, "shard", 4096, "with --queue: queries of a job")
	return cmd
}

// pairMetrics are the default metrics of a list of pairs.
const pairMetrics = "accuracy,fnmr@fmr=0.01,eer,auc"

func runEval(cmd *cobra.Command, a *console.Console, f *evalFlags) error {
	if f.pairs != "" && !cmd.Flags().Changed("metrics") {
		f.metrics = pairMetrics
	}
	cfg, err := f.config(a)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	names := []string{"eval.json", "eval.csv", "eval.md", "eval.html"}
	if f.perClass {
		names = append(names, "classes.csv")
	}
	if err := f.Choose("", names...); err != nil {
		return err
	}
	q, err := f.loadQueries(a, &cfg)
	if err != nil {
		return err
	}
	if !cmd.Flags().Changed("metrics") && f.pairs != "" {
		removeAccuracy(a, &cfg)
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
		cfg.SelfRows = inputs.FindSelfRows(a, q, g)
	}
	if err := f.Make(); err != nil {
		return err
	}
	if len(f.dims) > 0 {
		return f.evalByLength(cmd.Context(), a, queries, gallery, cfg)
	}
	taken := func() error { return nil }
	if f.queued.Queue != "" {
		q, err := f.queued.OpenAsLeader(cmd.Context(), a, f.queued.NewKit(a))
		if err != nil {
			return err
		}
		defer q.Close()
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
	case a.JSON:
		return a.PrintJSON(rep)
	case f.format == "csv":
		if rep.SelfQueries > 0 { // the table has no notes
			fmt.Fprintln(a.Err, rep.Notes[0])
		}
		return rep.WriteCSV(a.Raw)
	case f.format == "markdown":
		return rep.WriteMarkdown(a.Out)
	}
	return rep.WriteText(a.Out)
}

// loadQueries reads the queries, and their clusters or the list of their pairs. A list of pairs
// replaces labels, so with it every item without a label is a class by itself.
func (f *evalFlags) loadQueries(a *console.Console, cfg *eval.Config) (*embedding.Table, error) {
	if f.pairs == "" {
		return f.loadClustered(a, cfg)
	}
	q, err := cli.EmbeddingFormats().Read(f.embeddings)
	if err != nil {
		return nil, err
	}
	if f.labels != "" || len(f.columns) > 0 || !cfg.OnlyPairs() {
		if q, err = inputs.ReadLabelled(a, f.embeddings, f.labels, f.columns, f.strict); err != nil {
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
	cfg.Pairs, err = inputs.ReadPairs(f.pairs, q)
	return q, err
}

// loadClustered reads the queries, and their clusters if --assignments names them.
func (f *evalFlags) loadClustered(a *console.Console, cfg *eval.Config) (*embedding.Table, error) {
	q, err := inputs.ReadColumns(a, f.embeddings, f.labels, f.columns)
	if err != nil {
		return nil, err
	}
	if f.assignments != "" {
		if cfg.Assignments, err = inputs.AddAssignments(a, q, f.assignments); err != nil {
			return nil, err
		}
	}
	q, out, err := inputs.KeepLabelled(a, q, f.embeddings, f.strict)
	for _, i := range slices.Backward(out) {
		if cfg.Assignments != nil {
			cfg.Assignments = slices.Delete(cfg.Assignments, i, i+1)
		}
	}
	return q, err
}

// loadGallery reads the gallery, with the columns of labels that the queries have.
func (f *evalFlags) loadGallery(a *console.Console, q *embedding.Table) (*embedding.Table, error) {
	g, err := inputs.ReadTable(a, f.gallery, f.galleryLabels)
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
		a.Err); err != nil {
		return nil, err
	}
	g, _, err = inputs.KeepLabelled(a, g, f.gallery, f.strict)
	return g, err
}

// writeFiles writes the report in all its forms to the folder of --out.
func (f *evalFlags) writeFiles(rep *eval.Report) error {
	if f.Dir == "" {
		return nil
	}
	texts := []results.Text{
		results.NewText("eval.json", func(w io.Writer) error { return json.NewEncoder(w).Encode(rep) }),
		results.NewText("eval.csv", rep.WriteCSV), results.NewText("eval.md", rep.WriteMarkdown),
	}
	if page, ok := verifyreport.Page(rep, escape.Command(os.Args...)); ok {
		texts = append(texts, results.NewText("eval.html", outputs.HTMLWriter(page)))
	}
	if f.perClass {
		texts = append(texts, results.NewText("classes.csv", rep.WriteClassesCSV))
	}
	_, err := f.WriteResults(texts...)
	return err
}

func (f *evalFlags) config(a *console.Console) (eval.Config, error) {
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
		return cfg, errors.New("--" + provenance.ForceFlag + " without --gallery: " + flags.ReasonFile)
	case len(f.dims) > 0 && (f.Dir != "" || f.format != "table" || f.queued.Queue != "" || f.assignments != ""):
		return cfg, errors.New("--dims prints only tables or JSON: leave out --out, --format, --queue and " +
			"--assignments")
	case f.format != "table" && f.format != "csv" && f.format != "markdown":
		return cfg, fmt.Errorf("--format %q: want table, csv or markdown", f.format)
	}
	if err := cmp.Or(flags.CheckAtLeast("restarts", f.restarts, 1), flags.CheckAtLeast("iterations", f.iterations, 1),
		flags.CheckAtLeast("bootstrap", f.bootstrap, 0),
		flags.CheckAtLeast("worst", f.worst, 0), flags.CheckAtLeast("batch", f.batch, 0),
		flags.CheckMebibytes("scratch", f.scratch),
		flags.CheckAtLeast("shard", f.shard, 1)); err != nil {
		return cfg, err
	}
	if cfg.Distance, err = eval.ParseDistance(f.distance); err != nil {
		return cfg, err
	}
	if cfg.Metrics, err = eval.ParseMetrics(f.metrics); err != nil {
		return cfg, err
	}
	cfg.Memory = int64(f.scratch) << 20
	cfg.Seed, cfg.Bootstrap, cfg.PerClass, cfg.NumWorst = a.Seed, f.bootstrap, f.perClass, f.worst
	cfg.Clustering.Seed = a.Seed
	cfg.Clustering.BatchSize = f.batch
	cfg.Clustering.Restarts = f.restarts
	cfg.Clustering.Iterations = f.iterations
	return cfg, nil
}

// evalByLength measures the embeddings cut to each length of --dims.
func (f *evalFlags) evalByLength(ctx context.Context, a *console.Console, queries eval.Set, gallery *eval.Set,
	cfg eval.Config) error {
	all := []lengthReport{}
	for _, n := range f.dims {
		if n < 1 || n > queries.X.Cols {
			return cli.Usagef("--dims %d: the embeddings have %d numbers", n, queries.X.Cols)
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
		if a.JSON {
			continue
		}
		fmt.Fprintf(a.Out, "the first %d of %d numbers:\n", n, queries.X.Cols)
		if err := rep.WriteText(a.Out); err != nil {
			return err
		}
	}
	if a.JSON {
		return a.PrintJSON(all)
	}
	return nil
}

// removeAccuracy removes accuracy from the default metrics if the list of pairs has one
// part, as LFW's lists for development have.
func removeAccuracy(a *console.Console, cfg *eval.Config) {
	other := func(p eval.Pair) bool { return p.Fold != cfg.Pairs[0].Fold }
	if slices.ContainsFunc(cfg.Pairs, other) {
		return
	}
	cfg.Metrics = slices.DeleteFunc(cfg.Metrics, func(m eval.Metric) bool { return m.Kind == eval.Accuracy })
	fmt.Fprintln(a.Err, "note: the list has one part, so accuracy is left out: accuracy is measured on each part "+
		"with the threshold of the others")
}

// lengthReport is the report on embeddings that were cut to a length.
type lengthReport struct {
	Dim    int          `json:"dim"` // numbers kept of each embedding
	Report *eval.Report `json:"report"`
}

// truncateRows copies the first n numbers of each row.
func truncateRows(x *matrix.Dense, n int) *matrix.Dense {
	out := matrix.New(x.Rows, n)
	for i := range x.Rows {
		copy(out.Row(i), x.Row(i))
	}
	return out
}
