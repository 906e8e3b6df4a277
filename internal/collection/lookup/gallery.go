package lookup

import (
	"cmp"
	"context"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// Gallery is what queries are looked up in: a *Table, or *Items.
type Gallery interface {
	Info(ctx context.Context) (Info, error)
	// Labels counts the items of each class. If that would need to fetch all items, or there are no classes, the
	// result has only the number of items.
	Labels(ctx context.Context) (decide.Gallery, error)
	// Measures measures the classes for decisions by a calibration; also for sets of a coverage if that is above 0.
	Measures(ctx context.Context, says *decide.Calibration, coverage float64) (*decide.Measures, error)
	// Picture returns the place of a neighbour's picture.
	Picture(n *api.Neighbour) Picture

	// searchNear finds for each query the k nearest items that are not the query itself.
	searchNear(ctx context.Context, queries []Query, k int, opt *Options) ([]api.Answer, error)
	// name returns the name of a neighbour in Answer.QueryIDs.
	name(n *api.Neighbour) string
	// value returns the value of a neighbour in a column; "" without one.
	value(n *api.Neighbour, column string) string
}

// Info describes a gallery.
type Info struct {
	Name       string // name for people
	Items, Dim int
	Distance   eval.Distance
	Columns    []store.Column
}

// AnswerHead returns the beginning of an answer of the gallery.
func (in *Info) AnswerHead() api.Head {
	return api.Head{Schema: api.Schema, Gallery: in.Name, Items: in.Items, Distance: in.Distance.String()}
}

// Results is what kindred search --json and kindred index search --json print.
type Results struct {
	api.Head
	Queries []api.Answer `json:"queries"`
	// LeftOut describes queries, and GalleryLeftOut photos of the gallery, that have no embedding.
	LeftOut        []data.LeftOut `json:"left_out,omitempty"`
	GalleryLeftOut []data.LeftOut `json:"gallery_left_out,omitempty"`
	Files          []string       `json:"files,omitempty"` // pages written
}

// NeighbourName returns the name of a neighbour for people: its path or id, with the region.
func NeighbourName(n *api.Neighbour) string {
	return embedding.Item{Path: cmp.Or(n.Path, n.ID), Region: n.Region}.Name()
}
