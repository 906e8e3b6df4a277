package eval

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/internal/compute/selfmatch"
	"github.com/kindred-ml/kindred/matrix"
)

// PhotoSet holds embeddings and the files they were made from. Path returns the file of row i, or "" if it
// is unknown. A nil Path means that no file is known.
type PhotoSet struct {
	X    *matrix.Dense
	Path func(i int) string
}

func (s *PhotoSet) path(i int) string {
	if s.Path == nil {
		return ""
	}
	return s.Path(i)
}

// PhotoNeighbours holds the rows of the gallery that answer a query.
type PhotoNeighbours struct {
	// Row holds the query's nearest items, nearest first; Value is as in Neighbours.
	Row   []int32
	Value []float64
	// SelfRows holds the items that are the query itself, which Row leaves out. Such an item has the
	// same file or a copy of it or, if the query or the item has no file, an embedding that is equal
	// in every bit.
	SelfRows []int
}

// extraItems is the number of additional items that are ranked at first, because some may be the query.
const extraItems = 8

// NearestPhotos finds the k nearest items of the gallery for every query, or all if there are fewer. It
// leaves out the query's own photo in any row. It returns the errors of Nearest, but a k beyond the
// gallery is no error.
func NearestPhotos(ctx context.Context, queries, gallery PhotoSet, k int, opt RankOptions) ([]PhotoNeighbours, error) {
	if k < 1 {
		return nil, fmt.Errorf("the %d nearest photos: must be at least 1", k)
	}
	at := gallery.rowByPath()
	all := make([]int, queries.X.Rows)
	for i := range all {
		all[i] = i
	}
	out := make([]PhotoNeighbours, queries.X.Rows)
	// If many items are the query itself, more items are ranked.
	for wide := extraItems; len(all) > 0; wide *= 8 {
		n := gallery.X.Rows
		if k < n-wide {
			n = k + wide
		}
		x := matrix.New(len(all), queries.X.Cols)
		for r, i := range all {
			copy(x.Row(r), queries.X.Row(i))
		}
		nb, err := Nearest(ctx, x, gallery.X, n, opt)
		if err != nil {
			return nil, err
		}
		var again []int
		for r, i := range all {
			var f PhotoNeighbours
			path := queries.path(i)
			q := selfmatch.New(path, queries.X.Row(i))
			if row, ok := at[selfmatch.AbsPath(path)]; ok {
				f.SelfRows = append(f.SelfRows, row)
			}
			for e, j := range nb.Row[r*n : (r+1)*n] {
				if err := ctx.Err(); err != nil {
					return nil, fmt.Errorf("comparing the items found with the query: %w", err)
				}
				switch {
				case len(f.Row) == k:
				case len(f.SelfRows) > 0 && f.SelfRows[0] == int(j):
				case q.IsItem(gallery.path(int(j)), gallery.X.Row(int(j))):
					f.SelfRows = append(f.SelfRows, int(j))
				default:
					f.Row, f.Value = append(f.Row, j), append(f.Value, nb.Value[r*n+e])
				}
			}
			if out[i] = f; len(f.Row) < k && n < gallery.X.Rows {
				again = append(again, i)
			}
		}
		all = again
	}
	return out, nil
}

// rowByPath maps the paths of the items' files to the first row with that path.
func (s *PhotoSet) rowByPath() map[string]int {
	at := make(map[string]int)
	if s.Path == nil {
		return at
	}
	for i := range s.X.Rows {
		if p := selfmatch.AbsPath(s.Path(i)); p != "" {
			if _, twice := at[p]; !twice {
				at[p] = i
			}
		}
	}
	return at
}
