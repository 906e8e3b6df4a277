package serve

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/app/lookup"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/store"
)

// labels counts the items of each label.
type labels struct {
	decide.Gallery
	count map[string]int
}

// gallery returns the counts of a collection's labels, current or a short time old. Without labels it has only
// the number of items.
func (s *Server) gallery(ctx context.Context, c *collection, info *store.Info) (*labels, error) {
	label := c.label(info)
	if label == "" {
		return &labels{Gallery: decide.Gallery{Items: info.Items}}, nil
	}
	got, err := c.counted.get(ctx, c.background, info.Version, func(ctx context.Context) (labels, error) {
		count, err := (&lookup.Items{Store: c.Store, Label: label}).Counts(ctx)
		if err != nil {
			return labels{}, fmt.Errorf("collection %s: counting labels: %w", c.Name, err)
		}
		return labels{decide.Counted(count), count}, nil
	})
	return got, err
}

// mostMeasured is the most items that are read to measure their distances if the request can do without:
// reading the items of a database takes long.
const mostMeasured = 250_000

// measures returns the distances between items, current or a short time old.
func (s *Server) measures(ctx context.Context, c *collection, info *store.Info, of *labels) (*decide.Measures, error) {
	label := c.label(info)
	m, err := c.measured.get(ctx, c.background, info.Version, func(ctx context.Context) (*decide.Measures, error) {
		m, err := (&lookup.Items{Store: c.Store, Label: label}).Measured(ctx, of.count)
		if err != nil {
			err = fmt.Errorf("collection %s: comparing the items of a class: %w", c.Name, err)
		}
		return m, err
	})
	if err != nil {
		return nil, err
	}
	return *m, nil
}

// basis has everything that a Decider depends on.
type basis struct {
	says   *decide.Calibration
	labels *labels
	items  *decide.Measures // nil: not measured
	byItem bool             // compute sets from the items of a class, not from the calibration's classes
	opt    decide.IdentifyOptions
}

// decider keeps the last Decider of a collection, as most requests have the same options and items.
func (c *collection) decider(of basis) (*decide.Decider, error) {
	if last := c.decides.Load(); last != nil && last.basis == of {
		return last.Decider, nil
	}
	g := of.labels.Gallery
	if of.items != nil {
		if g.Apart = of.items.Apart; of.byItem {
			g.Spread = of.items.Spread
		}
	}
	d, err := of.says.Decider(g, of.opt)
	if err == nil {
		c.decides.Store(&decides{of, d})
	}
	return d, err
}

type decides struct {
	basis
	*decide.Decider
}
