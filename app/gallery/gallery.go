// Package gallery has the galleries that photos are looked up in. A Table has photos that a network embeds, or a file
// of embeddings. Items is an index or a store of a database. Both have the interface Gallery.
package gallery

import (
	"cmp"
	"context"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/store"
)

// Gallery finds the neighbours of photos and describes its items.
type Gallery interface {
	Info(ctx context.Context) (Info, error)
	// Nearest answers queries in their order.
	Nearest(ctx context.Context, queries []Query, opt Options) ([]Answer, error)
	// Labels counts the items of each class. If that would need to fetch all items, or there are no classes, the
	// result has only the number of items.
	Labels(ctx context.Context) (decide.Gallery, error)
	// Measures measures the distances between items of a class; also for sets of a coverage if that is above 0.
	Measures(ctx context.Context, coverage float64) (*decide.Measures, error)
	// Picture returns the place of a neighbour's picture.
	Picture(n *Neighbour) Picture
}

// Info describes a gallery.
type Info struct {
	Name       string // name for people
	Items, Dim int
	Distance   rank.Distance
	Columns    []store.Column
}

// Query is one thing to look up: a photo if it has a path, an item if it has an id, else a vector.
type Query struct {
	Name, Path, ID string
	Vector         []float32
}

// Options control the search.
type Options struct {
	K      int
	Exact  bool          // search all lists of an index with lists
	Filter *store.Filter // for an index or a store
}

// Answer is the answer to one query.
type Answer struct {
	Query string `json:"query"`
	// Itself lists the items that are the query and are left out: ids in an index or a store, else paths or rows.
	Itself []string `json:"itself,omitempty"`
	// Older lists the ids of items whose embeddings are of an older content of the query's file, or of a copy. They
	// are not left out.
	Older      []string    `json:"older,omitempty"`
	Passed     int         `json:"passed"` // number of items that pass the filter; -1 if a database does not count
	Exact      bool        `json:"exact"`
	Neighbours []Neighbour `json:"neighbours"`
	self       []int       // rows of Itself in a table
}

// Neighbour is an item that was found. It has an id in an index or a store, and a row in a table.
type Neighbour struct {
	ID       string         `json:"id"`
	Row      int            `json:"-"`
	Value    float64        `json:"-"` // for a table, as in rank.Neighbours
	Path     string         `json:"path,omitempty"`
	Region   string         `json:"region,omitempty"` // the part of the picture, as in embedding.Item
	Fields   map[string]any `json:"fields,omitempty"`
	Label    string         `json:"label"` // "" if it is not known
	Distance float64        `json:"distance"`
	// Same is the probability that it shows the same thing; nil without a calibration.
	Same *float64 `json:"same,omitempty"`
}

// Name returns a name of the item for people: its file, with the region of a part of it, or its id.
func (n *Neighbour) Name() string {
	return embedding.Item{Path: cmp.Or(n.Path, n.ID), Region: n.Region}.Name()
}

// Judge sets the probability of each neighbour to be the same thing, and leaves out neighbours below least. Without a
// calibration it does nothing.
func (a *Answer) Judge(among *decide.Among, least float64) {
	if among == nil {
		return
	}
	for k := range a.Neighbours {
		p := among.Same(a.Neighbours[k].Distance)
		if p < least { // farther neighbours are below it too
			a.Neighbours = a.Neighbours[:k]
			return
		}
		a.Neighbours[k].Same = &p
	}
}
