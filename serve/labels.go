package serve

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

const (
	// maxIDsOfLabel is the number of items that a label shows.
	maxIDsOfLabel = 4
	// maxClassLists is the number of lists that a collection keeps, of different columns and filters.
	maxClassLists = 8
)

// classList has the values of a column of the items that pass a filter, for one version of the items.
type classList struct {
	column, filter string
	version        uint64
	byCount        []api.Label // the most items first, then by name
	byName         []api.Label
	missing        int
}

// classLists keeps the lists that were asked for last.
type classLists struct {
	busy  chan struct{} // holds a value while the lists are read or made
	lists []*classList  // the last one first
}

// listLabels answers GET /v1/labels.
func (s *Server) listLabels(w http.ResponseWriter, r *http.Request) error {
	c, err := s.collectionOf(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	from, limit, err := s.parseFromAndLimit(q)
	if err != nil {
		return err
	}
	sort := cmp.Or(q.Get("sort"), "count")
	if sort != "count" && sort != "name" {
		return badRequest.newProblem(parameterAdvice, "sort must be count or name")
	}
	info, err := c.Store.Info(r.Context())
	if err != nil {
		return err
	}
	column := cmp.Or(q.Get("column"), c.classColumn(&info))
	if column == "" {
		return invalid.newProblem("Name a column; GET /v1/info lists them.",
			"the collection %s has no column of classes",
			c.Name)
	}
	if !slices.ContainsFunc(info.Columns, func(have store.Column) bool { return have.Name == column }) {
		return invalid.newProblem("GET /v1/info lists the columns.", "the collection %s has no column %q", c.Name,
			column)
	}
	list, err := c.classes.list(r.Context(), c.Store, &info, column, q.Get("filter"))
	if err != nil {
		return err
	}
	labels := list.byCount
	if sort == "name" {
		labels = list.byName
	}
	from = min(from, len(labels))
	return writeJSON(w, http.StatusOK, api.Labels{Labels: labels[from:min(from+limit, len(labels))], Total: len(labels),
		Missing: list.missing})
}

// list returns a list. Requests for the same list wait for one pass over the items.
func (l *classLists) list(ctx context.Context, st store.Store, info *store.Info, column, filter string) (*classList,
	error) {
	select {
	case l.busy <- struct{}{}:
		defer func() { <-l.busy }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	l.lists = slices.DeleteFunc(l.lists, func(c *classList) bool { return c.version != info.Version })
	is := func(c *classList) bool { return c.column == column && c.filter == filter }
	if i := slices.IndexFunc(l.lists, is); i >= 0 {
		list := l.lists[i]
		l.lists = slices.Insert(slices.Delete(l.lists, i, i+1), 0, list)
		return list, nil
	}
	list := &classList{column: column, filter: filter, version: info.Version}
	if err := list.read(ctx, st, info.Columns); err != nil {
		return nil, err
	}
	l.lists = slices.Insert(l.lists, 0, list)
	l.lists = l.lists[:min(maxClassLists, len(l.lists))]
	return list, nil
}

// read makes the list, in one pass over the items.
func (c *classList) read(ctx context.Context, st store.Store, columns []store.Column) error {
	keep, err := store.ParseFilter(c.filter)
	if err == nil {
		err = keep.Check(columns)
	}
	if err != nil {
		return err
	}
	items := st.All(ctx)
	if bare, ok := st.(store.Lister); ok {
		items = bare.AllWithoutVectors(ctx)
	}
	by := map[string]*api.Label{}
	for it, err := range items {
		if err != nil {
			return err
		}
		text := store.FormatValue(it.Value(c.column))
		switch {
		case !keep.Match(&it):
			continue
		case text == "":
			c.missing++
			continue
		case by[text] == nil:
			by[text] = &api.Label{Label: text}
		}
		countItem(by[text], it.ID)
	}
	c.byName = make([]api.Label, 0, len(by))
	for _, l := range by {
		c.byName = append(c.byName, *l)
	}
	slices.SortFunc(c.byName, func(a, b api.Label) int { return cmp.Compare(a.Label, b.Label) })
	c.byCount = slices.Clone(c.byName)
	slices.SortStableFunc(c.byCount, func(a, b api.Label) int { return cmp.Compare(b.Items, a.Items) })
	return nil
}

// countItem counts an item of a label, and keeps the first ids.
func countItem(l *api.Label, id string) {
	l.Items++
	if at, _ := slices.BinarySearch(l.IDs, id); at < maxIDsOfLabel {
		l.IDs = slices.Insert(l.IDs, at, id)
		l.IDs = l.IDs[:min(maxIDsOfLabel, len(l.IDs))]
	}
}
