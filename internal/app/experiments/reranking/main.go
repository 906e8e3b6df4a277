// Command reranking measures re-ranking: it searches each item of files of embeddings among the others, re-ranks the
// nearest ones, and compares the methods of package rerank with the first search.
//
//	go run ./internal/app/experiments/reranking [-paths REGEXP] [-each N] [-n N] FILE.parquet ...
//
// docs/evaluation.md says what it prints.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/compute/rerank"
	"github.com/kindred-ml/kindred/internal/parquet"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "reranking:", err)
		os.Exit(1)
	}
}

// settings are the flags.
type settings struct {
	paths      *regexp.Regexp
	each       int
	label      string
	candidates int
	by         eval.Distance
	n          int
	alpha      float64
	k1, k2     int
	lambda     float64
	draws      int
	seed       uint64
}

func run(ctx context.Context, args []string, w io.Writer) error {
	s := settings{by: eval.Cosine}
	flags := flag.NewFlagSet("reranking", flag.ContinueOnError)
	paths := flags.String("paths", "", "regular expression of the items' paths to use (default all)")
	flags.IntVar(&s.each, "each", 0, "first items of each class to use (default all)")
	flags.StringVar(&s.label, "label", "", "column of labels (default the first)")
	flags.IntVar(&s.candidates, "candidates", 200, "nearest items to re-rank for each query")
	flags.TextVar(&s.by, "distance", s.by, "distance: euclidean, cosine, dot")
	flags.IntVar(&s.n, "n", rerank.ExpansionSize, "alpha query expansion: candidates that expand the query")
	flags.Float64Var(&s.alpha, "alpha", rerank.Alpha, "alpha query expansion: power of the cosines")
	flags.IntVar(&s.k1, "k1", rerank.K1, "k-reciprocal: neighbours that must be mutual")
	flags.IntVar(&s.k2, "k2", rerank.K2, "k-reciprocal: neighbours that are averaged")
	flags.Float64Var(&s.lambda, "lambda", rerank.Lambda, "k-reciprocal: weight of the first distance")
	flags.IntVar(&s.draws, "draws", 10_000, "random signs of the classes for each p")
	flags.Uint64Var(&s.seed, "seed", 1, "seed of the signs")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if s.paths, err = regexp.Compile(*paths); err != nil {
		return err
	}
	switch {
	case s.each < 0 || s.candidates < 1 || s.draws < 1:
		return fmt.Errorf("-each %d, -candidates %d, -draws %d: must be at least 0, 1 and 1", s.each, s.candidates,
			s.draws)
	case s.n < 0 || !(s.alpha >= 0):
		return fmt.Errorf("-n %d, -alpha %v: must be at least 0", s.n, s.alpha)
	case flags.NArg() == 0:
		return errors.New("no file of embeddings: name one, such as kindred embed writes")
	}
	fmt.Fprintf(w, "| embeddings | queries, classes | | %s |\n| --- | --- | --- |%s\n",
		strings.Join(measures[:], " | "), strings.Repeat(" --- |", len(measures)))
	for _, file := range flags.Args() {
		if err := s.measureFile(ctx, file, w); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// measureFile prints the lines of a file.
func (s *settings) measureFile(ctx context.Context, file string, w io.Writer) error {
	var names []string
	if s.label != "" {
		names = []string{s.label}
	}
	t, err := (embedding.Formats{parquet.Format{}}).Load(file, "", names)
	if err != nil {
		return err
	}
	x, labels, err := s.choose(t)
	if err != nil {
		return err
	}
	scored, err := s.search(ctx, x, labels)
	if err != nil {
		return err
	}
	scored.write(w, file, s.draws, s.seed)
	return nil
}
