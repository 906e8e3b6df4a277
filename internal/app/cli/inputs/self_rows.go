package inputs

import (
	"fmt"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/compute/selfmatch"
)

// FindSelfRows returns the row of the gallery that each query is itself, and prints a remark about copies.
func FindSelfRows(a *console.Console, q, g *embedding.Table) []int32 {
	pairs := selfmatch.Pair(tableRows(q), tableRows(g))
	if pairs.Renamed > 0 {
		fmt.Fprintf(a.Err, "note: %d queries have the embedding of an item of the gallery with another name, bit by "+
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
