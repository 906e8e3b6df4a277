// Package gallery is what photos are looked up in: photos that a network embeds or a file of embeddings (Table), an
// index or a store of a database (Items). Who asks a Gallery does not see which of them it is.
package gallery

import (
	"context"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval/rank"
	"github.com/kindred-ml/kindred/store"
)

// Gallery finds the neighbours of photos, and tells what is known of the items.
type Gallery interface {
	Info(ctx context.Context) (Info, error)
	// Nearest answers queries in their order.
	Nearest(ctx context.Context, queries []Query, opt Options) ([]Answer, error)
	// Labels counts the items of each class. Where that would fetch everything, or there are no classes, only the
	// number of items is known.
	Labels(ctx context.Context) (decide.Gallery, error)
	// Measures tells how far the items of a class lie from each other, for sets of a coverage if that is above 0.
	Measures(ctx context.Context, coverage float64) (*decide.Measures, error)
	// Picture tells where the picture of a neighbour is.
	Picture(n *Neighbour) Picture
}

// Info describes a gallery.
type Info struct {
	Name       string // for people
	Items, Dim int
	Distance   rank.Distance
	Columns    []store.Column
}

// Query is one thing to look up: a photo if it has a path, an item if it has an id, else a vector.
type Query struct {
	Name, Path, ID string
	Vector         []float32
}

// Options say what is found of each query.
type Options struct {
	K      int
	Exact  bool          // looks at all lists of an index that is cut into lists
	Filter *store.Filter // of an index or a store
}

// Answer is what is found of one query.
type Answer struct {
	Query string `json:"query"`
	// Itself are the items that are the query, and left out: ids of an index or a store, else paths.
	Itself     []string    `json:"itself,omitempty"`
	Passed     int         `json:"passed"` // the filter; -1 where a database does not count
	Exact      bool        `json:"exact"`
	Neighbours []Neighbour `json:"neighbours"`
	self       []int       // rows of a table
}

// Neighbour is an item that was found. It has an id in an index or a store, and a row in a table.
type Neighbour struct {
	ID       string         `json:"id"`
	Row      int            `json:"-"`
	Value    float64        `json:"-"` // of a table, as in rank.Neighbours
	Path     string         `json:"path,omitempty"`
	Fields   map[string]any `json:"fields,omitempty"`
	Label    string         `json:"label"` // "" if it is not known
	Distance float64        `json:"distance"`
	// Same is the probability that it shows the same thing; nil without a calibration.
	Same *float64 `json:"same,omitempty"`
}

// Judge says of each neighbour how likely it is the same, and leaves out what is less likely than least. Without a
// calibration nothing is said.
func (a *Answer) Judge(among *decide.Among, least float64) {
	if among == nil {
		return
	}
	for k := range a.Neighbours {
		p := among.Same(a.Neighbours[k].Distance)
		if p < least { // and so are those that are farther
			a.Neighbours = a.Neighbours[:k]
			return
		}
		a.Neighbours[k].Same = &p
	}
}
