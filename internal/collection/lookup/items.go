package lookup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/compute/selfmatch"
	"github.com/kindred-ml/kindred/run"
	"github.com/kindred-ml/kindred/serve/api"
	"github.com/kindred-ml/kindred/store"
)

// Items is an index or a store of a database.
type Items struct {
	Store store.Store
	Known *store.Info // description of the store as it was a moment ago; nil: ask the store
	Name  string      // name for people
	// Model returns the network that made the vectors; nil if unknown. Way is then the advice in the error for photos.
	Model func() (*run.Model, error)
	Way   string
	// Index is the index; nil for a database. It can count labels and passing items, which a store.Store
	// cannot.
	Index *index.Index
	// Label is the column of the classes; "": label.
	Label string
	// Files opens the files of items; nil: any regular file. Most is the most items that one search may bring; 0: no
	// limit. Timed, if set, is called before each search of the store, and its result after it.
	Files selfmatch.Files
	Most  int
	Timed func() func()
	// Unkept, if set, is called with the error if the measures of an index could not be saved in its folder.
	Unkept func(err error)
}

// Info returns the columns of an index in the order of their first appearance.
func (g *Items) Info(ctx context.Context) (Info, error) {
	if g.Known != nil {
		by, err := eval.ParseDistance(g.Known.Distance)
		return Info{g.Name, g.Known.Items, g.Known.Dim, by, g.Known.Columns}, err
	}
	in, err := g.Store.Info(ctx)
	if err != nil {
		return Info{}, err
	}
	if g.Index != nil {
		in.Columns = g.Index.Info().Columns
	}
	by, err := eval.ParseDistance(in.Distance)
	return Info{g.Name, in.Items, in.Dim, by, in.Columns}, err
}

// Find returns the item with an id, or false if no item has it.
func (g *Items) Find(ctx context.Context, id string) (store.Item, bool, error) {
	it, err := g.Store.Get(ctx, id)
	var missing *store.NotFoundError
	if errors.As(err, &missing) {
		return store.Item{}, false, nil
	}
	return it, err == nil, err
}

// Network returns the network for photos, or an error without a network.
func (g *Items) Network() (*run.Model, error) {
	m, err := g.Model()
	if err == nil && m == nil {
		err = fmt.Errorf("%s has no network, so photos cannot be embedded%s", g.Name, g.Way)
	}
	return m, err
}

func (g *Items) labelColumn() string { return cmp.Or(g.Label, "label") }

// labelOf returns the label of an item; "" without one.
func (g *Items) labelOf(h *store.Hit) string { return store.FormatValue(h.Columns[g.labelColumn()]) }

// LabelCounts returns the number of items with each label.
func (g *Items) LabelCounts(ctx context.Context) (map[string]int, error) {
	if counter, ok := g.Store.(store.Counter); ok {
		return counter.Counts(ctx, g.labelColumn())
	}
	count := make(map[string]int)
	err := g.forEach(ctx, func(label string, _ []float32) error {
		if label != "" {
			count[label]++
		}
		return nil
	})
	return count, err
}

// forEach calls f for all items, until it fails.
func (g *Items) forEach(ctx context.Context, f func(label string, vector []float32) error) error {
	for it, err := range g.Store.All(ctx) {
		if err != nil {
			return err
		}
		if err := f(store.FormatValue(it.Columns[g.labelColumn()]), it.Vector); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Labels does not count the labels of a database, because it would have to fetch all items.
func (g *Items) Labels(ctx context.Context) (decide.Gallery, error) {
	if g.Index != nil {
		if count, err := g.LabelCounts(ctx); err != nil || len(count) > 0 {
			return decide.NewGalleryFromCounts(count), err
		}
	}
	in, err := g.Store.Info(ctx)
	return decide.Gallery{Items: in.Items}, err
}

// Measures saves its result, for any coverage, in the folder of an index until items or the calibration change. Means
// are always computed.
func (g *Items) Measures(ctx context.Context, says *decide.Calibration, _ float64) (*decide.Measures, error) {
	var file, of string
	var saved *decide.Measures
	if g.Index != nil {
		file = filepath.Join(g.Index.Dir(), decide.MeasuresFileName)
		of = g.Index.State() + " " + g.labelColumn() + " " + says.ScoreID()
		saved, _ = decide.LoadMeasures(file, of)
	}
	count, err := g.LabelCounts(ctx)
	if err != nil {
		return nil, err
	}
	m, err := g.measure(ctx, says, count, saved)
	if err == nil && g.Index != nil && saved == nil {
		if err := m.Save(file, of); err != nil && g.Unkept != nil {
			g.Unkept(err)
		}
	}
	return m, err
}

// Measure reads every item once; count has the number of items with each label, as returned by Counts.
func (g *Items) Measure(ctx context.Context, says *decide.Calibration, count map[string]int) (
	*decide.Measures, error) {
	return g.measure(ctx, says, count, nil)
}

// measure computes measures, or only the means if the others are saved.
func (g *Items) measure(ctx context.Context, says *decide.Calibration, count map[string]int, saved *decide.Measures) (
	*decide.Measures, error) {
	in, err := g.Info(ctx)
	if err != nil {
		return nil, err
	}
	if saved != nil {
		saved.Means = decide.NewMeans(in.Dim, in.Distance)
		return saved, g.forEach(ctx, saved.Means.Add)
	}
	sampler := decide.NewSampler(says, count, in.Dim, in.Distance)
	if err := g.forEach(ctx, sampler.Add); err != nil {
		return nil, err
	}
	return sampler.Measure(ctx, true)
}

// Picture returns the file of the item's path, or else of its id.
func (g *Items) Picture(n *api.Neighbour) Picture {
	return Picture{Name: cmp.Or(n.Path, n.ID), Label: n.Label, Region: n.Region}
}

func (g *Items) name(n *api.Neighbour) string { return n.ID }

func (g *Items) value(n *api.Neighbour, column string) string {
	return store.FormatValue(n.Item.Value(column))
}
