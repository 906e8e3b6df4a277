package eval

import (
	"context"
	"fmt"
	"math"

	"github.com/kindred-ml/kindred/internal/compute/exact"
	"github.com/kindred-ml/kindred/matrix"
)

// Set is a set of embeddings, one in each row, with one or more columns of labels. Labels[c][i] is the
// label of row i in column c. Any int64 is a class.
type Set struct {
	X      *matrix.Dense
	Labels [][]int64
}

// RankOptions are the options of ranking. The zero value ranks by Euclidean distance and returns the ranks
// of all positives.
type RankOptions struct {
	Distance Distance
	// Depth, if positive, is the largest rank of interest: positives beyond it may
	// be left out of a query's ranks.
	Depth int
	// FirstOnly limits the ranks of a query to the rank of its nearest positive.
	FirstOnly bool
	// From and To, if To is positive, rank only the queries from From up to, but not including, To
	// against the whole gallery. Ranking ranges separately gives the same result as ranking all at
	// once.
	From, To int
	// SelfRows has the row of a separate gallery that each query itself is, or -1. That row is left out of the query's
	// ranking and of its positives. nil means that no query is an item of the gallery.
	SelfRows []int32
	// Memory bounds the bytes of working memory, besides the embeddings
	// themselves; default 256 MiB. It affects speed, not results.
	Memory int64
	// Progress, if set, is called from time to time, from one goroutine at a time,
	// with the share of the work done, 0 to 1.
	Progress func(done float64)

	tileKind exact.Kind // kind of the tiles; tests set it
	heads    choice     // whether to rank by heads; tests set it
	deep     choice     // whether to order a large share of each ranking; tests set it
}

// choice is yes, no, or automatic.
type choice int

const (
	choiceAuto choice = iota
	choiceYes
	choiceNo
)

// RankedQuery is the result of ranking for one query and one column of labels.
type RankedQuery struct {
	// Index is the query's row.
	Index int
	// Column is the column of labels.
	Column int
	// Positives is the number of positives: gallery items with the query's label, without the query itself.
	Positives int
	// Ranks holds the ranks of the positives in increasing order, 1 for the nearest item. Ranks
	// that Options excludes may be missing at the end. The slice is valid only during the visit.
	Ranks []int32
}

// RankPositives ranks gallery for every query and calls visit with the ranks of the positives, for all
// columns of query 0, then of query 1 and so on. A nil gallery means that the queries are the gallery,
// and each query's own row is left out, as Options.SelfRows says for a separate gallery. Queries with R = 0 are
// visited too.
//
// It returns an error if the distance is unknown, if the sets do not fit together,
// or if a row contains NaN or an infinity (the error names the row). Once ctx is
// done it returns ctx.Err(), wrapped, within milliseconds.
func RankPositives(ctx context.Context, queries Set, gallery *Set, opt RankOptions, visit func(RankedQuery)) error {
	if err := opt.Distance.Check(); err != nil {
		return err
	}
	if err := CheckSets(queries, gallery); err != nil {
		return err
	}
	g := queries
	if gallery != nil {
		g = *gallery
	}
	if err := CheckSelf(opt.SelfRows, queries.X.Rows, g.X.Rows); err != nil {
		return err
	}
	if opt.To == 0 && opt.From == 0 {
		opt.To = queries.X.Rows
	}
	if opt.From < 0 || opt.From > opt.To || opt.To > queries.X.Rows {
		return fmt.Errorf("queries %d to %d of %d", opt.From, opt.To, queries.X.Rows)
	}
	if err := exact.CheckWidth(g.X.Cols); err != nil {
		return err
	}
	p := newProblem(queries, g, exact.Self{Same: gallery == nil, Item: opt.SelfRows}, opt)
	if err := p.run(ctx, visit); err != nil {
		return fmt.Errorf("ranking %d items for %d queries: %w", g.X.Rows, opt.To-opt.From, err)
	}
	return nil
}

// CheckSets returns an error if the sets cannot be ranked because lengths differ, there are no rows, or a
// row is not finite.
func CheckSets(queries Set, gallery *Set) error {
	if err := checkSet(queries, "query"); err != nil || gallery == nil {
		return err
	}
	if err := checkSet(*gallery, "gallery"); err != nil {
		return err
	}
	if gallery.X.Cols != queries.X.Cols {
		return fmt.Errorf("the queries have %d dimensions, but the gallery has %d", queries.X.Cols, gallery.X.Cols)
	}
	if len(gallery.Labels) != len(queries.Labels) {
		return fmt.Errorf("the queries have %d columns of labels, but the gallery has %d", len(queries.Labels),
			len(gallery.Labels))
	}
	return nil
}

func checkSet(s Set, what string) error {
	if s.X == nil || s.X.Rows == 0 {
		return fmt.Errorf("there are no %s embeddings", what)
	}
	if len(s.Labels) == 0 {
		return fmt.Errorf("there are no labels for the %s embeddings", what)
	}
	if s.X.Rows > math.MaxInt32 {
		return fmt.Errorf("there are %d %s embeddings: at most %d are supported", s.X.Rows, what, math.MaxInt32)
	}
	for c, l := range s.Labels {
		if len(l) != s.X.Rows {
			return fmt.Errorf("there are %d %s labels in column %d, but %d embeddings", len(l), what, c, s.X.Rows)
		}
	}
	return exact.CheckFinite(s.X, what)
}

// CheckSelf returns an error unless self is nil or has a row of a gallery, or -1, for each query.
func CheckSelf(self []int32, queries, gallery int) error {
	if self != nil && len(self) != queries {
		return fmt.Errorf("there are %d rows of the gallery for the %d queries that they are", len(self), queries)
	}
	for i, j := range self {
		if j < -1 || int(j) >= gallery {
			return fmt.Errorf("query %d is row %d of a gallery of %d rows", i, j, gallery)
		}
	}
	return nil
}
