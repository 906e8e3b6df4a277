package serve

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/app/gallery"
	"github.com/kindred-ml/kindred/decide"
	"github.com/kindred-ml/kindred/store"
)

// labels are how many items have which label.
type labels struct {
	decide.Gallery
	count map[string]int
}

// gallery returns what is known of a collection's labels: of its items as they are, or as
// they were a short time ago. Without labels it has the number of items alone.
func (s *Server) gallery(ctx context.Context, c *collection, info *store.Info) (*labels, error) {
	label := c.label(info)
	if label == "" {
		return &labels{Gallery: decide.Gallery{Items: info.Items}}, nil
	}
	got, err := c.counted.get(ctx, s, info.Version, func(ctx context.Context) (labels, error) {
		count, err := (&gallery.Items{Store: c.Store, Label: label}).Counts(ctx)
		if err != nil {
			return labels{}, fmt.Errorf("collection %s: counting labels: %w", c.Name, err)
		}
		return labels{decide.Counted(count), count}, nil
	})
	return got, err
}

// mostMeasured is the most items that are read to see how far they lie from each other, where a
// request could do without it: those of a database come from elsewhere.
const mostMeasured = 250_000

// measures returns how far items lie from each other, as gallery does with labels.
func (s *Server) measures(ctx context.Context, c *collection, info *store.Info, of *labels) (*decide.Measures, error) {
	label := c.label(info)
	m, err := c.measured.get(ctx, s, info.Version, func(ctx context.Context) (*decide.Measures, error) {
		m, err := (&gallery.Items{Store: c.Store, Label: label}).Measured(ctx, of.count)
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

// basis is what a Decider depends on.
type basis struct {
	says   *decide.Calibration
	labels *labels
	items  *decide.Measures // nil: they were not measured
	byItem bool             // sets go by the items of a class, not by the classes of the calibration
	opt    decide.IdentifyOptions
}

// decider keeps the last one of a collection: most requests ask the same of the same items.
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
