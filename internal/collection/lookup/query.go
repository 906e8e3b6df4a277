package lookup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/internal/compute/selfmatch"
	"github.com/kindred-ml/kindred/store"
)

// Query is one vector to look up, with what is known of its content: it tells which items are the query itself.
type Query struct {
	Name    string
	Path    string      // path of its photo here; "" without one
	Content []byte      // content of a picture that is not a file here
	Item    *store.Item // the query, if it is an item of the gallery
	Vector  []float32
	// From says for people what the vector was made from: a photo.
	From string
	// Summed marks words and sums, whose distances have no calibration. Terms are the pictures, items and vectors that
	// a sum adds up.
	Summed bool
	Terms  []Query
}

// terms returns the queries whose content is that of q: its terms, or q itself.
func (q *Query) terms() []Query {
	if q.Summed {
		return q.Terms
	}
	return []Query{*q}
}

// QueriesByID returns queries for items of the gallery.
func (g *Items) QueriesByID(ctx context.Context, ids []string) ([]Query, error) {
	var list []Query
	for _, id := range ids {
		it, ok, err := g.Find(ctx, id)
		if err == nil && !ok {
			err = fmt.Errorf("%s has no item %q%s", g.Name, id, g.similarID(ctx, id))
		}
		if err != nil {
			return nil, err
		}
		list = append(list, Query{Name: id, Item: &it, Vector: it.Vector, From: "the item's vector"})
	}
	return list, nil
}

// similarID names an item whose id is similar, if the gallery finds ids so; otherwise it returns "".
func (g *Items) similarID(ctx context.Context, id string) string {
	b, ok := g.Store.(store.Browser)
	if !ok {
		return ""
	}
	ids, err := b.SimilarIDs(ctx, id, 1)
	if err != nil || len(ids) == 0 {
		return ""
	}
	return enum.DidYouMean(ids[0])
}

// QueriesByVector returns queries for the rows of a file of embeddings of dim numbers.
func QueriesByVector(t *embedding.Table, file string, dim int) ([]Query, error) {
	if t.X == nil || t.X.Cols != dim {
		return nil, fmt.Errorf("%s has no embeddings of %d numbers, the length in the index", file, dim)
	}
	list := make([]Query, t.X.Rows)
	for i := range list {
		list[i] = Query{Name: t.RowName(i), Vector: t.X.Row(i), From: "a row of " + file}
	}
	return list, nil
}

// Queries returns a query for each photo or row of a set. from says what the vectors were made from.
func (s *Set) Queries(from string) []Query {
	list := make([]Query, s.Table.Rows())
	for i := range list {
		path := s.Path(i)
		list[i] = Query{Name: cmp.Or(path, s.Table.RowName(i)), Path: path, Vector: s.Table.X.Row(i), From: from}
	}
	return list
}

// items returns the items that the query was made from.
func (q *Query) items() (out []store.Hit) {
	for _, p := range q.terms() {
		if p.Item != nil {
			out = append(out, store.Hit{Item: *p.Item})
		}
	}
	return out
}

// matcher tells which items are a query itself: by digest, file or bytes of the content, as package selfmatch says.
type matcher []queryContent

// queryContent is the content of a query, or of a term of a sum.
type queryContent struct {
	item    *store.Item
	content *selfmatch.Query
	place   string // whole path of its photo
}

func newMatcher(q *Query, files selfmatch.Files) (m matcher) {
	for _, p := range q.terms() {
		switch {
		case p.Item != nil:
			m = append(m, queryContent{p.Item, selfmatch.NewItem(p.Item.Path, p.Vector, files), ""})
		case p.Content != nil:
			m = append(m, queryContent{nil, selfmatch.NewContent(p.Content, p.Vector, files), ""})
		default:
			m = append(m, queryContent{nil, selfmatch.New(p.Path, p.Vector), selfmatch.AbsPath(p.Path)})
		}
	}
	return m
}

// isSelf reports whether an item is the query itself. older means that it is not, but that its embedding is of an older
// content of the query's file, or of a copy.
func (m matcher) isSelf(h *store.Hit) (isSelf, older bool) {
	for i := range m {
		is, old := m[i].isSelf(h)
		if is {
			return true, false
		}
		older = older || old
	}
	return false, older
}

// isAtPath reports whether an item is the whole picture at the path of the query.
func (m matcher) isAtPath(h *store.Hit) bool {
	return mirror.Region(h.Columns) == "" && slices.ContainsFunc(m, func(p queryContent) bool {
		return p.place != "" && selfmatch.AbsPath(h.Path) == p.place
	})
}

func (p *queryContent) isSelf(h *store.Hit) (isSelf, older bool) {
	region := mirror.Region(h.Columns)
	switch { // a part of a picture is another item
	case p.item != nil && region != mirror.Region(p.item.Columns), p.item == nil && region != "" &&
		p.content.HasContent():
		return false, false
	}
	digest := func() (same, known bool) {
		if p.item != nil {
			of, its := p.item.Columns[mirror.Digest], h.Columns[mirror.Digest]
			return of != nil && of == its, of != nil && its != nil
		}
		var sum [sha256.Size]byte
		if sum, known = p.content.Digest(); !known {
			return false, false
		}
		if same, known = mirror.HasEmbedding(h.Columns, sum); known && !same {
			older, _ = p.content.HasSameContent(h.Path)
		}
		return same, known
	}
	isSelf = p.content.IsItem(h.Path, h.Vector, digest)
	return isSelf, older
}
